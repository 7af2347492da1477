"""Options are read or refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine_embedded.requests import a_request
from titocli.engine.embedded.sampling import Sampling, read_sampling
from titocli.errors import UnsupportedRequest


def _read(session_id: str = "session", engine_seed: int = 0, **options: Any) -> Sampling:
    return read_sampling(a_request(options=options, session_id=session_id), engine_seed=engine_seed)


def test_missing_and_null_options_have_defaults() -> None:
    plain = _read()
    assert plain == _read(
        temperature=None, top_p=None, max_tokens=None, seed=None, stop=None, ignore_eos=None
    )
    assert (plain.temperature, plain.top_p, plain.max_tokens) == (1.0, 1.0, 1024)
    assert (plain.stop_token_ids, plain.ignore_eos) == (frozenset(), False)


def test_options_are_taken() -> None:
    read = _read(temperature=0, top_p=0.5, max_tokens=7, seed=-3, stop_token_ids=[5, 6], ignore_eos=True)
    assert read == Sampling(
        temperature=0.0,
        top_p=0.5,
        max_tokens=7,
        seed=2**63 - 3,
        stop_token_ids=frozenset((5, 6)),
        ignore_eos=True,
    )
    assert _read(max_tokens=7, max_completion_tokens=9).max_tokens == 9


def test_the_derived_seed_depends_on_engine_session_and_prompt_length() -> None:
    longer = read_sampling(a_request(prompt="a" * 99), engine_seed=0).seed
    assert _read().seed == _read().seed
    assert len({_read().seed, _read(session_id="other").seed, _read(engine_seed=1).seed, longer}) == 4


def test_values_that_change_nothing_are_accepted() -> None:
    neutral = _read(stop=[], n=1, presence_penalty=0.0, top_k=-1, response_format={"type": "text"}, user="me")
    assert neutral == _read()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stop", "END"),
        ("stop", ["END"]),
        ("n", 2),
        ("presence_penalty", 0.5),
        ("logit_bias", {"5": 1}),
        ("regex", "a+"),
        ("response_format", {"type": "json_object"}),
        ("temperature", -0.1),
        ("temperature", "hot"),
        ("temperature", float("nan")),
        ("temperature", True),
        ("top_p", 0),
        ("top_p", 1.1),
        ("max_tokens", 0),
        ("max_tokens", 1.5),
        ("max_completion_tokens", True),
        ("seed", "x"),
        ("stop_token_ids", "ab"),
        ("stop_token_ids", ["a"]),
        ("ignore_eos", 1),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(UnsupportedRequest) as refused:
        _read(**{name: value})
    assert refused.value.details == {"param": name}
    assert name in (refused.value.hint or "")
