"""An engine inside the process: a small Qwen3 on CPU.  Importing it does not import torch."""

from titocli.engine.embedded.engine import EmbeddedEngine

__all__ = ["EmbeddedEngine"]
