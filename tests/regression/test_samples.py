"""Reported failures of samples: replay data, cuts, retries, encoding, shared completions, hooks."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import httpx
import numpy as np
import pytest

from tests.engine_sglang.recorded import recorded
from tests.samples.numbered import Numbered, experts, rows
from tests.server.conftest import ScriptedEngine, plain_answer, running, serve_family
from titocli.client import Sample as ArraySample
from titocli.client import SampleBatch
from titocli.client.arrays import decode, encode
from titocli.engine.sglang_reply import read_reply
from titocli.engine.sglang_request import chat_body
from titocli.errors import InvalidOption, SampleHookFailed, SamplesImpossible
from titocli.session.generation import (
    Completion,
    FinishReason,
    GenerateRequest,
    ReplayKind,
    ReplayMode,
    ReplayOutputs,
    ReplayRequest,
)
from titocli.session.history import HistoryPolicy
from titocli.session.samples import SampleStatus
from titocli.session.samples.assembly import EmptyReason
from titocli.session.samples.hooks import SampleHooks, sample_hooks
from titocli.session.samples.sample import Sample
from titocli.tokens.ids import token_ids
from titocli.wire import sample_safetensors
from titocli.wire.safetensors_format import Tensor, pack, unpack

EXPERTS = ReplayKind.ROUTED_EXPERTS
U = {"role": "user", "content": "What is 1+2?"}
FINE = {"role": "assistant", "content": "fine"}
GO_ON = {"role": "user", "content": "go on"}


def only(numbered: Numbered, limit: int | None = None) -> Sample:
    (sample,) = numbered.collect(max_seq_len=limit).samples
    return sample


@pytest.mark.regression("R6")
def test_r6_rows_of_two_turns_join_to_the_full_reference() -> None:
    numbered = Numbered()
    numbered.turn([1, 2, 3], [10, 11], replay=experts(range(4), start=0))
    numbered.turn([1, 2, 3, 10, 11, 4], [20, 21], parent=0, replay=experts(range(4, 7), start=4))
    found = only(numbered).routed_experts

    assert found is not None
    assert found.shape == (7, 2, 3)
    assert found.data == rows(range(7), start=None).data


@pytest.mark.regression("R6")
def test_r6_rows_that_start_one_late_are_refused() -> None:
    numbered = Numbered()
    numbered.turn([1, 2, 3], [10, 11], replay=experts(range(4), start=0))
    numbered.turn([1, 2, 3, 10, 11, 4], [20, 21], parent=0, replay=experts(range(5, 7), start=5))

    with pytest.raises(SamplesImpossible, match="record 1 starts at row 5; expected 4"):
        numbered.collect()


def request_of(replay: ReplayRequest | None) -> GenerateRequest:
    return GenerateRequest(
        request_id="r",
        session_id="s",
        prompt_ids=token_ids([1, 2]),
        generation_prompt="",
        messages=[U],
        replay=replay,
    )


@pytest.mark.regression("R6")
@pytest.mark.parametrize(
    ("mode", "fields"),
    [
        (ReplayMode.ADDITIONAL, {"return_routed_experts": True, "routed_experts_start_len": 4}),
        (ReplayMode.FULL, {"return_routed_experts": True}),
        (None, {}),
    ],
)
def test_r6_the_engine_is_asked_for_what_the_mode_says(mode: ReplayMode | None, fields: Any) -> None:
    replay = None
    if mode is not None:
        outputs = ReplayOutputs(kinds=frozenset({EXPERTS}), mode=mode, layers=2)
        replay = ReplayRequest(outputs=outputs, start=outputs.start(5))
    body = chat_body(request_of(replay), "m")

    assert {name: value for name, value in body.items() if "experts" in name or "indexer" in name} == fields


@pytest.mark.regression("R6")
@pytest.mark.parametrize("policy", list(HistoryPolicy))
def test_r6_a_retry_asks_from_its_own_checkpoint_again(policy: HistoryPolicy) -> None:
    with served(policy, replay=True) as (http, engine, base):
        for messages in ([U], [U, FINE, GO_ON], [U, FINE, GO_ON]):
            assert chat(http, base, messages).status_code == 200
    starts = [request.replay.start for request in engine.requests if request.replay is not None]

    first = len(engine.requests[0].prompt_ids) + 5
    assert starts == [0, first - 1, first - 1]


@pytest.mark.regression("R6")
def test_r6_a_retry_of_the_first_turn_asks_from_row_0() -> None:
    with served(HistoryPolicy.LINEAR, replay=True) as (http, engine, base):
        for messages in ([U], [U]):
            assert chat(http, base, messages).status_code == 200
    starts = [request.replay.start for request in engine.requests if request.replay is not None]

    assert starts == [0, 0]


@pytest.mark.regression("R6")
def test_r6_the_real_engines_payload_has_the_shape_that_its_ids_say() -> None:
    """Recorded from SGLang 0.5.23 with a model of two layers and two experts a token."""
    reply = recorded("moe_chat_routed")
    prompt = token_ids(reply.request["input_ids"])
    asked = ReplayRequest(outputs=ReplayOutputs(kinds=frozenset({EXPERTS}), layers=2), start=0)
    completion = read_reply(json.dumps(reply.response).encode(), prompt, asked)
    payload = completion.replay[EXPERTS]

    assert len(payload.data) == 4 * (len(prompt) + len(completion.ids) - 1) * 2 * 2
    numbered = Numbered()
    numbered.turn(prompt, completion.ids, replay=dict(completion.replay))
    found = only(numbered).routed_experts
    assert found is not None
    assert found.shape == (23, 2, 2)
    text = reply.response["choices"][0]["meta_info"]["routed_experts"]
    assert found.data == base64.b64decode(text)


@pytest.mark.regression("R7")
def test_r7_a_truncated_turn_in_the_middle_ends_the_sample() -> None:
    numbered = Numbered()
    numbered.turn([1], [10])
    numbered.turn([1, 10, 2], [20], parent=0, finish=FinishReason.LENGTH)
    numbered.turn([1, 10, 2, 20, 3], [30], parent=1)
    sample = only(numbered)

    assert list(sample.tokens) == [1, 10, 2, 20]
    assert sample.status is SampleStatus.TRUNCATED


@pytest.mark.regression("R7")
def test_r7_a_turn_that_lost_its_replay_data_ends_the_sample_before_it() -> None:
    numbered = Numbered()
    numbered.turn([1], [10], replay=experts([0], start=0))
    numbered.turn([1, 10, 2], [20], parent=0)

    assert list(only(numbered).tokens) == [1, 10]


@pytest.mark.regression("R8")
def test_r8_a_cut_shortens_everything_that_has_one_entry_a_token() -> None:
    numbered = Numbered()
    numbered.turn([1, 2], [10, 11, 12], replay=experts(range(4), start=0), log_probs=[-1, -2, -3])
    whole, cut = only(numbered), only(numbered, limit=4)

    assert (len(whole.tokens), len(cut.tokens)) == (5, 4)
    assert whole.routed_experts is not None
    assert cut.routed_experts is not None
    assert (whole.routed_experts.rows, cut.routed_experts.rows) == (4, 3)
    assert (list(cut.loss_mask), list(cut.rollout_log_probs)) == ([1, 1], [-1.0, -2.0])
    assert cut.status is SampleStatus.TRUNCATED


@pytest.mark.regression("R24")
@pytest.mark.parametrize(
    ("prompts", "kept", "kept_by_drop_retries"),
    [
        ([[1, 10, 2], [1, 10, 3]], [2, 1], [2]),
        ([[1, 10, 2], [1, 10, 2]], [2], [2]),
    ],
)
def test_r24_a_child_is_a_retry_only_of_the_same_prompt(
    prompts: list[list[int]], kept: list[int], kept_by_drop_retries: list[int]
) -> None:
    numbered = Numbered()
    numbered.turn([1], [10])
    for prompt in prompts:
        numbered.turn(prompt, [20], parent=0)

    assert [sample.leaf for sample in numbered.collect().samples] == kept
    older = numbered.collect(hooks=sample_hooks("drop_retries")).samples
    assert [sample.leaf for sample in older] == kept_by_drop_retries


@pytest.mark.regression("R24")
def test_r24_roots_are_retries_only_of_the_same_prompt_and_longer_paths_come_first() -> None:
    equal, different = Numbered(), Numbered()
    for prompt in ([1], [1]):
        equal.turn(prompt, [10])
    for prompt in ([1], [2]):
        different.turn(prompt, [10])
    different.turn([1, 10, 3], [30], parent=0)
    different.turn([3], [10])

    assert [sample.leaf for sample in equal.collect().samples] == [1]
    assert [sample.leaf for sample in different.collect().samples] == [2, 3, 1]


def array_sample(**changes: Any) -> ArraySample:
    plain = ArraySample(
        tokens=np.array([1, 2, 3]),
        response="",
        response_length=1,
        status=SampleStatus.COMPLETED,
        loss_mask=np.array([1], dtype=np.uint8),
        rollout_log_probs=np.array([-0.5]),
    )
    return replace(plain, **changes)


@pytest.mark.regression("R32")
@pytest.mark.parametrize(
    "changes",
    [
        {"rollout_routed_experts": np.zeros((2, 1, 1), dtype=np.int16)},
        {"loss_mask": np.array([-1])},
    ],
)
def test_r32_values_that_the_format_would_change_are_a_value_error(changes: Any) -> None:
    with pytest.raises(ValueError, match=r"int16|exactly"):
        encode(SampleBatch(samples=(array_sample(**changes),)))


@pytest.mark.regression("R32")
def test_r32_views_come_back_by_value_and_empty_is_not_none() -> None:
    view = np.arange(16, dtype=np.int32).reshape(2, 2, 4)[:, :, ::2]
    empty = np.zeros((0, 2, 0), dtype=np.int32)
    batch = SampleBatch(samples=(array_sample(rollout_routed_experts=view, rollout_indexer_topk=empty),))
    (back,) = decode(encode(batch))

    assert back.rollout_routed_experts is not None
    assert np.array_equal(back.rollout_routed_experts, view)
    assert back.rollout_indexer_topk is not None
    assert back.rollout_indexer_topk.shape == (0, 2, 0)


@pytest.mark.regression("R32")
def test_r32_tensors_too_many_are_a_value_error_and_missing_parts_a_key_error() -> None:
    tensors = unpack(encode(SampleBatch(samples=(array_sample(),))))
    extra = pack({**tensors, "more.0": Tensor(dtype="U8", shape=(0,), data=b"")})
    without_meta = pack({name: tensor for name, tensor in tensors.items() if name != "_samples_meta"})

    with pytest.raises(ValueError, match=r"more\.0"):
        decode(extra)
    with pytest.raises(KeyError):
        decode(without_meta)


@pytest.mark.regression("R33")
def test_r33_a_shared_completion_trains_in_the_earliest_kept_leaf() -> None:
    numbered = Numbered()
    numbered.turn([1, 2, 3], [10, 11])
    numbered.turn([1, 2, 3, 10, 11, 20], [30], parent=0)
    numbered.turn([1, 2, 3, 10, 11, 20, 30, 40], [50], parent=1)
    numbered.turn([1, 2, 3, 10, 11, 21], [31], parent=0)
    masks = {sample.leaf: list(sample.loss_mask) for sample in numbered.collect().samples}
    assert masks[2][:2] == [1, 1]
    assert masks[3][:2] == [0, 0]
    assert masks[3][-1] == 1

    def late_first(samples: Sequence[Sample], _: Any) -> list[Sample]:
        return sorted(samples, key=lambda sample: -sample.leaf)

    reordered = numbered.collect(hooks=SampleHooks(picker=late_first)).samples
    assert [(s.leaf, list(s.loss_mask[:2])) for s in reordered] == [(3, [0, 0]), (2, [1, 1])]
    alone = numbered.collect(hooks=SampleHooks(picker=lambda samples, _: samples[1:])).samples
    assert [(s.leaf, list(s.loss_mask[:2])) for s in alone] == [(3, [1, 1])]


@pytest.mark.regression("R33")
def test_r33_a_reward_of_0_is_a_reward_and_the_leaf_stays_the_servers() -> None:
    numbered = Numbered()
    numbered.line(([1], [10]))
    (sample,) = numbered.collect(agent={"reward": 0.0, "leaf": "mine"}).samples

    assert sample.reward == 0.0
    assert sample.metadata["leaf"] == {
        "node_id": 0,
        "parent": None,
        "path_node_ids": [0],
        "response_id": "r",
    }


@pytest.mark.regression("R34")
@pytest.mark.parametrize(
    "pick",
    [lambda samples, _: [replace(samples[0])], lambda samples, _: [samples[0], samples[0]]],
)
def test_r34_a_picker_that_copies_or_repeats_is_a_422_with_the_hooks_names(pick: Any) -> None:
    numbered = Numbered()
    numbered.line(([1], [10]))

    with pytest.raises(SampleHookFailed, match=r"picker=a\.b, postprocessor=default_postprocess") as caught:
        numbered.collect(hooks=SampleHooks(picker_name="a.b", picker=pick))
    assert caught.value.http_status == 422


async def async_picker(samples: Sequence[Sample], _: Any) -> Sequence[Sample]:
    return samples


@pytest.mark.regression("R34")
def test_r34_an_asynchronous_picker_is_a_start_up_error() -> None:
    with pytest.raises(InvalidOption, match="asynchronous"):
        sample_hooks(f"{__name__}.async_picker")


@pytest.mark.regression("R35")
def test_r35_nothing_left_and_nothing_recorded_are_different_reasons() -> None:
    numbered = Numbered()
    assert numbered.collect().empty_reason is EmptyReason.NO_RECORDS
    numbered.line(([1, 2, 3], [10]))

    made = numbered.collect(max_seq_len=2)
    assert (made.samples, made.empty_reason) == ((), EmptyReason.ALL_TRUNCATED)


def with_experts(request: GenerateRequest) -> Completion:
    completion = plain_answer(request)
    if request.replay is None:
        return completion
    end = len(request.prompt_ids) + len(completion.ids) - 1
    payload = rows(range(request.replay.start or 0, end), start=request.replay.start)
    return replace(completion, replay={EXPERTS: payload})


class served:  # noqa: N801 - reads as a context manager
    """A client, an engine and a session's path, on a real socket."""

    def __init__(self, policy: HistoryPolicy, *, replay: bool) -> None:
        self._engine = ScriptedEngine(answer=with_experts)
        outputs = ReplayOutputs(kinds=frozenset({EXPERTS}), layers=2) if replay else None
        self._running = running(replace(serve_family(self._engine, "qwen3", policy), replay=outputs))

    def __enter__(self) -> tuple[httpx.Client, ScriptedEngine, str]:
        self._http = httpx.Client(base_url=self._running.__enter__(), timeout=30)
        session_id = self._http.post("/sessions").json()["session_id"]
        return self._http, self._engine, f"/sessions/{session_id}"

    def __exit__(self, *raised: Any) -> None:
        self._http.close()
        self._running.__exit__(*raised)


