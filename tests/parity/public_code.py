"""Independent implementations that public packages carry, as modules.

The files are taken out of wheels by hash and run without the rest of their packages.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from types import ModuleType

from tests.assets import AssetUnavailable, unavailable
from tests.assets.packages import LLM_ROUTER_UTILS, TINKER_COOKBOOK, Member, fetch_member

_PARSER = "llm_router_utils.sglang.srt.parser"

_MEMBERS = {
    f"{_PARSER}.inkling_tokenizer": (
        LLM_ROUTER_UTILS,
        "8c3a9f8d0c05434a44902155da14bc1bd54ce22837fb7b7bc3848f2da3067120",
    ),
    f"{_PARSER}.inkling_renderer": (
        LLM_ROUTER_UTILS,
        "0264279f488c513456e9718cd268b9bb5d6e5dfe148d62ece9aead1fc30f5791",
    ),
    "tinker_cookbook.renderers.kimi_k2_5_tool_declaration_ts": (
        TINKER_COOKBOOK,
        "03d1677d2cb111e5c71521e433cb72e4e7aa1c758ef1cdb40a9c08f4a3935dc4",
    ),
}


def inkling_renderer() -> ModuleType:
    """Inkling's token renderer of llm-router-utils (``render_inkling_messages``)."""
    _load(f"{_PARSER}.inkling_tokenizer")  # what the renderer imports
    return _load(f"{_PARSER}.inkling_renderer")


def kimi_tool_declaration() -> ModuleType:
    """The copy of Kimi's own ``tool_declaration_ts.py`` in tinker-cookbook."""
    return _load("tinker_cookbook.renderers.kimi_k2_5_tool_declaration_ts")


@cache
def _load(name: str) -> ModuleType:
    requirement, sha256 = _MEMBERS[name]
    path = f"{name.replace('.', '/')}.py"
    try:
        file = fetch_member(Member(requirement, path, sha256), f"code/{path}")
    except AssetUnavailable as error:
        unavailable(str(error))
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
