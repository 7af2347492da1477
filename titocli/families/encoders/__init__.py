"""Encoders in Python, for checkpoints that ship no Jinja template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from titocli.families.encoders import deepseek_v4, deepseek_v32, deepseek_v41, dsml, settings, turns
from titocli.families.encoders.python_template import PythonTemplate
from titocli.families.family import Encoder

if TYPE_CHECKING:
    # Its module loads the template engine, which an encoder does not need.
    from titocli.families.chat_template import ConversationTemplate

_MODULES = {
    Encoder.DEEPSEEK_V32: (deepseek_v32, dsml, settings),
    Encoder.DEEPSEEK_V4: (deepseek_v4, dsml, settings, turns),
    Encoder.DEEPSEEK_V41: (deepseek_v41, dsml, settings, turns),
}


def encoder_template(encoder: Encoder) -> ConversationTemplate:
    """The template that an encoder stands for."""
    modules = _MODULES[encoder]
    return PythonTemplate(f"{encoder.value} (built-in encoder)", modules[0], parts=modules)


__all__ = ["encoder_template"]