def chat(http: httpx.Client, base: str, messages: Sequence[Any], **more: Any) -> httpx.Response:
    return http.post(f"{base}/v1/chat/completions", json={"messages": messages, **more})


@pytest.mark.regression("R36")
@pytest.mark.case("d16")
@pytest.mark.parametrize("stream", [False, True])
def test_r36_replay_data_is_in_the_record_and_in_no_reply(stream: bool) -> None:
    with served(HistoryPolicy.TREE, replay=True) as (http, engine, base):
        reply = chat(http, base, [U], stream=stream)
        (record,) = http.get(base).json()["records"]
    (request,) = engine.requests

    assert reply.status_code == 200
    assert "routed_experts" not in reply.text
    assert "logprobs" not in reply.text or '"logprobs":null' in reply.text
    stored = base64.b64decode(record["response"]["metadata"]["routed_experts"])
    assert stored == rows(range(len(request.prompt_ids) + 4), start=0).data


@pytest.mark.regression("R36")
def test_r36_log_probs_are_shown_only_to_who_asks() -> None:
    with served(HistoryPolicy.TREE, replay=False) as (http, _, base):
        silent = chat(http, base, [U]).json()["choices"][0]
        asked = chat(http, base, [U], logprobs=True).json()["choices"][0]

    assert silent.get("logprobs") is None
    assert len(asked["logprobs"]["content"]) == 5


