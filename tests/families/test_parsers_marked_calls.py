"""Tool calls between marks, by hand: GLM, MiniMax, Kimi, DeepSeek, Nemotron."""

from __future__ import annotations

from typing import Any

import pytest

from tests.families.parsing import (
    SPOKEN,
    TOKENIZER,
    calls_of,
    dsml_block,
    dsml_invoke,
    glm_call,
    kimi_call,
    kimi_section,
    minimax_block,
    minimax_invoke,
    say,
    statuses,
    tool,
    xml_call,
)
from titocli.families.parsers.streaming import ReasoningDelta, StreamingParser, ToolCallDelta
from titocli.tokens.byte_level import byte_level_tokenizer

DEEPSEEK = ("deepseek_v32", "deepseek_v4", "deepseek_v41")
GLM_OPEN = "<tool_call>f<arg_key>a</arg_key><arg_value>"


def _after_thinking(name: str, text: str, **options: Any) -> Any:
    return say(name, SPOKEN[name].write("why", "", []) + text, **options)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("<tool_call>f</tool_call>", [("f", {})]),
        (f"{GLM_OPEN}1</arg_value></tool_call>", [("f", {"a": 1})]),
        (f"{GLM_OPEN}\n x </arg_value></tool_call>", [("f", {"a": "\n x "})]),
        (f"{GLM_OPEN}</arg_value></tool_call>", [("f", {"a": ""})]),
        (f"{GLM_OPEN}x</arg_value>y</arg_value></tool_call>", [("f", {"a": "x</arg_value>y"})]),
        (f"{GLM_OPEN}</tool_call></arg_value></tool_call>", [("f", {"a": "</tool_call>"})]),
        (
            "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n<arg_key>b</arg_key>"
            "<arg_value>[true]</arg_value>\n</tool_call>",
            [("f", {"a": 1, "b": "[true]"})],
        ),
        (
            f"{GLM_OPEN}1</arg_value></tool_call><tool_call>g</tool_call>",
            [("f", {"a": 1}), ("g", {})],
        ),
    ],
)
def test_glm_values_are_typed_by_the_schema(text: str, calls: list[Any]) -> None:
    parsed = _after_thinking("glm", f"so{text}", tools=[tool("f", a={"type": "integer"}), tool("g")])
    assert (parsed.content, calls_of(parsed)) == ("so", calls)


@pytest.mark.parametrize(
    ("bad", "status", "name"),
    [
        ("<tool_call></tool_call>", "malformed", None),
        ("<tool_call> \n</tool_call>", "malformed", None),
        ("<tool_call>f<arg_key>a</arg_key></tool_call>", "malformed", "f"),
        (f"{GLM_OPEN}1</tool_call>", "malformed", "f"),
        (f"{GLM_OPEN}1</arg_value>x</tool_call>", "malformed", "f"),
        (
            f"{GLM_OPEN}1</arg_value><arg_key>a</arg_key><arg_value>2</arg_value></tool_call>",
            "malformed",
            "f",
        ),
        (f"{GLM_OPEN}1", "unclosed", "f"),
        ("<tool_call>f", "unclosed", "f"),
        ("<tool_call>", "unclosed", None),
    ],
)
def test_glm_text_that_is_no_call_stays_content_and_later_calls_are_found(
    bad: str, status: str, name: str | None
) -> None:
    parsed = _after_thinking("glm", bad + glm_call("g", {"k": "v"}))
    assert (parsed.content, statuses(parsed)) == (bad, [(status, name), ("ok", "g")])
    alone = _after_thinking("glm", bad)
    assert (alone.content, statuses(alone)) == (bad, [(status, name)])


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (f"so{glm_call('f', {})}", "so"),
        (f"so\n{glm_call('f', {})}", "so\n"),
        (f"{glm_call('f', {})}\n{glm_call('f', {})}", "\n"),
        (f"so{glm_call('f', {})}.", "so."),
    ],
)
def test_glm_writes_nothing_between_content_and_calls(text: str, content: str) -> None:
    assert _after_thinking("glm", text).content == content


def test_one_glm_opener_at_the_end_is_a_stop_token() -> None:
    tokenizer = byte_level_tokenizer(["<|user|>", "<|observation|>"])
    text = "why</think>so<|user|>x<|observation|>"
    assert say("glm", text, tokenizer=tokenizer).content == "so<|user|>x"


