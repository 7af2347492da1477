"""Template kwargs, tools and sampling across the turns of a session."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.conftest import Transcript, assistant, renderer_of, snapshot, user
from titocli.errors import (
    ConflictingKwarg,
    PinnedKwarg,
    TitoError,
    ToolsChanged,
    UnsupportedRequest,
)
from titocli.session.generation import ReplayKind, ReplayMode, ReplayOutputs
from titocli.session.history import HistoryPolicy
from titocli.session.options import (
    SamplingConflict,
    SessionOptions,
    SessionPurpose,
    session_options,
)
from titocli.session.session import Session

U, A, MORE = user("hello"), assistant("hi"), user("more")
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
REORDERED = {"function": {"parameters": {"type": "object"}, "name": "weather"}, "type": "function"}
CLOCK = {"type": "function", "function": {"name": "clock"}}
POLICIES = pytest.mark.parametrize("policy", list(HistoryPolicy))


def transcript(
    policy: HistoryPolicy = HistoryPolicy.TREE, family: str = "qwen3", **settings: Any
) -> Transcript:
    return Transcript(Session(renderer_of(family), policy, **settings))


def created(body: Any, **settings: Any) -> Transcript:
    return transcript(options=session_options(body), **settings)


@POLICIES
@pytest.mark.regression("R16")
@pytest.mark.hazard(20)
def test_request_kwargs_reach_the_render_and_the_engine_alike_and_are_inherited(
    policy: HistoryPolicy,
) -> None:
    of = transcript(policy)
    first = of.plan([U], template_kwargs={"enable_thinking": False})
    of.commit(first, of.completion(A))
    second = of.plan([U, A, MORE])

    for plan in (first, second):
        asked = plan.request(request_id="r", session_id="s")
        assert asked.template_kwargs == {"clear_thinking": False, "enable_thinking": False}
        assert asked.template_kwargs is plan.arguments.template_kwargs
        assert asked.generation_prompt.endswith("<think>\n\n</think>\n\n")
        text = of.session.renderer.tokenizer.decode(asked.prompt_ids)
        assert text.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")


@POLICIES
@pytest.mark.regression("R16")
@pytest.mark.parametrize(
    ("kwargs", "error"),
    [
        ({"clear_thinking": True}, ConflictingKwarg),
        ({"tools": []}, UnsupportedRequest),
        ({"messages": []}, UnsupportedRequest),
        ({"add_generation_prompt": False}, UnsupportedRequest),
    ],
)
def test_kwargs_that_belong_to_others_change_nothing(
    policy: HistoryPolicy, kwargs: Any, error: type[TitoError]
) -> None:
    of = transcript(policy)
    of.turn([U], A)
    before = snapshot(of.session)
    for messages in ([U], [U, A, MORE]):
        with pytest.raises(error) as refused:
            of.plan(messages, template_kwargs=kwargs)
        assert refused.value.http_status == 400

    assert snapshot(of.session) == before


@pytest.mark.case("d03")
@pytest.mark.parametrize(
    "name", ["messages", "tools", "documents", "add_generation_prompt", "raise_exception", "namespace"]
)
def test_a_reserved_name_is_named_and_leaves_the_prompt_alone(name: str) -> None:
    of = transcript()
    with pytest.raises(UnsupportedRequest) as refused:
        of.plan([U], template_kwargs={name: None})
    assert refused.value.details["param"] == name


@pytest.mark.regression("R16")
def test_the_session_stands_between_the_launch_and_the_request() -> None:
    of = created(
        {"chat_template_kwargs": {"enable_thinking": False}}, launch_kwargs={"enable_thinking": True}
    )

    assert of.plan([U]).arguments.template_kwargs["enable_thinking"] is False
    assert (
        of.plan([U], template_kwargs={"enable_thinking": True}).arguments.template_kwargs["enable_thinking"]
        is True
    )


@pytest.mark.regression("R16")
@pytest.mark.parametrize("lower", ["launch", "session"])
def test_one_name_of_thinking_replaces_every_other_name_below_it(lower: str) -> None:
    kwargs = {"thinking_mode": "chat"}
    settings: Any = (
        {"launch_kwargs": kwargs}
        if lower == "launch"
        else {"options": SessionOptions(template_kwargs=kwargs)}
    )
    of = transcript(family="deepseekv32", **settings)

    assert of.plan([U]).arguments.template_kwargs["thinking"] is False
    asked = of.plan([U], template_kwargs={"enable_thinking": True}).arguments.template_kwargs
    assert asked["thinking"] is True
    assert asked.keys() & {"thinking_mode", "enable_thinking"} == set()


@pytest.mark.parametrize("kwargs", [{"clear_thinking": True}, {"messages": []}])
def test_kwargs_that_no_session_can_have_are_refused_when_it_is_created(kwargs: Any) -> None:
    with pytest.raises(TitoError) as refused:
        created({"chat_template_kwargs": kwargs})
    assert refused.value.http_status == 400


@POLICIES
@pytest.mark.regression("R17")
@pytest.mark.case("b16")
@pytest.mark.parametrize("again", [None, [], [REORDERED], [WEATHER["function"]]])
def test_tools_are_inherited_when_they_are_left_out_or_the_same(policy: HistoryPolicy, again: Any) -> None:
    of = transcript(policy)
    of.turn([U], A, tools=[WEATHER])
    plan = of.plan([U, A, MORE], tools=again)

    assert plan.request(request_id="r", session_id="s").tools == (WEATHER,)


@POLICIES
@pytest.mark.regression("R17")
@pytest.mark.case("b16")
@pytest.mark.parametrize(
    ("other", "added", "removed"),
    [
        ([CLOCK], ["clock"], ["weather"]),
        ([WEATHER, CLOCK], ["clock"], []),
        ([{**WEATHER, "function": {"name": "weather"}}], [], []),
    ],
)
def test_other_tools_on_a_continued_path_are_refused_and_named(
    policy: HistoryPolicy, other: Any, added: list[str], removed: list[str]
) -> None:
    of = transcript(policy)
    of.turn([U], A, tools=[WEATHER])
    before = snapshot(of.session)

    with pytest.raises(ToolsChanged) as refused:
        of.plan([U, A, MORE], tools=other)

    assert refused.value.http_status == 400
    assert refused.value.details == {"param": "tools", "added": added, "removed": removed}
    assert snapshot(of.session) == before
    assert of.plan([U], tools=other).parent is None  # a new root of a tree, a retry of a line


@pytest.mark.regression("R17")
def test_the_order_of_tools_is_written_into_the_prefix() -> None:
    of = transcript()
    of.turn([U], A, tools=[WEATHER, CLOCK])

    with pytest.raises(ToolsChanged):
        of.plan([U, A, MORE], tools=[CLOCK, WEATHER])


@pytest.mark.case("b17")
@pytest.mark.parametrize("family", ["qwen36", "glm47", "nemotron3"])
def test_thinking_may_change_where_it_shapes_the_generation_prompt_alone(family: str) -> None:
    of = transcript(family=family)
    of.turn([U], A, template_kwargs={"enable_thinking": False})
    plan = of.plan([U, A, MORE], template_kwargs={"enable_thinking": True})

    assert plan.parent == 0
    assert plan.arguments.template_kwargs["enable_thinking"] is True


@POLICIES
@pytest.mark.case("b17")
@pytest.mark.parametrize(
    ("family", "kwarg", "first", "second"),
    [
        ("qwen4exp", "enable_thinking", True, False),
        ("qwen4exp", "reasoning_effort", "low", "medium"),
        ("kimi25", "thinking", True, False),
        ("inkling", "reasoning_effort", "low", "high"),
    ],
)
def test_what_is_written_into_the_prefix_may_not_change(
    policy: HistoryPolicy, family: str, kwarg: str, first: Any, second: Any
) -> None:
    of = transcript(policy, family)
    of.turn([U], A, template_kwargs={kwarg: first})

    with pytest.raises(PinnedKwarg) as refused:
        of.plan([U, A, MORE], template_kwargs={kwarg: second})

    assert kwarg in refused.value.message
    assert repr(refused.value.details["pinned"]) in refused.value.message
    assert of.plan([U, A, MORE], template_kwargs={kwarg: first}).parent == 0


@pytest.mark.regression("R18")
def test_a_session_temperature_is_the_default_and_no_other_is_trained() -> None:
    of = created({"temperature": 0.7})
    assert of.session.options.purpose is SessionPurpose.TRAINING
    for asked in ({}, {"temperature": None}, {"temperature": 0.7}):
        assert of.plan([U], options=asked).arguments.options == {"temperature": 0.7}

    with pytest.raises(UnsupportedRequest) as refused:
        of.plan([U], options={"temperature": 1.0})

    assert refused.value.http_status == 400
    assert refused.value.details["param"] == "temperature"
    assert refused.value.message == "temperature=1.0 does not match the training session temperature=0.7"


@pytest.mark.regression("R18")
@pytest.mark.parametrize("asked", [1, 0, True, "0.7"])
def test_a_temperature_is_compared_as_a_number(asked: Any) -> None:
    with pytest.raises(UnsupportedRequest):
        created({"temperature": 0.7}).plan([U], options={"temperature": asked})
    if asked == 1 and not isinstance(asked, bool):
        assert created({"temperature": 1.0}).plan([U], options={"temperature": asked}).parent is None


@pytest.mark.regression("R18")
def test_an_evaluation_session_samples_as_it_likes_and_asks_for_no_replay_data() -> None:
    replay = ReplayOutputs(kinds=frozenset({ReplayKind.ROUTED_EXPERTS}), layers=2)
    of = created({"temperature": 0.7, "evaluation": True}, replay=replay)
    asked = {
        "temperature": 1.0,
        "top_p": 0.5,
        "top_k": 9,
        "return_routed_experts": True,
        "routed_experts_start_len": 3,
    }
    plan = of.plan([U], options=asked)

    assert plan.arguments.options == {
        "temperature": 1.0,
        "top_p": 0.5,
        "top_k": 9,
        "return_routed_experts": False,
        "return_indexer_topk": False,
    }
    assert plan.replay is None
    assert of.plan([U]).arguments.options["temperature"] == 0.7


@pytest.mark.regression("R18")
def test_bounded_sampling_is_not_trained() -> None:
    of = created({"evaluation": False})
    for options in ({"top_p": 0.9}, {"top_k": 20}):
        with pytest.raises(UnsupportedRequest) as refused:
            of.plan([U], options=options)
        assert refused.value.details == {"param": next(iter(options))}
    for options in ({"top_p": 1}, {"top_p": 1.0, "top_k": -1}, {"temperature": 0.3}):
        assert of.plan([U], options=options).arguments.options == options

    assert transcript().plan([U], options={"top_p": 0.9, "top_k": 20}).parent is None  # nobody said training


@pytest.mark.regression("R18")
def test_a_client_that_cannot_be_configured_gets_the_sessions_own_sampling() -> None:
    of = created({"temperature": 0.7, "top_k": -1, "sampling_conflict": "override"})
    plan = of.plan([U], options={"temperature": 1.0, "top_p": 0.9, "top_k": 5, "seed": 3})

    assert of.session.options.sampling_conflict is SamplingConflict.OVERRIDE
    assert plan.arguments.options == {"temperature": 0.7, "top_k": -1, "seed": 3}


@pytest.mark.regression("R18")
@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"temperature": -1}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"top_p": 1.5}, "top_p"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 1.5}, "top_k"),
        ({"evaluation": "yes"}, "evaluation"),
        ({"evaluation": False, "top_p": 0.9}, "top_p"),
        ({"temperature": 1, "top_k": 4}, "top_k"),
        ({"chat_template_kwargs": "x"}, "chat_template_kwargs"),
        ({"metadata": [1]}, "metadata"),
        ({"sampling_conflict": "ignore"}, "sampling_conflict"),
        ({"temprature": 1}, "temprature"),
    ],
)
def test_options_of_a_session_that_cannot_be_are_refused_by_name(body: Any, param: str) -> None:
    with pytest.raises(UnsupportedRequest) as refused:
        session_options(body)

    assert (refused.value.http_status, refused.value.details["param"]) == (400, param)
    assert refused.value.hint


def test_options_that_are_null_are_not_given() -> None:
    names = (
        "temperature",
        "top_p",
        "top_k",
        "evaluation",
        "metadata",
        "chat_template_kwargs",
        "sampling_conflict",
    )

    assert session_options(dict.fromkeys(names)) == session_options({}) == SessionOptions()
    assert session_options({"metadata": {"task": 7}}).metadata == {"task": 7}


@POLICIES
@pytest.mark.regression("R23")
@pytest.mark.parametrize("field", ["input_ids", "lora_path", "routed_experts_start_len", "logprob_start_len"])
def test_a_control_field_is_refused_before_anything_else_and_null_is_absent(
    policy: HistoryPolicy, field: str
) -> None:
    of = transcript(policy)
    with pytest.raises(UnsupportedRequest) as refused:
        of.plan([U], options={field: 0}, template_kwargs={"messages": []}, tools="none")

    assert refused.value.details["param"] == field
    assert field not in of.plan([U], options={field: None}).arguments.options


@pytest.mark.regression("R6")
def test_replay_data_is_asked_for_from_the_first_row_that_is_missing() -> None:
    replay = ReplayOutputs(kinds=frozenset({ReplayKind.ROUTED_EXPERTS}), layers=2)
    of = transcript(replay=replay)
    first = of.plan([U])
    of.commit(first, of.completion(A))
    asked = [
        of.plan(messages).request(request_id="r", session_id="s").replay for messages in ([U], [U, A, MORE])
    ]

    assert [each.start if each else None for each in asked] == [0, of.session.tree[0].token_count - 1]
    full = ReplayOutputs(kinds=replay.kinds, layers=2, mode=ReplayMode.FULL)
    plan = transcript(replay=full).plan([U])
    assert plan.replay is not None
    assert plan.replay.start is None
    assert transcript().plan([U]).replay is None


@pytest.mark.hazard(11)
def test_a_turn_records_what_it_was_rendered_and_generated_with() -> None:
    of = created({"temperature": 0.5})
    turn = of.turn([U], A, tools=[WEATHER], template_kwargs={"enable_thinking": False}, options={"seed": 1})

    assert turn.arguments.options == {"temperature": 0.5, "seed": 1}
    assert turn.arguments.tools == (WEATHER,)
    assert turn.arguments.template_kwargs["enable_thinking"] is False
