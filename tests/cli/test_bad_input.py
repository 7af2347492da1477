"""Everything a user can get wrong: the exit code, one sentence, a hint, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

TOY = ("--family", "qwen3", "--template", "toy.jinja")

FILES: dict[str, bytes] = {
    "empty.json": b" \n",
    "latin1.json": b'[{"role": "user", "content": "\xe9"}]',
    "broken.json": b'[\n  {"role": "user",\n   "content": }\n]',
    "deep.json": b"[" * 100_000,
    "string.json": b'"hello"',
    "no_messages.json": b'{"model": "m"}',
    "one_message.json": b'{"role": "user", "content": "hi"}',
    "no_conversation.json": b"[]",
    "role.json": b'[{"role": "user", "content": "a"}, {"role": "robot", "content": "b"}]',
    "no_role.json": b'[{"content": "a"}]',
    "not_object.json": b'["hi"]',
    "arguments.json": b'[{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": [1]}}]}]',
    "raise.json": b'[{"role": "user", "content": "raise"}]',
    "lines.jsonl": b'[{"role": "user", "content": "a"}]\n[{"role": "user"\n',
    "lines_role.jsonl": b'[{"role": "user", "content": "a"}]\n\n[{"role": "robot"}]\n',
    "kwargs.json": b'{"messages": [{"role": "user", "content": "a"}], "chat_template_kwargs": 3}',
    "tools.json": b'{"messages": [{"role": "user", "content": "a"}], "tools": [{"type": "function"}]}',
    "block.json": b'{"system": "s", "messages": [{"role": "assistant", "content": [{"type": "server_tool"}]}]}',
    "conflict.json": b'{"messages": [{"role": "user", "content": "a"}], "reasoning_effort": "low"}',
    "syntax.jinja": b"{% for m in messages %}\n  {{ m.role }",
    "endless.jinja": b"{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
    "broken_tokenizer.json": b'{"version": "1.0", ',
    "no_tokenizer.json": b'{"version": "1.0"}',
    "binary_tokenizer.json": b"\xff\xfe",
}

#: Arguments, exit code, and what the error or its hint has to say.
CASES: list[tuple[tuple[str, ...], int, str]] = [
    (("rendr",), 2, "did you mean 'render'"),
    (("families", "shw"), 2, "did you mean 'show'"),
    (("families", "show"), 2, "missing argument"),
    (("families", "show", "qwen33"), 2, "did you mean 'qwen3'"),
    (("render",), 2, "families: default, qwen3"),
    (("render", "--famly", "qwen3"), 2, "did you mean --family?"),
    (("--colour", "never", "render"), 2, "did you mean --color?"),
    (("--color", "blue", "render"), 2, "'blue' is not one of"),
    (("-q", "-v", "render", "--family", "qwen3"), 2, "exclude each other"),
    (("render", "--family", "qwen4ex"), 2, "did you mean 'qwen4exp'"),
    (("render", "--family", "qwen3", "--format", "yaml"), 2, "'yaml' is not one of"),
    (("render", "--family", "qwen3", "--turns", "0"), 2, "--turns"),
    (("render", "--family", "qwen3", "--turns", "x"), 2, "--turns"),
    (("render", "chat.json", "more.json", "--family", "qwen3"), 2, "more.json"),
    (("render", "--family", "qwen3", "--kwarg"), 2, "see titocli render --help"),
    (("render", "--family", "qwen3", "--kwarg", "novalue"), 2, "is not K=V"),
    (("render", "--family", "qwen3", "--kwarg", "=1"), 2, "is not K=V"),
    (("render", "--family", "qwen3", "--kwarg", "a=1", "--kwarg", "a=2"), 2, "given twice"),
    (("render", "--family", "qwen3", "--kwarg", "clear_thinking=true"), 2, "fixes the template kwarg"),
    (("render", "--family", "qwen3", "--kwarg", "messages=[]"), 2, "cannot be given"),
    (("render", "--family", "qwen3", "--reasoning-effort", "low"), 2, "has no reasoning effort"),
    (("render", "conflict.json", "--family", "qwen3"), 2, "has no reasoning effort"),
    (("render", "--family", "qwen3", "--against", "hf"), 2, "needs --tokenizer"),
    (("render", "--family", "qwen3", "--against", "a", "--check", "b"), 2, "exclude each other"),
    (("render", "--family", "qwen3", "--against", "toy.jinja", "--format", "ids"), 2, "--against does not"),
    (("render", "--family", "qwen3", "--check", "a", "--format", "table"), 2, "--check does not"),
    (("render", "--family", "default"), 2, "has no template of its own"),
    (("render", "nowhere.json", *TOY), 3, "no such file: nowhere.json"),
    (("render", "Qwen3", *TOY), 3, "is a directory"),
    (("render", "empty.json", *TOY), 3, "empty.json is empty"),
    (("render", "latin1.json", *TOY), 3, "is not UTF-8 text (byte 30)"),
    (("render", "broken.json", *TOY), 3, "broken.json:3:15: not JSON"),
    (("render", "deep.json", *TOY), 3, "nested too deeply"),
    (("render", "string.json", *TOY), 3, "string.json: messages must be a list, not a string"),
    (("render", "no_messages.json", *TOY), 3, 'has no "messages"'),
    (("render", "one_message.json", *TOY), 3, "it is one message"),
    (("render", "no_conversation.json", *TOY), 3, "there are no messages"),
    (("render", "role.json", *TOY), 3, "message 1 has the unknown role 'robot'"),
    (("render", "no_role.json", *TOY), 3, "message 0 has no role"),
    (("render", "not_object.json", *TOY), 3, "message 0 is a string, not an object"),
    (("render", "arguments.json", *TOY), 3, "arguments that are not a JSON object"),
    (("render", "raise.json", *TOY), 3, "toy.jinja:2: the template raised at message 0 (user)"),
    (("render", "lines.jsonl", *TOY), 3, "lines.jsonl:2:17: not JSON"),
    (("render", "lines_role.jsonl", *TOY), 3, "lines_role.jsonl:3: message 0 has the unknown role"),
    (("render", "kwargs.json", *TOY), 3, "chat_template_kwargs must be an object"),
    (("render", "tools.json", *TOY), 3, "tool 0 has no function name"),
    (("render", "block.json", *TOY), 3, "has a block 'server_tool'"),
    (("render", "chat.json", *TOY, "--tools", "string.json"), 3, "tools must be a list"),
    (("render", "chat.json", *TOY, "--tools", "nowhere.json"), 3, "no such file"),
    (("render", "--family", "qwen3", "--template", "nowhere.jinja"), 3, "no such file"),
    (("render", "--family", "qwen3", "--template", "syntax.jinja"), 3, "syntax.jinja:2:"),
    (("render", "--family", "qwen3", "--template", "endless.jinja"), 3, "more work than any"),
    (("render", "--family", "qwen3", "--against", "syntax.jinja"), 3, "syntax.jinja:2:"),
    (("render", "--family", "qwen3", "--check", "nowhere.txt"), 3, "nowhere.txt"),
    (("render", "--family", "qwen3", "--output", "nowhere/x.txt"), 3, "cannot write nowhere/x.txt"),
    (("render", "--family", "qwen3", "--tokenizer", "broken_tokenizer.json"), 3, "broken_tokenizer.json:1:"),
    (("render", "--family", "qwen3", "--format", "ids"), 4, "--tokenizer Qwen/Qwen3-0.6B"),
    (("render", "--family", "qwen3", "--format", "tokens"), 4, "needs a tokenizer"),
    (("render", "--family", "qwen3", "--tokenizer", "./nowhere"), 4, "no such file or directory: ./nowhere"),
    (("render", "--family", "qwen3", "--tokenizer", "no_tokenizer.json"), 4, "is not a tokenizer"),
    (("render", "--family", "qwen3", "--tokenizer", "binary_tokenizer.json"), 4, "is not UTF-8"),
    (("render", "--family", "qwen3", "--tokenizer", "state"), 4, "state has no tokenizer.json"),
    (("render", "--family", "default", "--tokenizer", "Qwen3"), 3, "Qwen3 has no chat template"),
]
IDS = [" ".join(argv) for argv, _, _ in CASES]


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    (folder / "state").mkdir()
    for name, data in FILES.items():
        (folder / name).write_bytes(data)


@pytest.mark.parametrize(("argv", "code", "says"), CASES, ids=IDS)
def test_a_mistake_gets_a_sentence_a_hint_and_its_exit_code(
    run: Run, argv: tuple[str, ...], code: int, says: str
) -> None:
    outcome = run(*argv)

    lines = outcome.err.splitlines()
    assert outcome.code == code, outcome.err
    assert outcome.out == b""
    assert [line.partition(":")[0] for line in lines] == ["error", "hint"]
    assert says in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(("argv", "code", "says"), CASES, ids=IDS)
def test_the_same_mistake_for_a_program_is_one_document(
    run: Run, argv: tuple[str, ...], code: int, says: str
) -> None:
    if "--format" in argv or "--kwarg" in argv[-1:]:
        return  # --json would contradict the format, or be taken for the value
    outcome = run(*argv, "--json")

    document = outcome.document
    (error,) = document["errors"]
    assert outcome.code == code == document["exit_code"]
    assert outcome.err == ""
    assert document["status"] == "error"
    assert document["data"] == {}
    assert error["hint"]
    assert says in f"{error['message']} {error['hint']}"


def test_two_formats_are_refused_for_a_program(run: Run) -> None:
    outcome = run("render", "--family", "qwen3", "--json", "--format", "ids")

    assert (outcome.code, outcome.err) == (2, "")
    assert outcome.document["errors"][0]["code"] == "conflicting_option"


def test_details_name_the_message_at_fault(run: Run) -> None:
    unknown = run("render", "role.json", *TOY, "--json").document["errors"][0]
    raised = run("render", "raise.json", *TOY, "--json").document["errors"][0]

    assert (unknown["code"], unknown["details"]["message_index"]) == ("invalid_messages", 1)
    assert (raised["code"], raised["details"]["message_index"]) == ("template_raised", 0)
    assert raised["details"]["line"] == 2


def test_details_name_file_line_and_column(run: Run) -> None:
    details = run("render", "broken.json", *TOY, "--json").document["errors"][0]["details"]

    assert details == {"file": "broken.json", "line": 3, "column": 15}


def test_a_tokenizer_of_another_family_is_named_with_what_it_lacks(run: Run, folder: Path) -> None:
    definition = json.loads((folder / "Qwen3" / "tokenizer.json").read_bytes())
    definition["added_tokens"] = [
        token for token in definition["added_tokens"] if token["content"] != "<think>"
    ]
    (folder / "other.json").write_text(json.dumps(definition))

    outcome = run("render", "--family", "qwen3", "--tokenizer", "other.json", "--format", "ids")

    assert outcome.code == 4
    assert "it lacks <think>" in outcome.err