F, G = minimax_invoke("f", {"a": "1"}), minimax_invoke("g", {})


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (minimax_block(F), [("f", {"a": 1})]),
        (minimax_block(F, G, F), [("f", {"a": 1}), ("g", {}), ("f", {"a": 1})]),
        (minimax_block(G).replace("\n", ""), [("g", {})]),
        (minimax_block(minimax_invoke("f", {"b": "x</parameter>y"})), [("f", {"b": "x</parameter>y"})]),
        (
            minimax_block(minimax_invoke("f", {"b": "</minimax:tool_call>"})),
            [("f", {"b": "</minimax:tool_call>"})],
        ),
        (minimax_block(minimax_invoke('a"b', {'c"d': "\n"})), [('a"b', {'c"d': "\n"})]),
    ],
)
def test_minimax_blocks_hold_several_calls(text: str, calls: list[Any]) -> None:
    parsed = _after_thinking("minimax", f"so\n{text}", tools=[tool("f", a={"type": "integer"})])
    assert (parsed.content, calls_of(parsed)) == ("so", calls)
    assert _after_thinking("minimax", f"\n{text}").content == ""
    assert _after_thinking("minimax", f"\n\n{text}").content == "\n"
    assert _after_thinking("minimax", f"so\n{text}\n").content == "so\n\n"


@pytest.mark.parametrize(
    ("bad", "status", "name"),
    [
        ("<minimax:tool_call>\n</minimax:tool_call>", "malformed", None),
        (f"<minimax:tool_call>\nx{F}</minimax:tool_call>", "malformed", None),
        (f"<minimax:tool_call>\n{F}x</minimax:tool_call>", "malformed", "f"),
        ('<minimax:tool_call>\n<invoke name="f">\n1</invoke>\n</minimax:tool_call>', "malformed", "f"),
        ('<minimax:tool_call>\n<invoke name="">\n</invoke>\n</minimax:tool_call>', "malformed", None),
        (f"<minimax:tool_call>\n{F}", "unclosed", "f"),
        ('<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">', "unclosed", "f"),
    ],
)
def test_minimax_blocks_with_anything_else_stay_content(bad: str, status: str, name: str | None) -> None:
    parsed = _after_thinking("minimax", f"{bad}\n{minimax_block(G)}")
    assert (parsed.content, statuses(parsed)) == (bad, [(status, name), ("ok", "g")])


def test_a_bad_invoke_of_a_block_stays_content_and_the_others_are_called() -> None:
    twice = (
        '<invoke name="f">\n<parameter name="a">1</parameter>\n<parameter name="a">1</parameter>\n</invoke>'
    )
    parsed = _after_thinking("minimax", "so\n" + minimax_block(F, twice + "\n", G))
    assert statuses(parsed) == [("ok", "f"), ("malformed", "f"), ("ok", "g")]
    assert (parsed.content, calls_of(parsed)) == (f"so\n{twice}", [("f", {"a": "1"}), ("g", {})])


@pytest.mark.parametrize(
    ("call_id", "name"),
    [
        ("functions.f:0", "f"),
        ("f:12", "f"),
        ("functions.a.b-c:3", "a.b-c"),
        ("functions.наме_工具:0", "наме_工具"),
    ],
)
def test_kimi_ids_are_the_models_own_and_have_the_name_in_them(call_id: str, name: str) -> None:
    text = f"so{kimi_section(kimi_call(call_id, {'a': 1}), kimi_call(call_id, {}))}"
    parsed = _after_thinking("kimi", text)
    assert [(call.id, call.name, call.arguments) for call in parsed.tool_calls] == [
        (call_id, name, '{"a": 1}'),
        (call_id, name, "{}"),
    ]
    assert parsed.content == "so"


@pytest.mark.parametrize("arguments", ['{ "a":1}', '{"a": "<|tool_call_end|>"}', "{}", '{"a": "\\u00e9"}'])
def test_kimi_arguments_are_kept_as_they_are_spelled(arguments: str) -> None:
    call = f"<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|> {arguments}\n<|tool_call_end|>"
    parsed = _after_thinking("kimi", kimi_section(call))
    assert [call.arguments for call in parsed.tool_calls] == [arguments]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (kimi_call("3", {}), None),
        (kimi_call("functions.f", {}), None),
        (kimi_call("", {}), None),
        (kimi_call("functions.f:0", {}).replace("{}", "[]"), "f"),
        (kimi_call("functions.f:0", {}).replace("{}", '{"a": 1, "a": 1}'), "f"),
        (kimi_call("functions.f:0", {}).replace("{}", '{"a": '), "f"),
        (kimi_call("functions.f:0", {}).replace("{}", ""), "f"),
    ],
)
def test_a_bad_call_of_a_kimi_section_stays_content_and_the_others_are_called(
    call: str, name: str | None
) -> None:
    good = kimi_call("functions.g:1", {"k": "v"})
    parsed = _after_thinking("kimi", f"so{kimi_section(good, call, good)}")
    assert statuses(parsed) == [("ok", "g"), ("malformed", name), ("ok", "g")]
    assert parsed.content == f"so{call}"
    alone = _after_thinking("kimi", f"so{kimi_section(call)}")
    assert (alone.content, alone.tool_calls) == (f"so{kimi_section(call)}", ())


