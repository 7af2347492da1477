"""What ``titocli register-family`` does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from titocli.cli.family_choice import checkpoint_template_if_any
from titocli.cli.known_families import known_families
from titocli.cli.kwarg_option import parse_kwargs
from titocli.cli.register_family_checkpoint import read_files, read_template, read_tokenizer
from titocli.config.paths import new_project_families, project_families, user_families
from titocli.errors import ConflictingOption, UnknownName
from titocli.families.chat_template import compile_template
from titocli.families.family import Family, Role
from titocli.families.template_source import TemplateSource, shipped_template, template_from_file
from titocli.jsonvalue import JsonObject
from titocli.register.family_file import (
    family_file,
    family_names,
    refuse_name,
    remove_family,
    write_family,
)
from titocli.register.family_table import family_table
from titocli.register.registration import Registration, from_base, from_probes
from titocli.register.scope import Scope
from titocli.register.subject import Subject
from titocli.register.wishes import Wishes
from titocli.report.family_registration import registration_lines
from titocli.report.result import Envelope, Notice, Result

_NOT_PROVED_EXIT_CODE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of one run."""

    name: str
    checkpoint: str | None
    template: Path | None
    tokenizer: str | None
    base: str | None
    fixed_kwargs: tuple[str, ...]
    pinned_kwargs: tuple[str, ...]
    append_roles: tuple[Role, ...]
    reasoning_parser: str | None
    tool_call_parser: str | None
    examples: int
    seed: int
    scope: Scope
    dry_run: bool
    force: bool
    json: bool

    @property
    def folder(self) -> Path:
        """Where the family is written."""
        return user_families() if self.scope is Scope.USER else new_project_families(Path.cwd())

    @property
    def wishes(self) -> Wishes:
        """The parts of the contract that the options decide."""
        return Wishes(
            fixed_kwargs=parse_kwargs(self.fixed_kwargs),
            pinned_kwargs=self.pinned_kwargs,
            append_roles=tuple(dict.fromkeys(self.append_roles)),
            reasoning_parser=self.reasoning_parser,
            tool_call_parser=self.tool_call_parser,
        )


def removed(request: Request) -> Result:
    """Remove a registered family; raises ``UnknownName`` where there is none of that name in the scope."""
    refuse_name(request.name)
    folder = user_families() if request.scope is Scope.USER else project_families(Path.cwd())
    names = () if folder is None else family_names(folder)
    if folder is None or family_file(folder, request.name) is None:
        raise UnknownName.among(f"family of the {request.scope.value} scope", request.name, names)
    files = [str(path) for path in remove_family(folder, request.name)]
    if request.json:
        return Result(body=Envelope({"name": request.name, "scope": request.scope.value, "removed": files}))
    return Result(body="".join(f"removed {path}\n" for path in files).encode())


def registered(request: Request) -> Result:
    """Infer, prove and write; exit code 1 where the proof fails and nobody forces it."""
    refuse_name(request.name)
    _refuse_overwriting(request)
    registration = _registration(request)
    path = None
    if not request.dry_run and (registration.holds or request.force):
        path = write_family(request.folder, request.name, registration.document, registration.template)
    return _result(request, registration, path)


def _refuse_overwriting(request: Request) -> None:
    existing = family_file(request.folder, request.name)
    if existing is not None and not (request.force or request.dry_run):
        raise ConflictingOption(
            f"family {request.name!r} is registered already, in {existing}",
            hint="--force writes it anew, --remove removes it",
            details={"name": request.name, "file": str(existing)},
        )


def _registration(request: Request) -> Registration:
    tokenizer = read_tokenizer(request.checkpoint, request.tokenizer)
    where = request.checkpoint or request.tokenizer
    if request.base is not None:
        base = known_families().get(request.base)
        return from_base(
            base,
            _base_template(request, base),
            tokenizer,
            read_files(where, tokenizer, _own_template(request)),
            request.name,
            request.wishes,
            examples=request.examples,
            seed=request.seed,
        )
    source = read_template(request.checkpoint or request.tokenizer, request.template)
    subject = Subject(
        template=compile_template(source), tokenizer=tokenizer, files=read_files(where, tokenizer, source)
    )
    return from_probes(subject, request.name, request.wishes, examples=request.examples, seed=request.seed)


def _base_template(request: Request, base: Family) -> TemplateSource | None:
    if request.template is not None:
        return template_from_file(request.template)
    if base.encoder is not None:
        return None
    if base.template is None:
        return read_template(request.checkpoint or request.tokenizer, None)
    return shipped_template(base.template)


def _own_template(request: Request) -> TemplateSource | None:
    """The checkpoint's own template, by which it is known again."""
    where = request.checkpoint or request.tokenizer
    return None if where is None else checkpoint_template_if_any(where)


def _result(request: Request, registration: Registration, path: Path | None) -> Result:
    data = _data(request, registration, path)
    passed = registration.holds or path is not None
    warnings = tuple(Notice(code="unknown_parser", message=doubt) for doubt in registration.doubts)
    if path is not None and not registration.holds:
        warnings += (Notice(code="not_proved", message=f"{path} was written though it was not proved"),)
    lines = registration_lines(data)
    body = "".join(f"{line}\n" for line in lines).encode()
    notes: tuple[str, ...] = ()
    if request.dry_run:
        body, notes = registration.document.encode(), lines
    return Result(
        body=Envelope(data) if request.json else body,
        exit_code=0 if passed else _NOT_PROVED_EXIT_CODE,
        warnings=warnings,
        notes=notes,
    )


def _data(request: Request, registration: Registration, path: Path | None) -> JsonObject:
    blame, proof = registration.blame, registration.proof
    return {
        "name": request.name,
        "scope": request.scope.value,
        "written": path is not None,
        "dry_run": request.dry_run,
        "path": str(request.folder / f"{request.name}.toml"),
        "family": family_table(registration.family, None),
        "template": None if registration.template is None else registration.template.name,
        "template_sha256": None if registration.template is None else registration.template.sha256,
        "findings": [finding.as_json() for finding in registration.findings],
        "refusal": None if blame is None else blame.as_json(),
        "verification": None if proof is None else proof.as_json(),
        "document": registration.document,
    }


__all__ = ["Request", "registered", "removed"]
