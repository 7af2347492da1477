"""GLM-5.3's chat templates as SGLang carries them: a port to Python of Z.ai's own ``chat_template.py``.

The templates themselves are in no package of a registry.  SGLang 0.5.23 renders these models with the port, and
says that it prints what the templates print; one file serves GLM-5.3 and GLM-5.3-Flash.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from tests.assets import unavailable
from tests.engine.environment import EnvironmentUnavailable, engine_environment
from tests.parity.oracle import NativeRender

NAME = "sglang 0.5.23"
_FILE = "lib/python3*/site-packages/sglang/srt/parser/glm53_chat_template.py"
_SHA256 = "95c6561adef7e04d31c4ff21e2682d9e2d90db3849c3e10b98c10a087dd57cce"
_FUNCTIONS = {"5.3": "render_glm53", "5.3-flash": "render_glm53_flash"}


@dataclass(frozen=True, slots=True)
class Glm53Port:
    """The port for one variant of ``glm53``, asked as transformers is asked for a template."""

    variant: str

    def render(
        self,
        _template: Path | None,
        messages: Sequence[Mapping[str, object]],
        *,
        tools: Sequence[Mapping[str, object]] | None = None,
        kwargs: Mapping[str, object] | None = None,
        generation_prompt: bool,
    ) -> NativeRender:
        render = getattr(_port(), _FUNCTIONS[self.variant])
        try:
            text = render(messages, tools, add_generation_prompt=generation_prompt, **(kwargs or {}))
        except (ValueError, TypeError) as error:
            return NativeRender(None, f"{type(error).__name__}: {error}")
        return NativeRender(text, None)


@cache
def _port() -> ModuleType:
    try:
        (file,) = engine_environment().parents[1].glob(_FILE)
    except EnvironmentUnavailable as error:
        unavailable(str(error))
    assert hashlib.sha256(file.read_bytes()).hexdigest() == _SHA256, "another port than the one that was read"
    spec = importlib.util.spec_from_file_location("glm53_chat_template", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
