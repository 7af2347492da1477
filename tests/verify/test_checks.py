"""Each check finds what it is for, and says of which kind it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.verify.subjects import call, found, held, message, of_family, plain, talk, unknown
from titocli.families.registry import get_family
from titocli.jsonvalue import Message
from titocli.tokens.ids import token_ids
from titocli.verify.checks.pages import PAGES
from titocli.verify.checks.sandbox import forbidden_constructs
from titocli.verify.events import Case, CheckId, FailureKind
from titocli.verify.schedules import TOOLS

CONTENT = "{{ m.content }}"
PROMPT = "{{ '<assistant>' }}"
THOUGHT = "{{ '<think>' + m.reasoning_content + '</think>' }}"
OPENED = "{{ '<assistant><think>' }}"
ASKED = [message("user", "q"), message("assistant", "a", reasoning_content="because"), message("user", "q2")]
CALLED = [
    message("user", "q"),
    message("assistant", "", tool_calls=[call("lookup", city="Riga")]),
    message("tool", "seven", tool_call_id="functions.lookup:0"),
]


def test_every_check_has_a_page() -> None:
    assert set(PAGES) == set(CheckId)
    assert all(page.summary and page.what and page.why and page.fix for page in PAGES.values())


def test_appending_that_changes_an_earlier_turn_is_history_rewritten() -> None:
    finding = found(plain((CONTENT, "{{ m.content if loop.last }}")), CheckId.APPEND_ONLY, talk("uau"))
    assert finding is not None
    assert finding.kind is FailureKind.HISTORY_REWRITTEN
    # An answered turn is looked at before a question.
    assert (finding.turn_end, finding.state_end) == (2, 3)
    assert finding.sentence == "appending user changes the text of the 2 messages before"


def test_an_answer_that_changes_the_question_before_it_is_found_too() -> None:
    finding = found(plain((CONTENT, "{{ m.content if loop.last }}")), CheckId.APPEND_ONLY, talk("ua"))
    assert finding is not None
    assert (finding.turn_end, finding.state_end) == (1, 2)


def test_a_suffix_that_depends_on_what_lies_far_back_is_found() -> None:
    contract = plain((CONTENT, "{{ m.content ~ messages[0].content }}"))
    assert found(contract, CheckId.APPEND_ONLY, talk("uau")) is None
    finding = found(contract, CheckId.SUFFIX_INDEPENDENCE, talk("uau"))
    assert finding is not None
    assert finding.kind is FailureKind.SUFFIX_DIFFERS
    assert finding.expected[: finding.at] == finding.actual[: finding.at]


def test_a_template_that_raises_for_a_made_up_history_has_no_suffix() -> None:
    guard = "{% if messages[0].content == 'synthetic' %}{{ raise_exception('no') }}{% endif %}{% for m in messages %}"
    finding = found(plain(("{% for m in messages %}", guard)), CheckId.SUFFIX_INDEPENDENCE, talk("uau"))
    assert finding is not None
    assert finding.kind is FailureKind.TEMPLATE_RAISED


def test_a_turn_that_was_cut_off_must_join_to_the_same_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    case = talk("uau")
    for name in ("qwen3", "minimax_m25", "kimi25", "inkling", "deepseekv4"):
        assert found(of_family(get_family(name)), CheckId.BOUNDARY_TOKENS, case) is None
        contract = of_family(get_family(name))
        assert contract.encoding is not None
        unclosed = replace(contract.encoding.boundary, closing=token_ids())
        monkeypatch.setattr(contract.encoding, "_boundary", unclosed)
        finding = found(contract, CheckId.BOUNDARY_TOKENS, case)
        assert finding is not None, name
        assert finding.kind is FailureKind.TOKENS_DIFFER


@pytest.mark.parametrize(
    ("name", "edit", "said"),
    [
        ("glm47", ("'[gMASK]<sop>'", "'[gMASK]<sop>[gMASK]<sop>'"), "begins with '[gMASK]<sop>' twice"),
        ("minimax_m25", ("{{- ']~!b['", "{{- ']~!b[]~!b['"), "begins with ']~!b[' twice"),
        (
            "glm47",
            ("'<|' + message.role + '|>'", "'<|' + message.role | upper + '|>'"),
            "not opened by a token",
        ),
    ],
)
def test_a_head_that_comes_twice_and_an_opener_that_is_no_token_are_found(
    name: str, edit: tuple[str, str], said: str
) -> None:
    assert found(held(name), CheckId.BOUNDARY_TOKENS, talk("uau")) is None
    finding = found(held(name, edit), CheckId.BOUNDARY_TOKENS, talk("uau"))
    assert finding is not None
    assert said in finding.sentence


def test_an_answer_of_nothing_that_is_not_printed_is_no_turn_that_was_stored() -> None:
    silent = [message("user", "q"), message("assistant", ""), message("user", "r")]
    assert found(held("inkling"), CheckId.BOUNDARY_TOKENS, silent) is None
    endless = ("'<|content_model_end_sampling|>' if turn", "'' if turn")
    assert found(held("inkling", endless), CheckId.BOUNDARY_TOKENS, silent) is None
    assert found(held("inkling", endless), CheckId.BOUNDARY_TOKENS, talk("uau")) is not None


def test_a_boundary_that_the_template_does_not_print_is_found_in_the_ids() -> None:
    case = talk("uau")
    assert found(of_family(get_family("qwen3")), CheckId.BOUNDARY_TOKENS, case) is None
    contract = held("qwen3", ("body + '<|im_end|>\\n'", "body + '<|im_end|>\\n\\n'"))
    finding = found(contract, CheckId.BOUNDARY_TOKENS, case)
    assert finding is not None
    assert finding.kind is FailureKind.TOKENS_DIFFER
    assert finding.token is not None


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ((PROMPT, ""), "adds nothing"),
        (
            ("{% for m in messages %}", "{{ 'x' if add_generation_prompt }}{% for m in messages %}"),
            "changes the text",
        ),
    ],
)
def test_a_generation_prompt_that_is_missing_or_elsewhere_is_wrong(edit: tuple[str, str], words: str) -> None:
    finding = found(plain(edit), CheckId.GENERATION_PROMPT, talk("ua"))
    assert finding is not None
    assert finding.kind is FailureKind.GENERATION_PROMPT_WRONG
    assert words in finding.sentence


def test_a_generation_prompt_that_the_contract_does_not_know_is_wrong() -> None:
    contract = held(
        "qwen3",
        ("{{- '<|im_start|>assistant\\n' }}", "{{- '<|im_start|>model\\n' }}"),
    )
    finding = found(contract, CheckId.GENERATION_PROMPT, talk("u"))
    assert finding is not None
    assert "is not opened by" in finding.sentence


def test_an_opening_that_history_does_not_repeat_is_told_apart_from_history_that_is_rewritten() -> None:
    contract = plain((PROMPT, OPENED), (THOUGHT, "{{ m.reasoning_content }}"))
    finding = found(contract, CheckId.GENERATION_PROMPT, ASKED)
    assert finding is not None
    assert finding.kind is FailureKind.GENERATION_PROMPT_LOST
    assert found(contract, CheckId.APPEND_ONLY, ASKED) is None


def test_an_answer_without_reasoning_need_not_begin_with_an_open_think_block() -> None:
    assert found(plain((PROMPT, OPENED)), CheckId.GENERATION_PROMPT, talk("ua")) is None
    assert found(plain((PROMPT, OPENED)), CheckId.GENERATION_PROMPT, ASKED) is None


def test_reasoning_that_a_later_question_removes_is_lost() -> None:
    contract = plain((THOUGHT, f"{{% if loop.last %}}{THOUGHT}{{% endif %}}"))
    finding = found(contract, CheckId.THINKING_RETENTION, ASKED)
    assert finding is not None
    assert finding.kind is FailureKind.THINKING_LOST
    assert finding.sentence == "the reasoning of message 1 is not in the prompt after 1 more"
    assert found(contract, CheckId.THINKING_RETENTION, ASKED[:2]) is None


def test_reasoning_need_not_stay_where_thinking_is_off() -> None:
    contract = plain((THOUGHT, ""))
    off = Case(name="off", messages=tuple(ASKED), kwargs={"enable_thinking": False})
    assert found(contract, CheckId.THINKING_RETENTION, off) is None
    assert found(contract, CheckId.THINKING_RETENTION, ASKED) is not None


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        ((CONTENT, "{{ m.content if m.role != 'tool' }}"), FailureKind.CONTENT_LOST),
        (("c.function.name ~ ", ""), FailureKind.TOOL_LOST),
        (("(c.function.arguments | tojson)", "''"), FailureKind.TOOL_LOST),
        (("in tools %}", "in tools | reverse %}"), FailureKind.TOOL_LOST),
        (("(tool | tojson)", "tool.function.name"), FailureKind.TOOL_LOST),
    ],
)
def test_what_is_said_and_not_printed_is_lost(edit: tuple[str, str], kind: FailureKind) -> None:
    case = Case(name="case", messages=tuple(CALLED), tools=TOOLS)
    assert found(plain(), CheckId.TOOL_SHAPES, case) is None
    finding = found(plain(edit), CheckId.TOOL_SHAPES, case)
    assert finding is not None
    assert finding.kind is kind


def answered(result: str) -> list[Message]:
    asked = message("assistant", "", tool_calls=[call("f", 0, v="w")])
    return [message("user", "q"), asked, message("tool", result, tool_call_id="functions.f:0")]


def test_an_empty_result_that_is_left_out_is_found() -> None:
    case = answered("")
    assert found(held("qwen3"), CheckId.TOOL_SHAPES, case) is None
    edit = ("+ content + '\\n</tool_response>' }}", "+ content + '\\n</tool_response>' if content }}")
    finding = found(held("qwen3", edit), CheckId.TOOL_SHAPES, case)
    assert finding is not None
    assert (finding.kind, finding.state_end, "empty result" in finding.sentence) == (
        FailureKind.TOOL_LOST,
        None,
        True,
    )


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("kimi25", ("'## Return of ' ~ message.tool_call_id", "'## Return of tool'")),
        ("inkling", ("{%- set name = tool_name(message, messages[:loop.index0]) %}", "{%- set name = '' %}")),
    ],
)
def test_a_result_that_does_not_say_which_call_it_answers_is_found(name: str, edit: tuple[str, str]) -> None:
    case = answered("r")
    assert found(held(name), CheckId.TOOL_SHAPES, case) is None
    finding = found(held(name, edit), CheckId.TOOL_SHAPES, case)
    assert finding is not None
    assert "which call it answers" in finding.sentence


def test_arguments_in_another_order_are_found_where_a_family_keeps_it() -> None:
    order = message("assistant", "", tool_calls=[call("f", zone="north", area="south")])
    case = [message("user", "q"), order]
    by_name = ("else call.arguments | tojson", "else call.arguments | tojson(sort_keys=True)")
    assert found(held("qwen3"), CheckId.TOOL_SHAPES, case) is None
    assert found(held("qwen3", by_name), CheckId.TOOL_SHAPES, case) is not None
    assert found(held("inkling"), CheckId.TOOL_SHAPES, case) is None  # Inkling's template sorts them


def test_a_switch_of_thinking_that_is_read_and_does_nothing_is_found() -> None:
    assert found(held("qwen35"), CheckId.KWARGS_GUARD, talk("u")) is None
    idle = ("('\\n</think>\\n\\n' if is_off else '')", "''")
    finding = found(held("qwen35", idle), CheckId.KWARGS_GUARD, talk("u"))
    assert finding is not None
    assert finding.kind is FailureKind.KWARG_UNREAD
    assert "enable_thinking changes nothing" in finding.sentence


def test_a_kwarg_of_the_turn_must_not_change_what_is_before_the_generation_prompt() -> None:
    contract = held(
        "qwen3", ("{%- if tools %}", "{%- if enable_thinking is false %}off{% endif %}{%- if tools %}")
    )
    finding = found(contract, CheckId.KWARGS_GUARD, talk("u"))
    assert finding is not None
    assert finding.kind is FailureKind.KWARG_LEAKS


def test_a_kwarg_that_the_contract_names_and_the_template_does_not_read_is_found() -> None:
    contract = held(
        "qwen3", (" if enable_thinking is defined and enable_thinking is false }}", " if false }}")
    )
    finding = found(contract, CheckId.KWARGS_GUARD, talk("u"))
    assert finding is not None
    assert finding.kind is FailureKind.KWARG_UNREAD
    assert "enable_thinking" in finding.sentence


def test_a_default_that_is_not_what_the_contract_says_is_found() -> None:
    contract = held(
        "qwen3",
        (
            "if enable_thinking is defined and enable_thinking is false }}",
            "if enable_thinking is not defined or enable_thinking is false }}",
        ),
    )
    finding = found(contract, CheckId.KWARGS_GUARD, talk("u"))
    assert finding is not None
    assert finding.kind is FailureKind.KWARG_DEFAULT_DIFFERS


@pytest.mark.parametrize("value", [None, True, ["a"], {"a": 1}])
def test_pythons_spelling_of_a_value_is_found(value: object) -> None:
    case = [message("user", "q"), message("assistant", "", tool_calls=[call("f", v=value)])]  # type: ignore[arg-type]  # JSON
    assert found(plain(), CheckId.NO_REPR_LEAK, case) is None
    leaking = plain(("(c.function.arguments | tojson)", "c.function.arguments"))
    finding = found(leaking, CheckId.NO_REPR_LEAK, case)
    assert finding is not None
    assert finding.kind is FailureKind.PYTHON_REPR


@pytest.mark.parametrize(
    ("value", "printed", "escape"),
    [
        ("Zürich", "(c.function.arguments | tojson(ensure_ascii=True))", "\\\\u00fc"),
        ("a < b", "(c.function.arguments | tojson | e)", "&#34;"),
        ("plain", "(c.function.arguments | tojson | tojson)", '\\\\"'),
    ],
)
def test_a_character_that_is_escaped_and_need_not_be_is_found(value: str, printed: str, escape: str) -> None:
    case = [message("user", "q"), message("assistant", "", tool_calls=[call("f", v=value)])]
    assert found(plain(), CheckId.NO_REPR_LEAK, case) is None
    finding = found(plain(("(c.function.arguments | tojson)", printed)), CheckId.NO_REPR_LEAK, case)
    assert finding is not None
    assert finding.kind is FailureKind.TEXT_ESCAPED
    assert escape in finding.sentence


@pytest.mark.parametrize("text", ["&lt;b&gt;", 'say "x"', "\\u00e9", "tab\t and \x01"])
def test_an_escape_that_is_in_the_conversation_is_no_leak(text: str) -> None:
    case = [message("user", text), message("assistant", "", tool_calls=[call("f", v=text)])]
    assert found(plain(), CheckId.NO_REPR_LEAK, case) is None


def test_a_word_that_the_user_wrote_is_no_leak() -> None:
    assert found(plain(), CheckId.NO_REPR_LEAK, [message("user", "None of it is True")]) is None


@pytest.mark.parametrize(
    "printed", ["{{ strftime_now('%d %B %Y') }}", "{{ range(100) | random }}{{ range(100) | random }}"]
)
def test_a_prompt_that_depends_on_the_day_or_on_chance_is_found(printed: str) -> None:
    finding = found(
        unknown(printed + "{% for m in messages %}{{ m.content }}{% endfor %}"),
        CheckId.TIME_INVARIANCE,
        talk("u"),
    )
    assert finding is not None
    assert finding.kind is FailureKind.TIME_DEPENDENT


@pytest.mark.parametrize(
    ("source", "line", "what"),
    [
        ("a\n{% if false %}{{ ''.__class__ }}{% endif %}", 2, "reads the attribute __class__"),
        (
            "{% if false %}{{ messages.append(1) }}{% endif %}",
            1,
            "calls append(), which changes what it is called on",
        ),
        (
            "{% if false %}{{ x | attr('__globals__') }}{% endif %}",
            1,
            "spells a name of Python's object model",
        ),
        ("{% if false %}{% include 'x' %}{% endif %}", 1, "loads another template"),
    ],
)
def test_a_way_out_of_the_sandbox_is_found_in_a_branch_that_nobody_takes(
    source: str, line: int, what: str
) -> None:
    (construct,) = forbidden_constructs(source)
    assert (construct.line, construct.what) == (line, what)
    finding = found(unknown(source), CheckId.SANDBOX, talk("u"))
    assert finding is not None
    assert finding.kind is FailureKind.SANDBOX_ESCAPE
    assert finding.line is not None
    assert finding.line.line == line


def test_shipped_templates_have_no_forbidden_construct() -> None:
    for name in ("qwen3", "glm47", "nemotron3", "inkling"):
        assert forbidden_constructs(of_family(get_family(name)).target.source) == ()
