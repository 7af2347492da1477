"""Answers of a real SGLang become completions; answers that cannot be trusted are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.engine_sglang.recorded import recorded
from titocli.engine.sglang_reply import read_reply
from titocli.errors import EngineAborted, EngineBrokeProtocol
from titocli.session.generation import Completion, FinishReason, WeightVersion
from titocli.tokens.ids import TokenIds, token_ids

PROMPT = (398, 267, 257, 198, 39, 284, 75, 78, 396, 198, 398, 64, 82, 268, 270, 198)


def read(reply: Any, prompt: tuple[int, ...] = PROMPT) -> Completion:
    return read_reply(json.dumps(reply).encode(), token_ids(prompt))


def prompt_of(reply: Any) -> TokenIds:
    return token_ids(reply["choices"][0]["prompt_token_ids"])


@pytest.fixture
def reply() -> Any:
    """Eight tokens of reasoning, cut by the length limit."""
    return recorded("chat_return_token_ids_meta").response


def refused(reply: Any) -> EngineBrokeProtocol:
    with pytest.raises(EngineBrokeProtocol) as caught:
        read(reply)
    assert caught.value.exit_code == 5
    return caught.value


def test_ids_and_log_probs_are_those_of_the_engine(reply: Any) -> None:
    completion = read(reply)
    assert completion.ids.tolist() == [217, 293, 351, 74, 427, 443, 25, 338]
    assert completion.log_probs.typecode == "d"
    assert completion.log_probs[0] == -6.1038055419921875
    assert completion.log_probs[7] == -6.251058578491211
    assert completion.finish_reason is FinishReason.LENGTH
    assert completion.message == {
        "role": "assistant",
        "content": "",
        "reasoning_content": "\u001d T nuk!!:sw",
    }
    assert completion.response_id == "ad3de41c97db406fb8e7acee7af3a7cf"
    assert completion.model == "tiny-qwen3"
    assert completion.cached_tokens == 0
    assert completion.matched_stop is None
    assert completion.weight_versions == (WeightVersion(version="default", start=0, end=8),)
    assert completion.engine_prompt_ids == token_ids(PROMPT)


def test_metadata_is_the_single_values_without_token_lists(reply: Any) -> None:
    metadata = read(reply).metadata
    assert metadata["e2e_latency"] == 0.05276234099983412
    assert metadata["weight_version"] == "default"
    assert not {"output_token_logprobs", "input_token_logprobs", "finish_reason"} & metadata.keys()


@pytest.mark.parametrize("name", ["chat_regex_toolcall", "realvocab_regex_toolcall"])
def test_a_parsed_tool_call_keeps_the_ids_that_were_sampled(name: str) -> None:
    response = recorded(name).response
    completion = read_reply(json.dumps(response).encode(), prompt_of(response))
    assert completion.finish_reason is FinishReason.TOOL_CALLS
    assert completion.message["content"] == ""
    assert "reasoning_content" not in completion.message
    calls: Any = completion.message["tool_calls"]
    call = calls[0]
    assert call.keys() == {"id", "type", "function"}
    assert call["id"].startswith("call_")
    assert call["function"] == {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    assert completion.ids.tolist() == response["choices"][0]["response_token_ids"]
    assert len(completion.ids) == len(completion.log_probs) > 30


def test_a_stop_string_and_a_stop_token_are_told() -> None:
    by_string, by_token = recorded("chat_stop_string").response, recorded("chat_eos_token_included").response
    assert read_reply(json.dumps(by_string).encode(), prompt_of(by_string)).matched_stop == "STOP"
    completion = read_reply(json.dumps(by_token).encode(), prompt_of(by_token))
    assert completion.matched_stop == completion.ids[-1] == 397
    assert completion.finish_reason is FinishReason.STOP


def test_an_abort_is_an_abort_whatever_else_is_missing() -> None:
    with pytest.raises(EngineAborted) as caught:
        read(recorded("chat_paused_abort").response)
    assert caught.value.http_status == 503
    with pytest.raises(EngineAborted):
        read({"choices": [{"finish_reason": "abort", "message": None}]})


def test_a_reply_without_log_probs_breaks_the_protocol() -> None:
    assert "output_token_logprobs" in refused(recorded("chat_after_update_greedy").response).message


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"choices": [', b'{"a": NaN}', b"\xff\xfe"])
def test_a_body_that_is_not_json_breaks_the_protocol(body: bytes) -> None:
    with pytest.raises(EngineBrokeProtocol, match="not JSON"):
        read_reply(body, token_ids(PROMPT))


@pytest.mark.parametrize("choices", [[], None, "no", {}])
def test_no_choices_break_the_protocol(choices: Any) -> None:
    assert "no choices" in refused({"choices": choices}).message


@pytest.mark.parametrize("reply", [[], "text", 3, None])
def test_json_that_is_not_an_object_breaks_the_protocol(reply: Any) -> None:
    assert "the reply is not an object" in refused(reply).message


@pytest.mark.parametrize("meta_info", [None, [], "x"])
def test_meta_info_must_be_an_object(reply: Any, meta_info: Any) -> None:
    reply["choices"][0]["meta_info"] = meta_info
    assert "meta_info is not an object" in refused(reply).message


def test_null_content_breaks_the_protocol(reply: Any) -> None:
    reply["choices"][0]["message"]["content"] = None
    assert "content is not a string" in refused(reply).message
    reply["choices"][0]["message"] = None
    assert "message is not an object" in refused(reply).message


def test_as_many_log_probs_as_completion_tokens_are_needed(reply: Any) -> None:
    reply["choices"][0]["meta_info"]["completion_tokens"] = 9
    error = refused(reply)
    assert error.details == {"completion_tokens": 9, "output_token_logprobs": 8}
    del reply["choices"][0]["meta_info"]["completion_tokens"]
    refused(reply)


def test_the_engine_must_count_the_prompt_that_was_sent(reply: Any) -> None:
    reply["choices"][0]["meta_info"]["prompt_tokens"] = 17
    assert refused(reply).details == {"prompt_tokens": 17, "sent": 16}
    del reply["choices"][0]["meta_info"]["prompt_tokens"]
    assert len(read(reply).ids) == 8


@pytest.mark.parametrize(
    "entry",
    [None, [], [-1.0], [-1.0, None], [-1.0, "7"], [-1.0, 7.0], [-1.0, True], [-1.0, -7], [-1.0, 2**31]],
)
def test_every_entry_needs_a_token_id(reply: Any, entry: Any) -> None:
    reply["choices"][0]["meta_info"]["output_token_logprobs"][3] = entry
    assert "output_token_logprobs" in refused(reply).message


@pytest.mark.parametrize("log_prob", [None, "x", False])
def test_every_entry_needs_a_log_prob(reply: Any, log_prob: Any) -> None:
    reply["choices"][0]["meta_info"]["output_token_logprobs"][3][0] = log_prob
    assert "without a log-prob" in refused(reply).message


@pytest.mark.parametrize("reason", [None, "content_filter", 7])
def test_an_unknown_end_breaks_the_protocol(reply: Any, reason: Any) -> None:
    reply["choices"][0]["finish_reason"] = reason
    assert refused(reply).details == {"finish_reason": str(reason)}


@pytest.mark.parametrize(
    ("echoed", "first_difference"),
    [((*PROMPT[:5], 1, *PROMPT[6:]), 5), (PROMPT[:-1], 15), ((*PROMPT, 198), 16)],
)
def test_a_prompt_that_the_engine_read_otherwise_is_refused(
    reply: Any, echoed: tuple[int, ...], first_difference: int
) -> None:
    reply["choices"][0]["prompt_token_ids"] = list(echoed)
    assert refused(reply).details == {"first_difference": first_difference}


def test_a_prompt_echo_that_is_no_list_of_ids_is_refused(reply: Any) -> None:
    reply["choices"][0]["prompt_token_ids"] = "398"
    assert "prompt_token_ids" in refused(reply).message


@pytest.mark.parametrize(
    "calls", ["x", ["x"], [{}], [{"function": {"name": "f"}}], [{"function": {"name": 1, "arguments": ""}}]]
)
def test_tool_calls_of_another_shape_are_refused(reply: Any, calls: Any) -> None:
    reply["choices"][0]["message"]["tool_calls"] = calls
    assert "tool" in refused(reply).message


def test_one_weight_version_without_spans_covers_the_completion(reply: Any) -> None:
    meta = reply["choices"][0]["meta_info"]
    del meta["weight_versions"]
    assert read(reply).weight_versions == (WeightVersion(version="default", start=0, end=8),)
    del meta["weight_version"]
    assert read(reply).weight_versions == ()


def test_weight_version_spans_are_kept_in_order(reply: Any) -> None:
    spans = [{"version": "a", "start": 0, "end": 3}, {"version": "b", "start": 3, "end": 8}]
    reply["choices"][0]["meta_info"]["weight_versions"] = spans
    assert [(v.version, v.start, v.end) for v in read(reply).weight_versions] == [("a", 0, 3), ("b", 3, 8)]
    reply["choices"][0]["meta_info"]["weight_versions"] = [{"version": "a"}]
    assert "weight_versions" in refused(reply).message
