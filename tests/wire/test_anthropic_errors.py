"""Errors in Anthropic's shape."""

from __future__ import annotations

import pytest

from titocli.errors import EngineRefused, SessionNotFound, TruncatedPath
from titocli.wire.anthropic_errors import error_body, error_status, error_type, plain_error_body


@pytest.mark.case("c12")
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (405, "invalid_request_error"),
        (409, "invalid_request_error"),
        (410, "not_found_error"),
        (413, "request_too_large"),
        (422, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (502, "api_error"),
        (503, "overloaded_error"),
        (504, "timeout_error"),
    ],
)
def test_every_status_has_anthropics_type(status: int, kind: str) -> None:
    assert error_type(status) == kind
    assert plain_error_body(status, "said", request_id="r") == {
        "type": "error",
        "error": {"type": kind, "message": "said"},
        "request_id": "r",
    }


def test_a_server_that_cannot_take_a_request_now_is_overloaded_in_anthropics_number() -> None:
    assert error_status(503) == 529
    assert [error_status(status) for status in (400, 500, 502, 504)] == [400, 500, 502, 504]


def test_an_error_has_titoclis_code_and_hint_beside_anthropics_type() -> None:
    error = TruncatedPath("cut", hint="branch", details={"turn": 1})

    assert error_body(error, request_id="r") == {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "cut (branch)",
            "code": "truncated_path",
            "hint": "branch",
            "details": {"turn": 1},
        },
        "request_id": "r",
    }


def test_an_error_without_a_hint_is_its_sentence() -> None:
    told = error_body(SessionNotFound("gone"), request_id="r")["error"]

    assert isinstance(told, dict)
    assert (told["message"], told["type"]) == ("gone", "not_found_error")


def test_an_engines_refusal_is_not_the_clients_fault() -> None:
    told = error_body(EngineRefused("no"), request_id="r")["error"]

    assert isinstance(told, dict)
    assert told["type"] == "api_error"
