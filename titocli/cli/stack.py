"""What ``serve-session`` brings up: tokenizer, engine, server; and takes down again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from titocli.config.paths import engine_log
from titocli.engine.embedded import EmbeddedEngine
from titocli.engine.protocol import Engine
from titocli.engine.replay import ReplayEngine, read_replay
from titocli.engine.sglang import SglangEngine
from titocli.errors import ConflictingOption, MissingTokenizer
from titocli.families.call_ids import CallIds
from titocli.families.control_policy import ControlTokens
from titocli.families.family import Family
from titocli.families.renderer import family_renderer
from titocli.families.template_source import TemplateSource, template_from_checkpoint
from titocli.families.tiny import tiny_tokenizer
from titocli.jsonvalue import JsonObject, JsonValue
from titocli.launch.command import LaunchOptions, sglang_command
from titocli.launch.engine import running_engine
from titocli.launch.process import claim_port
from titocli.server.auth import ApiKey
from titocli.server.registry import SessionRegistry
from titocli.server.sample_settings import SampleSettings
from titocli.server.serve import base_url, bind, ready_document, serve, write_atomically
from titocli.server.state import SessionServer
from titocli.session.generation import ReplayKind, ReplayOutputs
from titocli.session.history import HistoryPolicy
from titocli.session.limits import SessionLimits
from titocli.session.matching import Matcher
from titocli.tokens.loading import checkpoint_folder, load_tokenizer
from titocli.tokens.tokenizer import Tokenizer

_EXPERTS_FLAG = "--enable-return-routed-experts"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Which engine: one of ``kind``, ``url`` and ``launch``, or none of them for the embedded one."""

    kind: str | None
    url: str | None
    model: str | None
    replay: Path | None
    timeout_seconds: float
    launch: LaunchOptions | None
    wait_seconds: float
    log_path: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRules:
    """What holds for every session of a server, and how its samples are made."""

    policy: HistoryPolicy
    launch_kwargs: Mapping[str, JsonValue]
    control_tokens: ControlTokens
    call_ids: CallIds
    matcher: Matcher
    limits: SessionLimits
    samples: SampleSettings
    replay: ReplayOutputs | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationOptions:
    """Limits of the server and its key; a ``session_ttl_seconds`` of None keeps idle sessions for ever."""

    session_ttl_seconds: float | None
    max_sessions: int
    max_body_bytes: int
    api_key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A session server and all that it stands on."""

    family: Family
    tokenizer: str | None
    engine: EngineOptions
    rules: SessionRules
    host: str
    port: int
    ready_file: Path | None
    operation: OperationOptions

    def run(self, announce: Callable[[JsonObject], None], note: Callable[[str], None]) -> None:
        """Bring everything up, serve until a signal, take everything down.

        ``announce`` gets the ready document once requests are accepted, ``note`` sentences on the way.
        """
        refuse_contradictions(self.engine)
        tokenizer = self._tokenizer(note)
        source = None
        if self.family.template is None and self.family.encoder is None:
            source = self._checkpoint_template()
        renderer = family_renderer(self.family, tokenizer, source, call_ids=self.rules.call_ids)
        with bind(self.host, self.port) as listener, self._engine(tokenizer, note) as (engine, watch):
            server = SessionServer(
                renderer=renderer,
                engine=engine,
                policy=self.rules.policy,
                launch_kwargs=self.rules.launch_kwargs,
                control_tokens=self.rules.control_tokens,
                matcher=self.rules.matcher,
                limits=self.rules.limits,
                samples=self.rules.samples,
                replay=self.rules.replay,
                registry=SessionRegistry(
                    max_sessions=self.operation.max_sessions,
                    ttl_seconds=self.operation.session_ttl_seconds,
                ),
                api_key=None if self.operation.api_key is None else ApiKey(self.operation.api_key),
                max_body_bytes=self.operation.max_body_bytes,
            )
            ready = ready_document(base_url(listener))

            def on_ready() -> None:
                if self.ready_file is not None:
                    write_atomically(self.ready_file, ready)
                announce(ready)

            serve(server, listener, on_ready=on_ready, watch=watch)

    def _checkpoint_template(self) -> TemplateSource:
        where = self.engine.model or self.tokenizer
        if where is None:
            raise MissingTokenizer(
                f"family {self.family.name!r} takes the checkpoint's own template",
                hint="give --model or --tokenizer: a checkpoint directory, or a Hugging Face id",
            )
        return template_from_checkpoint(checkpoint_folder(where))

    def _tokenizer(self, note: Callable[[str], None]) -> Tokenizer:
        where = self.tokenizer or _local_model(self.engine.model)
        if where is not None:
            return load_tokenizer(where)
        if self.engine.url or self.engine.launch:
            raise MissingTokenizer(
                "this engine needs the tokenizer of its model",
                hint="give --tokenizer: a tokenizer.json, its directory, or a Hugging Face id",
            )
        note(f"no tokenizer given: using bytes and the control tokens of {self.family.name}")
        return tiny_tokenizer(self.family)

    @contextmanager
    def _engine(
        self, tokenizer: Tokenizer, note: Callable[[str], None]
    ) -> Iterator[tuple[Engine, Callable[[], None]]]:
        """The engine, and a check that raises once it has died."""
        options = self.engine
        if options.launch is None:
            yield self._existing_engine(tokenizer, note), _nothing_to_watch
            return
        launch = replace(
            recording(options.launch, self.rules.replay), port=claim_port(options.launch.host, 0)
        )
        log_path = options.log_path or engine_log(launch.port)
        note(f"starting SGLang on port {launch.port} (log: {log_path})")
        with running_engine(launch, log_path=log_path, wait_seconds=options.wait_seconds) as process:
            yield self._sglang(process.url, tokenizer), process.require_running

    def _existing_engine(self, tokenizer: Tokenizer, note: Callable[[str], None]) -> Engine:
        options = self.engine
        if options.url is not None:
            return self._sglang(options.url, tokenizer)
        if options.kind == "replay":
            return ReplayEngine(self.family, tokenizer, read_replay(options.replay or Path()))
        note("using the embedded engine: a small model on CPU")
        model_dir = None if options.model is None else Path(options.model)
        return EmbeddedEngine(self.family, tokenizer, model_dir=model_dir)

    def _sglang(self, url: str, tokenizer: Tokenizer) -> Engine:
        return SglangEngine(url, timeout_seconds=self.engine.timeout_seconds, vocab_size=tokenizer.vocab_size)


def recording(launch: LaunchOptions, replay: ReplayOutputs | None) -> LaunchOptions:
    """``launch`` with the flag without which SGLang 0.5.23 keeps no routed experts."""
    if replay is None or ReplayKind.ROUTED_EXPERTS not in replay.kinds or _EXPERTS_FLAG in launch.extra:
        return launch
    return replace(launch, extra=(*launch.extra, _EXPERTS_FLAG))


def refuse_contradictions(options: EngineOptions) -> None:
    """Raise ``ConflictingOption`` unless the options name one engine and what it needs."""
    named = {"--engine": options.kind, "--engine-url": options.url, "--gpus": options.launch}
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise ConflictingOption(f"{' and '.join(given)} exclude each other", hint="name one engine")
    if options.launch is not None and options.launch.gpus is None:
        raise ConflictingOption(
            "arguments for SGLang need --gpus N", hint="or start it yourself: --engine-url"
        )
    if options.launch is not None and not options.model:
        raise ConflictingOption("--gpus needs --model", hint="a model directory, or a Hugging Face id")
    if options.launch is not None:
        sglang_command(options.launch)  # raises for flags that do not fit
    if (options.kind == "replay") != (options.replay is not None):
        raise ConflictingOption("--engine replay and --replay FILE go together", hint="give both")


def _local_model(model: str | None) -> str | None:
    return model if model is not None and Path(model).is_dir() else None


def _nothing_to_watch() -> None:
    """An engine that titocli did not start is watched by whoever did."""


__all__ = [
    "EngineOptions",
    "OperationOptions",
    "SessionRules",
    "Stack",
    "recording",
    "refuse_contradictions",
]