@pytest.mark.hazard(5)
def test_hazard_5_a_malformed_body_for_samples_is_no_500() -> None:
    with served(HistoryPolicy.TREE, replay=False) as (http, _, base):
        for body in (b"{bad", b"[]", b'{"max_seq_len": "x"}', b"\xff"):
            assert http.post(f"{base}/samples", content=body).status_code == 400


@pytest.mark.hazard(6)
def test_hazard_6_replay_data_grows_with_the_sessions_tokens_and_not_with_turns_squared() -> None:
    with served(HistoryPolicy.TREE, replay=True) as (http, engine, base):
        messages: list[Any] = [U]
        for _ in range(8):
            assert chat(http, base, messages).status_code == 200
            messages += [FINE, GO_ON]
        (sample,) = sample_safetensors.decode(http.post(f"{base}/samples").content).samples
        records = http.get(base).json()["records"]
    stored = [len(base64.b64decode(record["response"]["metadata"]["routed_experts"])) for record in records]

    found = sample.rollout_routed_experts
    assert found is not None
    assert sum(stored) == len(found.data)
    assert len(engine.requests) == 8


@pytest.mark.hazard(13)
def test_hazard_13_turns_with_equal_response_ids_stay_apart() -> None:
    numbered = Numbered()
    numbered.turn([1], [10], response_id="same")
    numbered.turn([1, 10, 2], [20], parent=0, response_id="same")
    numbered.turn([1, 10, 3], [30], parent=0, response_id="same")
    masks = {sample.leaf: list(sample.loss_mask) for sample in numbered.collect().samples}

    assert masks == {1: [1, 0, 1], 2: [0, 0, 1]}


