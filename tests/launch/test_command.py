"""The SGLang command line of a family."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from titocli.errors import ConflictingOption
from titocli.families.registry import get_family
from titocli.launch.command import LaunchOptions, sglang_command, shell_quoted

HEAD = ["py", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-8B", "--host", "127.0.0.1"]
PARSERS = ["--reasoning-parser", "qwen3", "--tool-call-parser", "qwen"]


def options(family: str = "qwen3", **given_options: Any) -> LaunchOptions:
    standard: dict[str, Any] = {"model": "Qwen/Qwen3-8B", "port": 30000, "python": "py"}
    return LaunchOptions(family=get_family(family), **{**standard, **given_options})


def argv(*args: Any, **given_options: Any) -> list[str]:
    return list(sglang_command(options(*args, **given_options)).argv)


def refused(*args: Any, **given_options: Any) -> ConflictingOption:
    with pytest.raises(ConflictingOption) as caught:
        sglang_command(options(*args, **given_options))
    assert caught.value.exit_code == 2
    return caught.value


def test_without_options_only_what_must_be_said_is_said() -> None:
    assert argv() == [*HEAD, "--port", "30000", *PARSERS]


@pytest.mark.parametrize(
    ("family", "reasoning", "tool_call"),
    [("qwen3", "qwen3", "qwen"), ("qwen35", "qwen3", "qwen3_coder"), ("qwen4exp", "qwen3", "qwen3_coder")],
)
def test_parsers_come_from_the_family(family: str, reasoning: str, tool_call: str) -> None:
    assert argv(family)[-4:] == ["--reasoning-parser", reasoning, "--tool-call-parser", tool_call]


def test_a_family_without_parsers_says_none_and_lets_extra_arguments_say_them() -> None:
    assert argv("default") == [*HEAD, "--port", "30000"]
    extra = ("--reasoning-parser", "glm45")
    assert argv("default", extra=extra) == [*HEAD, "--port", "30000", *extra]


def test_every_option_has_the_flag_of_sglang() -> None:
    said = argv(
        host="0.0.0.0",  # noqa: S104 - only printed
        port=31000,
        tp=2,
        dp=4,
        kv_cache_dtype="fp8_e4m3",
        mamba_full_memory_ratio=0.5,
        context_length=32768,
        mem_fraction_static=0.8,
        extra=("--enable-metrics", "--watchdog-timeout=60"),
    )
    assert said[5:] == [
        *("--host", "0.0.0.0", "--port", "31000", "--tp-size", "2", "--dp-size", "4"),  # noqa: S104
        *("--kv-cache-dtype", "fp8_e4m3", "--mamba-full-memory-ratio", "0.5", "--context-length", "32768"),
        *("--mem-fraction-static", "0.8", *PARSERS, "--enable-metrics", "--watchdog-timeout=60"),
    ]


@pytest.mark.parametrize(
    ("given_sizes", "said"),
    [
        ({"gpus": 1}, []),
        ({"gpus": 1, "tp": 1}, ["--tp-size", "1"]),
        ({"gpus": 8}, ["--tp-size", "8"]),
        ({"gpus": 8, "dp": 2}, ["--tp-size", "4", "--dp-size", "2"]),
        ({"gpus": 8, "dp": 8}, ["--dp-size", "8"]),
        ({"gpus": 8, "tp": 2}, ["--tp-size", "2", "--dp-size", "4"]),
        ({"gpus": 8, "tp": 8}, ["--tp-size", "8"]),
        ({"gpus": 8, "tp": 4, "dp": 2}, ["--tp-size", "4", "--dp-size", "2"]),
        ({"tp": 3}, ["--tp-size", "3"]),
        ({"dp": 3}, ["--dp-size", "3"]),
    ],
)
def test_gpus_are_shared_out_as_tp_times_dp(given_sizes: dict[str, int], said: list[str]) -> None:
    assert argv(**given_sizes) == [*HEAD, "--port", "30000", *said, *PARSERS]


@pytest.mark.parametrize(
    "sizes",
    [
        {"gpus": 8, "tp": 4, "dp": 4},
        {"gpus": 8, "tp": 3},
        {"gpus": 8, "dp": 3},
        {"gpus": 4, "tp": 8},
        {"gpus": 0},
        {"gpus": 4, "tp": 0},
        {"gpus": 4, "tp": -4, "dp": -1},
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes: dict[str, int]) -> None:
    error = refused(**sizes)
    assert f"--gpus {sizes['gpus']}" in error.message
    assert sizes.items() <= error.details.items()


@given(tp=st.integers(1, 64), dp=st.integers(1, 64))
def test_two_of_three_sizes_give_the_third(tp: int, dp: int) -> None:
    gpus = tp * dp
    sizes = [{"gpus": gpus, "tp": tp}, {"gpus": gpus, "dp": dp}, {"gpus": gpus, "tp": tp, "dp": dp}]
    for size in sizes:
        said = argv(**size)
        flags = dict(zip(said[3::2], said[4::2], strict=True))
        assert int(flags.get("--tp-size", 1)) == tp
        assert int(flags.get("--dp-size", 1)) == dp


def test_a_parser_that_contradicts_the_family_is_refused_with_both_values() -> None:
    error = refused("qwen35", extra=("--tool-call-parser", "glm47"))
    assert error.details == {
        "family": "qwen35",
        "flag": "--tool-call-parser",
        "value": "qwen3_coder",
        "other_value": "glm47",
    }
    for word in ("qwen35", "--tool-call-parser", "qwen3_coder", "glm47"):
        assert word in error.message


@pytest.mark.parametrize(
    "extra",
    [
        ("--tool-call-parser", "qwen"),
        ("--tool-call-parser=qwen",),
        ("--tool-call-parser", "qwen25"),
        ("--reasoning-parser=qwen3",),
        ("--model", "Qwen/Qwen3-8B"),
        ("--port=30000",),
    ],
)
def test_an_equal_value_is_not_said_twice(extra: tuple[str, ...]) -> None:
    assert argv(extra=(*extra, "--enable-metrics")) == [*argv(), "--enable-metrics"]


@pytest.mark.parametrize(
    ("extra", "flag", "other_value"),
    [
        (("--model", "other"), "--model-path", "other"),
        (("--model-path=other",), "--model-path", "other"),
        (("--tp", "2"), "--tp-size", "2"),
        (("--tensor-parallel-size=2",), "--tp-size", "2"),
        (("--dp=3",), "--dp-size", "3"),
        (("--data-parallel-size", "3"), "--dp-size", "3"),
        (("--mem-fraction", "0.5"), "--mem-fraction-static", "0.5"),
        (("--context-len", "9"), "--context-length", "9"),
        (("--host", "::"), "--host", "::"),
        (("--port",), "--port", ""),
    ],
)
def test_other_spellings_of_a_flag_that_is_set_conflict(
    extra: tuple[str, ...], flag: str, other_value: str
) -> None:
    error = refused(gpus=8, dp=2, mem_fraction_static=0.8, context_length=100, extra=extra)
    assert (error.details["flag"], error.details["other_value"]) == (flag, other_value)


@pytest.mark.parametrize(
    "extra",
    [
        ("--tp-size", "2"),
        ("--mem-fraction", "0.5"),
        ("--model-impl", "transformers"),
        ("--host-name", "x"),
        ("--json-model-override-args", '{"a": "--port=1"}'),
        ("-h",),
    ],
)
def test_what_titocli_does_not_set_passes_untouched(extra: tuple[str, ...]) -> None:
    assert argv(extra=extra) == [*argv(), *extra]


def test_the_environment_is_what_was_given() -> None:
    assert sglang_command(options()).env == {}
    assert sglang_command(options(env={"A": "b"})).env == {"A": "b"}


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=1))
def test_a_quoted_command_reads_back_as_itself(arguments: list[str]) -> None:
    assert shlex.split(shell_quoted(arguments)) == arguments
