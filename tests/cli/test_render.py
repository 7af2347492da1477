"""``titocli render``: what each option and format writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import MESSAGES, Run, assert_snapshot
from titocli.families.chatml import REQUIRED_TOKENS
from titocli.families.registry import BUILT_IN
from titocli.tokens.byte_level import byte_level_tokenizer

TOY = ("--family", "qwen3", "--template", "toy.jinja")
TOKENIZER = ("--tokenizer", "Qwen3")
TEXT = (
    "<|im_start|>system\nBe brief.<|im_end|>\n"
    "<|im_start|>user\nHi [INST] :smile:\tünd 🙂<|im_end|>\n"
    "<|im_start|>assistant\nHello.<|im_end|>\n"
    "<|im_start|>user\nBye<|im_end|>\n"
    "<|im_start|>assistant\n"
)
IDS = byte_level_tokenizer(REQUIRED_TOKENS).encode(TEXT)
#: Where the assistant's turn ends in TEXT.
FIRST_TURN = TEXT[: TEXT.index("<|im_start|>user\nBye")]


def test_text_is_written_byte_for_byte_with_nothing_added(run: Run) -> None:
    outcome = run("render", "chat.json", *TOY)

    assert (outcome.code, outcome.out, outcome.err) == (0, TEXT.encode(), "")


def test_ids_are_one_array_a_conversation(run: Run) -> None:
    outcome = run("render", "chat.json", *TOY, *TOKENIZER, "--format", "ids")

    assert outcome.out == f"{json.dumps(IDS)}\n".encode()


def test_tokens_are_one_a_line_with_their_text(run: Run) -> None:
    outcome = run("render", "chat.json", *TOY, *TOKENIZER, "--format", "tokens")

    rows = [line.split("\t") for line in outcome.out.decode().splitlines()]
    assert [int(number) for number, _ in rows] == IDS
    assert [json.loads(text) for _, text in rows[:3]] == ["<|im_start|>", "s", "y"]


def test_json_has_the_keys_of_the_contract(run: Run) -> None:
    outcome = run("render", "chat.json", *TOY, *TOKENIZER, "--json")

    document = outcome.document
    data = document["data"]
    assert set(document) == {"schema", "status", "exit_code", "data", "warnings", "errors"}
    assert (document["schema"], document["status"], document["exit_code"]) == ("titocli/render/1", "ok", 0)
    assert (data["text"], data["ids"], data["n_tokens"]) == (TEXT, IDS, len(IDS))
    assert (data["family"], data["template"]) == ("qwen3", "toy.jinja")
    assert (data["kwargs"], data["generation_prompt"]) == ({"clear_thinking": False}, True)
    assert data["spans"][2] == {
        "message": 2,
        "role": "assistant",
        "kind": "message",
        "text_start": TEXT.index("<|im_start|>assistant"),
        "text_end": len(FIRST_TURN),
        "start": data["spans"][1]["end"],
        "end": data["spans"][3]["start"],
    }
    assert data["spans"][4]["kind"] == "generation_prompt"
    assert data["spans"][4]["message"] is None


def test_json_has_sorted_keys_and_one_newline(run: Run) -> None:
    out = run("render", "chat.json", *TOY, "--json").out.decode()

    assert out == json.dumps(json.loads(out), sort_keys=True, ensure_ascii=False) + "\n"


def test_json_without_a_tokenizer_has_null_ids(run: Run) -> None:
    data = run("render", "chat.json", *TOY, "--format", "json").document["data"]

    assert (data["ids"], data["n_tokens"], data["spans"][0]["start"]) == (None, None, None)


def test_the_generation_prompt_follows_the_last_message_or_the_flag(run: Run, folder: Path) -> None:
    (folder / "answered.json").write_text(json.dumps(MESSAGES[:3]))

    assert run("render", "answered.json", *TOY).out == FIRST_TURN.encode()
    with_prompt = run("render", "answered.json", *TOY, "--generation-prompt").out
    assert with_prompt == FIRST_TURN.encode() + b"<|im_start|>assistant\n"
    without = run("render", "chat.json", *TOY, "--no-generation-prompt").out
    assert without == TEXT.removesuffix("<|im_start|>assistant\n").encode()


def test_turns_end_with_an_assistant_message(run: Run) -> None:
    outcome = run("render", "chat.json", *TOY, "--turns", "1")

    assert (outcome.out, outcome.err) == (FIRST_TURN.encode(), "")


def test_more_turns_than_there_are_render_everything_and_warn(run: Run) -> None:
    outcome = run("render", "chat.json", *TOY, "--turns", "2")

    assert outcome.out == TEXT.encode()
    assert "the conversation has 1 assistant turns" in outcome.err


@pytest.mark.parametrize(
    ("written", "value"), [("true", True), ("1", 1), ('{"a": [1]}', {"a": [1]}), ("low", "low"), ('"3"', "3")]
)
def test_a_kwarg_is_json_where_it_parses(run: Run, written: str, value: object) -> None:
    data = run("render", "chat.json", *TOY, "--kwarg", f"loud={written}", "--json").document["data"]

    assert data["kwargs"] == {"loud": value, "clear_thinking": False}
    assert "Bye shouting" in data["text"]


def test_a_kwarg_that_the_template_does_not_read_is_a_warning_with_a_suggestion(run: Run) -> None:
    outcome = run("render", "chat.json", *TOY, "--kwarg", "lowd=true")

    assert (outcome.code, outcome.out) == (0, TEXT.encode())
    assert "does not read the kwarg 'lowd'" in outcome.err
    assert "did you mean 'loud'?" in outcome.err


def test_warnings_are_in_the_document_and_not_beside_it(run: Run) -> None:
    outcome = run("render", "chat.json", *TOY, "--kwarg", "lowd=true", "--json")

    (warning,) = outcome.document["warnings"]
    assert (warning["code"], outcome.err) == ("unread_kwarg", "")


def test_quiet_leaves_warnings_and_notes_out(run: Run) -> None:
    assert run("-q", "render", "--family", "qwen3", "--kwarg", "lowd=true").err == ""


def test_verbose_tells_template_and_tokenizer(run: Run) -> None:
    err = run("-v", "render", "chat.json", *TOY, *TOKENIZER).err

    assert "template toy.jinja, sha256" in err
    assert "tokenizer Qwen3, 265 ids" in err


def test_a_value_that_the_family_does_not_know_is_a_warning(run: Run) -> None:
    outcome = run("render", "--family", "qwen3", "--kwarg", "enable_thinking=maybe")

    assert "none of the values that family 'qwen3' knows" in outcome.err
    assert "True, False" in outcome.err


def test_reasoning_effort_is_a_kwarg_of_families_that_have_one(run: Run) -> None:
    data = run("render", "--family", "qwen4exp", "--reasoning-effort", "low", "--json").document["data"]

    assert data["kwargs"]["reasoning_effort"] == "low"


@pytest.mark.parametrize("family", sorted(set(BUILT_IN) - {"default"}))
def test_without_a_conversation_every_family_shows_the_sample(run: Run, family: str) -> None:
    outcome = run("render", "--family", family)

    assert outcome.code == 0
    assert "And in Lyon?" in outcome.out.decode()
    assert "get_weather" in outcome.out.decode()
    assert "The user wants the weather" in outcome.out.decode()
    assert outcome.err.startswith("note: this is the built-in sample")


def test_the_default_family_takes_the_template_beside_the_tokenizer(run: Run, folder: Path) -> None:
    (folder / "Qwen3" / "tokenizer_config.json").write_text(
        json.dumps({"chat_template": "{{ messages|length }}"})
    )

    assert run("render", "chat.json", "--family", "default", "--tokenizer", "Qwen3").out == b"4"


def test_a_broken_tokenizer_config_is_an_error_of_the_input(run: Run, folder: Path) -> None:
    (folder / "Qwen3" / "tokenizer_config.json").write_text("[]")

    outcome = run("render", "--family", "default", "--tokenizer", "Qwen3")

    assert outcome.code == 3
    assert "tokenizer_config.json is not a JSON object" in outcome.err


def test_output_goes_to_a_file_and_nothing_to_standard_output(run: Run, folder: Path) -> None:
    outcome = run("render", "chat.json", *TOY, "--output", "out.txt")

    assert outcome.out == b""
    assert (folder / "out.txt").read_bytes() == TEXT.encode()


def test_output_dash_is_standard_output(run: Run) -> None:
    assert run("render", "chat.json", *TOY, "--output", "-").out == TEXT.encode()


def test_check_is_silent_when_the_bytes_are_the_same(run: Run, folder: Path) -> None:
    (folder / "expected.txt").write_bytes(TEXT.encode())

    outcome = run("render", "chat.json", *TOY, "--check", "expected.txt")

    assert (outcome.code, outcome.out) == (0, b"")


def test_check_shows_what_differs_and_answers_no(run: Run, folder: Path) -> None:
    (folder / "expected.txt").write_bytes(TEXT.replace("Bye", "Good bye").encode() + b"\xff")

    outcome = run("render", "chat.json", *TOY, "--check", "expected.txt")

    assert outcome.code == 1
    assert_snapshot("check.diff", outcome.out)


def test_check_compares_the_bytes_of_the_format(run: Run, folder: Path) -> None:
    (folder / "ids.json").write_text(f"{json.dumps(IDS)}\n")
    ids = ("render", "chat.json", *TOY, *TOKENIZER, "--format", "ids", "--check", "ids.json")

    assert run(*ids).code == 0
    (folder / "ids.json").write_text(json.dumps(IDS))
    assert run(*ids).code == 1


def test_against_a_template_shows_a_unified_difference(run: Run, folder: Path) -> None:
    (folder / "other.jinja").write_text((folder / "toy.jinja").read_text().replace("system", "s"))
    assert run("render", "chat.json", *TOY, "--against", "other.jinja").code == 0
    (folder / "other.jinja").write_text((folder / "toy.jinja").read_text().replace("m.role", "m.role|upper"))

    outcome = run("render", "chat.json", *TOY, "--against", "other.jinja")

    assert outcome.code == 1
    assert b"-<|im_start|>USER\n+<|im_start|>user\n" in outcome.out
    assert outcome.out.startswith(b"--- other.jinja\n+++ toy.jinja\n")


def test_against_hf_takes_the_template_beside_the_tokenizer(run: Run, folder: Path) -> None:
    (folder / "Qwen3" / "chat_template.jinja").write_text((folder / "toy.jinja").read_text())
    same = run("render", "chat.json", *TOY, *TOKENIZER, "--against", "hf", "--json")
    assert (same.code, same.document["data"]["comparison"]["same"]) == (0, True)
    (folder / "Qwen3" / "chat_template.jinja").write_text("{{ messages|length }}")

    differs = run(
        "render", "chat.json", *TOY, "--tokenizer", "Qwen3/tokenizer.json", "--against", "hf", "--json"
    )

    assert (differs.code, differs.document["status"]) == (1, "failed")
    assert "-4\n" in differs.document["data"]["comparison"]["diff"]
    assert differs.document["data"]["text"] == TEXT


def test_json_lines_keep_their_order_in_every_format(run: Run, folder: Path) -> None:
    (folder / "two.jsonl").write_text(f"{json.dumps(MESSAGES[:1])}\n{json.dumps({'messages': MESSAGES})}\n")
    argv = ("render", "two.jsonl", *TOY, *TOKENIZER)

    renders = run(*argv, "--json").document["data"]["renders"]
    ids = run(*argv, "--format", "ids").out.decode().splitlines()
    tokens = run(*argv, "--format", "tokens").out.decode().split("\n\n")
    text = run(*argv).out.decode()

    assert [len(render["spans"]) for render in renders] == [2, 5]
    assert [json.loads(line) for line in ids] == [render["ids"] for render in renders]
    assert len(tokens) == 2
    assert text == renders[0]["text"] + TEXT


def test_one_line_of_json_lines_is_still_a_list(run: Run, folder: Path) -> None:
    (folder / "one.jsonl").write_text(json.dumps(MESSAGES))

    assert len(run("render", "one.jsonl", *TOY, "--json").document["data"]["renders"]) == 1


@pytest.mark.parametrize("columns", ["80", "120"])
def test_the_table(run: Run, monkeypatch: pytest.MonkeyPatch, folder: Path, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    long = [*MESSAGES, {"role": "tool", "content": "\x1b[31m[bold]\u202e" + "word " * 300 + "\r\nend"}]
    (folder / "long.json").write_text(json.dumps(long))

    outcome = run("render", "long.json", *TOY, *TOKENIZER, "--format", "table")

    assert_snapshot(f"table_{columns}.txt", outcome.out)
    assert max(map(len, outcome.out.decode().splitlines())) <= int(columns)


def test_colour_is_on_when_asked_for(run: Run) -> None:
    coloured = run("--color", "always", "render", "chat.json", *TOY, "--format", "table").out
    plain = run("--color", "never", "render", "chat.json", *TOY, "--format", "table").out

    assert b"\x1b[36m<|im_start|>" in coloured
    assert b"\x1b" not in plain


def test_errors_are_coloured_when_asked_for(run: Run) -> None:
    err = run("--color", "always", "render", "--family", "nope").err

    assert err.startswith("\x1b[1;31merror:\x1b[0m unknown family 'nope'")
