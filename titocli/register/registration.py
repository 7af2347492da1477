"""Registering a family, all but the writing: infer, apply what is wished, prove, spell the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from titocli.families.family import Checkpoint, Family, Role
from titocli.families.template_source import TemplateSource
from titocli.register.blame import Blame
from titocli.register.family_file import family_document
from titocli.register.findings import Finding
from titocli.register.inference import Inference, infer
from titocli.register.proof import Proof, prove
from titocli.register.subject import CheckpointFiles, Subject
from titocli.register.wishes import Wishes
from titocli.tokens.tokenizer import Tokenizer
from titocli.verify.events import CheckId


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A contract ready to be written.

    ``blame`` says why no kwargs make the template append-only; then there is no ``proof``.  ``doubts`` are
    sentences about what the user should look at.
    """

    family: Family
    template: TemplateSource | None
    findings: tuple[Finding, ...]
    doubts: tuple[str, ...]
    blame: Blame | None
    proof: Proof | None

    @property
    def holds(self) -> bool:
        """Whether the contract was proved."""
        return self.proof is not None and self.proof.holds

    @property
    def document(self) -> str:
        """The text of the family's file, with the evidence at its head."""
        return family_document(self.family, self.template, tuple(self._comments()))

    def _comments(self) -> Iterator[str]:
        yield f"Family {self.family.name}, written by titocli register-family."
        if self.proof is not None and self.proof.holds:
            yield f"Verified: {self.proof.sentence}."
        else:
            yield "NOT verified: it was written with --force."
        yield from (finding.line for finding in self.findings)


def from_probes(subject: Subject, name: str, wishes: Wishes, *, examples: int, seed: int) -> Registration:
    """The contract that the subject's own template suggests."""
    found = infer(subject, name, wishes.fixed_kwargs)
    source = subject.template.source
    family = wishes.applied(_usable(found))
    proof = None
    if found.blame is None:
        proof = prove(
            family,
            source,
            subject.tokenizer,
            examples=examples,
            seed=seed,
            without=() if found.has_tools else (CheckId.TOOL_SHAPES,),
        )
    return Registration(
        family=family,
        template=source,
        findings=found.findings,
        doubts=wishes.doubts(),
        blame=found.blame,
        proof=proof,
    )


def _usable(found: Inference) -> Family:
    """A family that appends something: where no role holds, all of them."""
    family = found.family
    return family if family.append_roles else replace(family, append_roles=tuple(Role))


def from_base(
    base: Family,
    template: TemplateSource | None,
    tokenizer: Tokenizer,
    files: CheckpointFiles,
    name: str,
    wishes: Wishes,
    *,
    examples: int,
    seed: int,
) -> Registration:
    """The contract of another family, for a checkpoint of another name; ``template`` None: its encoder."""
    family = wishes.applied(
        replace(
            base,
            name=name,
            summary=f"as {base.name}, registered from {files.name}",
            variant=None,
            variants={},
            template=None,
            stop_tokens=tuple(dict.fromkeys((*base.stop_tokens, *files.stop_tokens))),
            checkpoints=(Checkpoint(name=files.name, template_sha256=files.template_sha256),),
        )
    )
    proof = prove(family, template, tokenizer, examples=examples, seed=seed)
    return Registration(
        family=family,
        template=template,
        findings=(),
        doubts=wishes.doubts(),
        blame=None,
        proof=proof,
    )


__all__ = ["Registration", "from_base", "from_probes"]
