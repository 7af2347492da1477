"""What a chat completion may ask for; each refusal names its field and happens before the engine runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.generated_count import generated_count
from titocli.errors import TitoError
from titocli.session.generation import Completion, GenerateRequest
from titocli.wire.openai_request import chat_request

from .conftest import ScriptedEngine, plain_answer
from .events import TOOLS, U

VOCAB_SIZE = 512


def asked(**more: Any) -> Any:
    return chat_request({"messages": [U], **more}, vocab_size=VOCAB_SIZE)


def refused(**more: Any) -> TitoError:
    with pytest.raises(TitoError) as caught:
        asked(**more)
    assert caught.value.http_status == 400
    return caught.value


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("n", [2, 0, "1", True, 1.0]),
        ("best_of", [2]),
        ("echo", [True]),
        ("suffix", ["x"]),
        ("prompt", ["x"]),
        ("input_ids", [[1]]),
        ("input_embeds", [[[0.1]]]),
        ("continue_final_message", [True]),
        ("add_generation_prompt", [False]),
        ("chat_template", ["{{ x }}"]),
        ("modalities", [["text", "audio"], ["audio"], "text"]),
        ("audio", [{"voice": "alloy", "format": "wav"}]),
        ("functions", [[{"name": "f"}]]),
        ("function_call", ["auto"]),
        ("rid", ["x"]),
        ("session_id", ["x"]),
        ("session_params", [{"id": "x"}]),
        ("lora_path", ["x"]),
        ("web_search_options", [{}]),
        ("model", [5]),
        ("temperature", ["hot", -1, True, [1]]),
        ("top_p", [0, 1.5, "x"]),
        ("top_k", [-2, 1.5]),
        ("min_p", [2]),
        ("presence_penalty", [3]),
        ("frequency_penalty", [-3]),
        ("repetition_penalty", [0]),
        ("max_tokens", [0, -1, True, "5", 1.5]),
        ("max_completion_tokens", [0, -1, True, "5"]),
        ("seed", [1.5, "x", 2**63, True]),
        ("stop", [5, [5], ["x"] * 17, {}]),
        ("stop_token_ids", [5, ["x"], [True], [-1], [VOCAB_SIZE]]),
        (
            "logit_bias",
            [[], {"x": 1}, {"5": "x"}, {"5": 101}, {"-1": 1}, {str(VOCAB_SIZE): 1}, {"9" * 20: 1}],
        ),
        ("logprobs", [1, "yes"]),
        ("top_logprobs", [2, -1, "x"]),
        ("parallel_tool_calls", [0, "no"]),
        ("response_format", ["json", {"type": "xml"}, {"type": "json_schema"}, {}]),
        ("tool_choice", ["maybe", {"type": "function"}, {"function": {"name": "zzz"}}, 5]),
        ("stream", [1, "yes"]),
        ("stream_options", [{"include_usage": True}]),
        ("reasoning_effort", [True, ["low"], {}]),
        ("reasoning", ["low"]),
        ("chat_template_kwargs", ["x", [1]]),
    ],
)
def test_a_value_that_cannot_be_honoured_is_refused_by_name(field: str, values: list[Any]) -> None:
    for value in values:
        error = refused(**{"tools": TOOLS, field: value})

        assert error.details["param"] == field, value
        assert error.code == "unsupported_request"


@pytest.mark.case("c18")
@pytest.mark.case("c09")
def test_null_is_the_same_as_absent_for_every_field() -> None:
    plain = asked()
    fields = ("n", "best_of", "echo", "tools", "tool_choice", "stream", "stream_options", "seed", "stop")
    more = ("logit_bias", "response_format", "max_tokens", "logprobs", "top_logprobs", "modalities", "model")

    assert asked(**dict.fromkeys((*fields, *more))) == plain
    assert asked(n=1) == plain


@pytest.mark.case("c17")
def test_the_newer_name_of_the_token_limit_wins() -> None:
    assert asked(max_tokens=5, max_completion_tokens=9).turn.options == {"max_tokens": 9}
    assert asked(max_tokens=5).turn.options == {"max_tokens": 5}
    assert asked(max_completion_tokens=9).turn.options == {"max_tokens": 9}


@pytest.mark.case("c09")
def test_what_is_the_clients_own_stays_with_it_and_unknown_options_pass() -> None:
    own = {"store": True, "user": "x", "service_tier": "auto", "prompt_cache_key": "k"}
    named = {"metadata": {"a": "b"}, "safety_identifier": "s", "verbosity": "low", "prediction": {}}
    options = asked(**own, **named, regex="a+", unheard_of={"x": 1}, temperature=0).turn.options

    assert options == {"regex": "a+", "unheard_of": {"x": 1}, "temperature": 0}


@pytest.mark.case("c20")
@pytest.mark.case("c21")
def test_what_shapes_calls_and_formats_goes_to_the_engine_as_it_is() -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "o", "schema": {"type": "object"}}}
    given_ = {
        "parallel_tool_calls": False,
        "response_format": schema,
        "tool_choice": {"type": "function", "function": {"name": "b"}},
    }
    request = asked(tools=TOOLS, **given_)

    assert request.turn.options == given_
    assert request.turn.messages == [U]


@pytest.mark.case("c19")
def test_log_probs_are_shown_only_when_asked_for() -> None:
    assert [asked().log_probs, asked(logprobs=False).log_probs, asked(logprobs=True).log_probs] == [
        False,
        False,
        True,
    ]
    assert asked(logprobs=True, top_logprobs=2).turn.options == {"top_logprobs": 2}


@pytest.mark.case("d05")
@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "file:///etc/hostname"}},
        {"type": "image", "source": {"type": "url", "url": "http://127.0.0.1:9/x"}},
        {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
        {"type": "video_url", "video_url": {"url": "http://127.0.0.1:9/x"}},
    ],
)
def test_media_are_refused_and_never_fetched(part: dict[str, Any]) -> None:
    message: Any = {"role": "user", "content": [{"type": "text", "text": "x"}, part]}
    with pytest.raises(TitoError) as caught:
        chat_request({"messages": [message]})

    assert caught.value.details["param"] == "messages"
    assert part["type"] in caught.value.message


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_FIELDS = st.sampled_from(
    [
        "n",
        "temperature",
        "top_p",
        "top_k",
        "max_tokens",
        "seed",
        "stop",
        "stop_token_ids",
        "logit_bias",
        "logprobs",
        "top_logprobs",
        "response_format",
        "tool_choice",
        "tools",
        "stream",
        "stream_options",
        "chat_template_kwargs",
        "reasoning",
        "reasoning_effort",
        "modalities",
        "messages",
        "parallel_tool_calls",
    ]
)


@settings(max_examples=generated_count(), deadline=None)
@given(st.dictionaries(_FIELDS, _VALUES, max_size=4))
def test_any_value_of_any_field_is_read_or_refused_in_a_sentence(body: dict[str, Any]) -> None:
    told: list[TitoError] = []
    try:
        chat_request(body, vocab_size=VOCAB_SIZE)
    except TitoError as error:
        told.append(error)

    assert all(error.http_status == 400 and error.message for error in told)


@pytest.mark.case("c19")
def test_a_reply_has_no_ids_and_no_replay_data(
    client: httpx.Client, session: str, engine: ScriptedEngine
) -> None:
    def answer(request: GenerateRequest) -> Completion:
        top: Any = tuple([{"token": "x", "bytes": [120], "logprob": -1.0}] * 2 for _ in range(5))
        return replace(plain_answer(request), metadata={"routed_experts": "QUJD"}, top_log_probs=top)

    engine.answer = answer
    path = f"/sessions/{session}/v1/chat/completions"
    plain = client.post(path, json={"messages": [U]})
    full = client.post(path, json={"messages": [U], "logprobs": True, "top_logprobs": 2}).json()
    content = full["choices"][0]["logprobs"]["content"]

    assert plain.json()["choices"][0]["logprobs"] is None
    assert not {"meta_info", "input_ids", "output_ids", "routed_experts"} & plain.json()["choices"][0].keys()
    assert "QUJD" not in plain.text
    assert len(content) == full["usage"]["completion_tokens"]
    assert {len(entry["top_logprobs"]) for entry in content} == {2}
