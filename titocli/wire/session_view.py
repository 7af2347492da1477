"""A session as JSON: its records and its tree."""

from __future__ import annotations

from titocli.jsonvalue import JsonObject
from titocli.session.generation import Completion
from titocli.session.mismatch import mismatch_entries
from titocli.session.samples.pickers import prompt_digest
from titocli.session.session import Session
from titocli.session.tree import Turn
from titocli.wire.base64_text import base64_text
from titocli.wire.openai_reply import chat_completion


def session_view(session_id: str, session: Session) -> JsonObject:
    """``GET /sessions/{id}``: the records of the head's path and what the session knows of itself.

    The records repeat every prompt, so the answer grows with turns times tokens: a debugging view.
    """
    path = session.tree.path(session.head)
    return {
        "session_id": session_id,
        "records": [_record(session, turn) for turn in path],
        "metadata": session_metadata(session),
    }


def session_metadata(session: Session) -> JsonObject:
    """Stored ids of the head's path, its mismatches, the tree."""
    head = session.head
    return {
        "accumulated_token_ids": session.tree.ids(head).tolist(),
        "tito_session_mismatch": [] if head is None else mismatch_entries(session, head),
        "max_trim_tokens": session.renderer.boundary.max_trim,
        "history": session.policy.value,
        "family": session.renderer.family.name,
        "tree": _tree(session),
    }


def _record(session: Session, turn: Turn) -> JsonObject:
    completion = turn.completion
    return {
        "timestamp": turn.committed_at,
        "request_timestamp": turn.requested_at,
        "method": "POST",
        "path": "/v1/chat/completions",
        "request": {
            "messages": session.tree.messages(turn.id)[:-1],
            "tools": list(turn.arguments.tools) or None,
            "chat_template_kwargs": turn.arguments.template_kwargs,
            "input_ids": session.tree.prompt_ids(turn.id).tolist(),
            **turn.arguments.options,
        },
        "response": {
            **chat_completion(turn),
            "output_ids": completion.ids.tolist(),
            "output_log_probs": completion.log_probs.tolist(),
            "parse_attempts": list(completion.parse_attempts),
            "metadata": {**completion.metadata, **_replay(completion)},
        },
        "status_code": 200,
    }


def _replay(completion: Completion) -> JsonObject:
    """Replay data as the engine spelled it: base64.  A client's reply never holds it."""
    return {kind.value: base64_text(payload.data) for kind, payload in completion.replay.items()}


def _tree(session: Session) -> JsonObject:
    tree = session.tree
    return {
        "nodes": [_node(turn) for turn in tree],
        "leaves": [
            {"node_id": leaf, "path_node_ids": [turn.id for turn in tree.path(leaf)]}
            for leaf in session.leaves()
        ],
    }


def _node(turn: Turn) -> JsonObject:
    return {
        "id": turn.id,
        "parent": turn.parent,
        "seq": turn.id,
        "truncated": turn.truncated,
        "committed_at": turn.committed_at,
        "completion_span": [turn.prompt_length, turn.token_count],
        "num_tokens": turn.token_count,
        "reused_tokens": turn.reused_count,
        "new_tokens": len(turn.prompt_delta),
        "sampled_tokens": len(turn.completion.ids),
        "finish_reason": turn.completion.finish_reason.value,
        "response_id": turn.completion.response_id,
        "prompt_digest": prompt_digest(turn),
    }


__all__ = ["session_metadata", "session_view"]
