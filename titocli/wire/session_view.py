"""A session as JSON: its records, its tree, its samples."""

from __future__ import annotations

from titocli.errors import TitoError
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.session.mismatch import path_mismatches
from titocli.session.samples import Sample, samples
from titocli.session.session import Session
from titocli.session.tree import Turn
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
        "tito_session_mismatch": [] if head is None else mismatch_list(session, head),
        "max_trim_tokens": session.renderer.boundary.max_trim,
        "history": session.policy.value,
        "family": session.renderer.family.name,
        "tree": _tree(session),
    }


def mismatch_list(session: Session, leaf: int) -> JsonValue:
    """The mismatches of a path; one entry of type ``error`` when they cannot be computed."""
    try:
        return [mismatch.as_json() for mismatch in path_mismatches(session, leaf)]
    except TitoError as error:
        return [{"type": "error", "code": error.code, "detail": error.message}]


def samples_view(session_id: str, session: Session) -> JsonObject:
    """``GET /sessions/{id}/samples``: one sample a leaf."""
    made = samples(session)
    return {
        "session_id": session_id,
        "samples": [_sample(session, sample) for sample in made],
        "empty_reason": None if made else "no_records",
    }


def _sample(session: Session, sample: Sample) -> JsonObject:
    return {
        "tokens": sample.tokens.tolist(),
        "response_length": sample.response_length,
        "loss_mask": list(sample.loss_mask),
        "rollout_log_probs": sample.rollout_log_probs.tolist(),
        "status": sample.status.value,
        "metadata": {**sample.metadata, "tito_session_mismatch": mismatch_list(session, sample.leaf)},
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
            "metadata": completion.metadata,
        },
        "status_code": 200,
    }


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
    }


__all__ = ["mismatch_list", "samples_view", "session_metadata", "session_view"]
