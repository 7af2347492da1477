"""All checks, in the order in which they are reported."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from titocli.verify.checks.appends import APPEND_ONLY, SUFFIX_INDEPENDENCE
from titocli.verify.checks.boundary import BOUNDARY_TOKENS
from titocli.verify.checks.finding import Check
from titocli.verify.checks.kwargs import KWARGS_GUARD
from titocli.verify.checks.opening import GENERATION_PROMPT
from titocli.verify.checks.parity import HF_PARITY
from titocli.verify.checks.printed import THINKING_RETENTION, TOOL_SHAPES
from titocli.verify.checks.sandbox import SANDBOX
from titocli.verify.checks.steady import NO_REPR_LEAK, TIME_INVARIANCE
from titocli.verify.events import CheckId

CHECKS: Mapping[CheckId, Check] = MappingProxyType(
    {
        check.id: check
        for check in (
            APPEND_ONLY,
            SUFFIX_INDEPENDENCE,
            BOUNDARY_TOKENS,
            GENERATION_PROMPT,
            THINKING_RETENTION,
            TOOL_SHAPES,
            KWARGS_GUARD,
            NO_REPR_LEAK,
            TIME_INVARIANCE,
            SANDBOX,
            HF_PARITY,
        )
    }
)

__all__ = ["CHECKS"]