@pytest.mark.hazard(15)
def test_hazard_15_errors_of_samples_are_short_and_hold_no_ids() -> None:
    numbered = Numbered()
    numbered.line((list(range(1, 90)), [10, 11]), ([*range(1, 90), 10, 4], [20]))
    numbered.session.renderer._boundary = replace(numbered.session.renderer.boundary, trim_ids=frozenset())

    with pytest.raises(SamplesImpossible) as caught:
        numbered.collect()
    assert len(caught.value.message) < 120
    assert caught.value.details == {"turn": 0, "trim": 1, "max_trim": 0}


@pytest.mark.hazard(25)
def test_hazard_25_a_retry_is_seen_also_where_the_later_siblings_leaf_is_gone() -> None:
    """A picker that is given leaf 1 alone still knows turn 2, which was generated from the same prompt."""
    numbered = Numbered()
    numbered.turn([1], [10])
    numbered.turn([1, 10, 2], [20], parent=0)
    numbered.turn([1, 10, 2], [21], parent=0)
    numbered.turn([1, 10, 2, 21, 3], [30], parent=2)

    def first_only(samples: Sequence[Sample], metadata: Any) -> list[Sample]:
        # What a picker is given of the tree has every turn, whichever samples there are.
        return sample_hooks().picker(samples[:1], metadata)  # type: ignore[return-value] # a picker may give any sequence

    assert numbered.collect(hooks=SampleHooks(picker=first_only)).samples == ()
