"""Mistakes in templates, one edit each, and what is known of those that no check sees."""

from __future__ import annotations

from tests.verify.mutations import chatml_json, chatml_xml, glm, others
from tests.verify.mutations.mutation import Known, Mutation

MUTATIONS: tuple[Mutation, ...] = (
    *chatml_json.MUTATIONS,
    *chatml_xml.MUTATIONS,
    *glm.MUTATIONS,
    *others.MUTATIONS,
)

#: Mutations that no check sees, by id, each with the reason why that is right.
NOT_FOUND: dict[str, str] = {
    "glm47 think only recent": "under clear_thinking=false, which the family fixes, every turn counts as recent",
    "minimax_m25 think only recent": "as for glm47: with clear_thinking=false no turn lies before the last question",
    "glm47 parts ignored": "titocli joins text parts before it renders, so the template never sees a list of them",
    "glm53 thinking cleared": "the family gives clear_thinking=false itself; only its absence means another thing",
}

__all__ = ["MUTATIONS", "NOT_FOUND", "Known", "Mutation"]