def test_a_kimi_stream_does_not_take_the_end_of_broken_arguments_for_certain() -> None:
    inner = "<|tool_call_end|><|tool_calls_section_end|>"
    text = "why</think>" + kimi_section(kimi_call("functions.f:0", {"a": inner}))
    cut = text.index(inner) + len(inner)
    parser = StreamingParser(SPOKEN["kimi"].family, TOKENIZER, SPOKEN["kimi"].prompt, [], 0)
    deltas = [*parser.feed(TOKENIZER.encode(text[:cut])), *parser.feed(TOKENIZER.encode(text[cut:]))]
    assert [type(delta) for delta in deltas] == [ReasoningDelta, ToolCallDelta]
    assert parser.flush() == ()
    assert calls_of(parser.finish()) == [("f", {"a": inner})]


@pytest.mark.parametrize("name", DEEPSEEK)
def test_dsml_says_which_values_are_strings(name: str) -> None:
    arguments = {"s": "1", "n": 1, "o": {"k": [None, "é"]}, "b": True, "e": "", "x": "\n</y> "}
    text = SPOKEN[name].write("why", "so", [("f", arguments), ("g", {})])
    typed = [tool("f", s={"type": "integer"}, n={"type": "string"}), tool("g")]
    parsed = say(name, text, tools=typed)
    assert (parsed.content, calls_of(parsed)) == ("so", [("f", arguments), ("g", {})])
    assert say(name, SPOKEN[name].write("why", "", [("f", {})])).content == ""


def test_dsml_of_each_version_is_read_as_it_is_written() -> None:
    v32 = SPOKEN["deepseek_v32"].write("", "", [("f", {"a": "x"})])
    assert v32 == (
        '</think>\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n'
        '<｜DSML｜parameter name="a" string="true">x</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
    )
    v41 = SPOKEN["deepseek_v41"].write("", "", [("f", {"a": 1})])
    assert v41 == (
        '</think>\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name="f">\n'
        '<｜DSML｜ parameter name="a" string="false">1</｜DSML｜ parameter>\n'
        "</｜DSML｜ invoke>\n</｜DSML｜ calls>"
    )
    assert SPOKEN["deepseek_v4"].write("", "", [("f", {"a": "x"})]) == v32.replace(
        "function_calls", "tool_calls"
    )


@pytest.mark.parametrize(
    ("bad", "status"),
    [
        (dsml_block("tool_calls"), "malformed"),
        (dsml_block("tool_calls", dsml_invoke("f", {}, space=" ")), "malformed"),
        (dsml_block("tool_calls", dsml_invoke("f", {"a": 1})).replace("1", "x"), "malformed"),
        (dsml_block("tool_calls", dsml_invoke("f", {"a": 1})).replace("false", "maybe"), "malformed"),
        (dsml_block("tool_calls", dsml_invoke("f", {"a": 1})).replace("1", "NaN"), "malformed"),
        (dsml_block("tool_calls", dsml_invoke("f", {"a": 1}))[:-1], "unclosed"),
        (dsml_block("tool_calls", dsml_invoke("f", {"a": "x"})).split("x")[0], "unclosed"),
    ],
)
def test_dsml_that_is_no_call_stays_content(bad: str, status: str) -> None:
    good = dsml_block("tool_calls", dsml_invoke("g", {"k": "v"}))
    parsed = _after_thinking("deepseek_v4", f"{bad}\n\n{good}")
    assert [attempt.status.value for attempt in parsed.attempts] == [status, "ok"]
    assert (parsed.content, calls_of(parsed)) == (bad, [("g", {"k": "v"})])


@pytest.mark.parametrize("name", ["nemotron", "nemotron_ultra"])
def test_nemotron_writes_each_call_on_lines_of_its_own(name: str) -> None:
    call = xml_call("f", {"a": "True"})
    typed = [tool("f", a={"type": "boolean"})]
    for end in ("\n", ""):
        for separator in ("so\n", "\n", ""):
            parsed = _after_thinking(name, f"{separator}{call}\n{call}{end}", tools=typed)
            assert parsed.content == separator.removesuffix("\n")
            assert calls_of(parsed) == [("f", {"a": True})] * 2
    assert _after_thinking(name, f"so\n{call}\n\n").content == "so\n\n\n"


@pytest.mark.parametrize(
    ("name", "start", "text"),
    [
        ("glm", GLM_OPEN + "x", glm_call("g", {"k": "v"})),
        ("minimax", '<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">x', "\n" + minimax_block(G)),
        (
            "kimi",
            "<|tool_calls_section_begin|>" + kimi_call("functions.f:0", {"a": 1})[:-25],
            kimi_section(kimi_call("g:0", {})),
        ),
        (
            "deepseek_v4",
            dsml_block("tool_calls", dsml_invoke("f", {"a": "x"})).partition("</")[0],
            "\n\n" + dsml_block("tool_calls", dsml_invoke("g", {})),
        ),
    ],
)
def test_a_call_that_begins_anew_is_read_and_the_broken_start_is_not_its_value(
    name: str, start: str, text: str
) -> None:
    parsed = _after_thinking(name, start + text)
    assert (parsed.content, statuses(parsed)) == (start, [("unclosed", "f"), ("ok", "g")])
