"""The SGLang command line of a family; pure.

Flags are spelled as in SGLang 0.5.23, where ``--tp``, ``--dp`` and ``--mem-fraction`` are only abbreviations
that argparse completes.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from titocli.errors import ConflictingOption
from titocli.families.family import Family

#: The flags that titocli may set, each with its other spellings.
_SPELLINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "--model-path": ("--model-path", "--model"),
        "--host": ("--host",),
        "--port": ("--port",),
        "--tp-size": ("--tp-size", "--tensor-parallel-size"),
        "--dp-size": ("--dp-size", "--data-parallel-size"),
        "--kv-cache-dtype": ("--kv-cache-dtype",),
        "--mamba-full-memory-ratio": ("--mamba-full-memory-ratio",),
        "--context-length": ("--context-length",),
        "--mem-fraction-static": ("--mem-fraction-static",),
        "--reasoning-parser": ("--reasoning-parser",),
        "--tool-call-parser": ("--tool-call-parser",),
    }
)
#: Deprecated names of parsers that are still accepted.
_SAME_PARSER: Mapping[str, str] = MappingProxyType({"qwen25": "qwen"})
_SHORTEST_ABBREVIATION = len("--tp")


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """What an SGLang server is started with.

    ``gpus`` is the number of GPUs, shared out as ``tp`` times ``dp``.  None leaves an option to SGLang.
    ``extra`` are further SGLang arguments, ``env`` further environment variables.
    """

    model: str
    family: Family
    port: int
    host: str = "127.0.0.1"
    python: str = sys.executable
    gpus: int | None = None
    tp: int | None = None
    dp: int | None = None
    kv_cache_dtype: str | None = None
    mamba_full_memory_ratio: float | None = None
    context_length: int | None = None
    mem_fraction_static: float | None = None
    extra: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchCommand:
    """A command and what it adds to the environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


def sglang_command(options: LaunchOptions) -> LaunchCommand:
    """The command that starts SGLang for a family.

    Raises ``ConflictingOption`` when the numbers of GPUs do not fit, or when an extra argument gives a flag
    that titocli sets another value; with the same value it is dropped.
    """
    flags = _flags(options)
    extra = _extra_arguments(options, flags)
    pairs = [part for flag, value in flags.items() for part in (flag, value)]
    argv = (options.python, "-m", "sglang.launch_server", *pairs, *extra)
    return LaunchCommand(argv=argv, env=dict(options.env))


def shell_quoted(argv: Sequence[str]) -> str:
    """One line for a POSIX shell."""
    return shlex.join(argv)


def _flags(options: LaunchOptions) -> dict[str, str]:
    tp, dp = _parallelism(options)
    parsers = options.family.parsers
    values = {
        "--model-path": options.model,
        "--host": options.host,
        "--port": options.port,
        "--tp-size": tp,
        "--dp-size": dp,
        "--kv-cache-dtype": options.kv_cache_dtype,
        "--mamba-full-memory-ratio": options.mamba_full_memory_ratio,
        "--context-length": options.context_length,
        "--mem-fraction-static": options.mem_fraction_static,
        "--reasoning-parser": parsers.sglang_reasoning,
        "--tool-call-parser": parsers.sglang_tool_call,
    }
    return {flag: str(value) for flag, value in values.items() if value is not None}


def _parallelism(options: LaunchOptions) -> tuple[int | None, int | None]:
    """The sizes to say: those given, and what follows from ``gpus`` unless it is 1."""
    gpus, tp, dp = options.gpus, options.tp, options.dp
    if gpus is None:
        return tp, dp
    if tp is None:
        tp_size = _share(options, dp or 1)
        return (tp_size if tp_size > 1 else None), dp
    dp_size = _share(options, tp)
    if dp is not None and dp != dp_size:
        raise _unequal_gpus(options)
    return tp, dp or (dp_size if dp_size > 1 else None)


def _share(options: LaunchOptions, size: int) -> int:
    gpus = options.gpus or 0
    if size < 1 or gpus < 1 or gpus % size:
        raise _unequal_gpus(options)
    return gpus // size


def _unequal_gpus(options: LaunchOptions) -> ConflictingOption:
    given = {"gpus": options.gpus, "tp": options.tp, "dp": options.dp}
    said = ", ".join(f"--{name} {value}" for name, value in given.items() if value is not None)
    return ConflictingOption(
        f"{said} do not fit: --gpus is --tp times --dp",
        hint="leave out --tp or --dp; it follows from --gpus",
        details=given,
    )


def _extra_arguments(options: LaunchOptions, flags: Mapping[str, str]) -> list[str]:
    """The extra arguments without those that only repeat what titocli sets."""
    kept: list[str] = []
    rest = list(options.extra)
    while rest:
        argument = rest.pop(0)
        name, equals, value = argument.partition("=")
        flag = _owned_flag(name, flags)
        if flag is None:
            kept.append(argument)
            continue
        if not equals:
            value = rest.pop(0) if rest else ""
        if not _same(flag, flags[flag], value):
            raise _conflict(options.family, flag, flags[flag], name, value)
    return kept


def _owned_flag(name: str, flags: Mapping[str, str]) -> str | None:
    """The flag of ``flags`` that argparse would take ``name`` for: a spelling of it or an abbreviation."""
    if not name.startswith("--") or len(name) < _SHORTEST_ABBREVIATION:
        return None
    spelt = (flag for flag in flags if any(spelling.startswith(name) for spelling in _SPELLINGS[flag]))
    return next(spelt, None)


def _same(flag: str, ours: str, theirs: str) -> bool:
    if flag.endswith("-parser"):
        return _SAME_PARSER.get(theirs, theirs) == _SAME_PARSER.get(ours, ours)
    return ours == theirs


def _conflict(family: Family, flag: str, ours: str, name: str, theirs: str) -> ConflictingOption:
    is_family = flag.endswith("-parser")
    owner = f"the family {family.name}" if is_family else "titocli"
    return ConflictingOption(
        f"{owner} sets {flag} {ours}, and the SGLang arguments say {name} {theirs}",
        hint=f"leave out {name}" + (", or use another family" if is_family else ""),
        details={"family": family.name, "flag": flag, "value": ours, "other_value": theirs},
    )


__all__ = ["LaunchCommand", "LaunchOptions", "sglang_command", "shell_quoted"]
