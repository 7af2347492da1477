"""``titocli serve-session``: the session server, with the engine behind it."""

from __future__ import annotations

import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from titocli.cli import engine_options as options
from titocli.cli import sample_options as sampled
from titocli.cli import session_options as operation
from titocli.cli.control_tokens_option import ControlTokensOption
from titocli.cli.tool_call_ids_option import ToolCallIdsOption
from titocli.families.call_ids import CallIds
from titocli.families.control_policy import ControlTokens
from titocli.report.result import Envelope, Result
from titocli.report.settings import Channel, OutputSettings

if TYPE_CHECKING:
    from titocli.jsonvalue import JsonObject

EXAMPLES = """
titocli serve-session --family qwen3  # with the embedded CPU engine: nothing else is needed
titocli serve-session --family qwen3 --engine-url http://127.0.0.1:30000 --tokenizer DIR
titocli serve-session --family qwen4exp --gpus 2 --model DIR  # brings up SGLang too
titocli serve-session --family qwen3 --gpus 1 --model DIR -- --device cpu  # arguments for SGLang after --
titocli serve-session --family qwen3 --engine replay --replay script.jsonl  # scripted completions
"""
_ENGINE, _SESSIONS, _OUTPUT = "Engine", "Sessions", "Output"


class EngineKind(StrEnum):
    """An engine that runs in the server's own process."""

    EMBEDDED = "embedded"
    REPLAY = "replay"


class History(StrEnum):
    """The history policies by their names on the command line."""

    LINEAR = "linear"
    TREE = "tree"


def serve_session(
    context: typer.Context,
    sglang_args: options.SglangArgs = None,
    *,
    family: options.FamilyName,
    variant: options.Variant = None,
    tokenizer: Annotated[
        str | None, typer.Option("--tokenizer", help="tokenizer.json, its directory, or a Hugging Face id.")
    ] = None,
    engine_url: Annotated[
        str | None, typer.Option("--engine-url", help="An SGLang server or router.", rich_help_panel=_ENGINE)
    ] = None,
    gpus: Annotated[
        int | None, typer.Option("--gpus", min=1, help="Launch SGLang on N GPUs.", rich_help_panel=_ENGINE)
    ] = None,
    engine: Annotated[
        EngineKind | None,
        typer.Option("--engine", help="An engine without a server.", rich_help_panel=_ENGINE),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", help="Model directory (or Hugging Face id, with --gpus).", rich_help_panel=_ENGINE
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", help="JSONL of completions for --engine replay.", rich_help_panel=_ENGINE),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option("--timeout", min=0.001, help="Seconds for one generation.", rich_help_panel=_ENGINE),
    ] = 600.0,
    host: options.Host = "127.0.0.1",
    port: options.Port = 30080,
    history: Annotated[
        History,
        typer.Option("--history", help="One line, or a tree with branches.", rich_help_panel=_SESSIONS),
    ] = History.TREE,
    kwarg: Annotated[
        list[str] | None,
        typer.Option(
            "--kwarg", metavar="K=V", help="Template kwarg for all sessions.", rich_help_panel=_SESSIONS
        ),
    ] = None,
    reasoning_effort: Annotated[
        str | None,
        typer.Option("--reasoning-effort", help="Where the family has it.", rich_help_panel=_SESSIONS),
    ] = None,
    control_tokens: ControlTokensOption = ControlTokens.TEXT,
    tool_call_ids: ToolCallIdsOption = CallIds.VERBATIM,
    message_matcher: operation.MessageMatcher = operation.DEFAULT_MATCHER,
    max_turns: operation.MaxTurns = 1024,
    max_session_tokens: operation.MaxSessionTokens = None,
    max_context_tokens: operation.MaxContextTokens = None,
    max_seq_len: sampled.MaxSeqLen = None,
    sample_picker: sampled.SamplePicker = sampled.DEFAULT_PICKER,
    sample_postprocessor: sampled.SamplePostprocessor = sampled.DEFAULT_POSTPROCESSOR,
    replay_output: sampled.ReplayOutput = None,
    replay_rows: sampled.ReplayRows = sampled.ReplayRowsName.ADDITIONAL,
    replay_layers: sampled.ReplayLayers = None,
    session_ttl: operation.SessionTtl = "2h",
    max_sessions: operation.MaxSessions = 4096,
    max_body_mib: operation.MaxBodyMib = 256,
    api_key_env: operation.ApiKeyEnv = None,
    python: options.Python = None,
    tp: options.Tp = None,
    dp: options.Dp = None,
    kv_cache_dtype: options.KvCacheDtype = None,
    mamba_full_memory_ratio: options.MambaRatio = None,
    context_length: options.ContextLength = None,
    mem_fraction_static: options.MemFraction = None,
    wait: options.Wait = options.READY_SECONDS,
    log_file: options.LogFile = None,
    ready_file: Annotated[
        Path | None,
        typer.Option("--ready-file", help="Written when requests are accepted.", rich_help_panel=_OUTPUT),
    ] = None,
    json: options.Json = False,
) -> Result:
    """Serve sessions that own their tokens, in front of an engine."""
    from titocli.cli.family_choice import choose_family, say_choice
    from titocli.cli.kwarg_option import parse_kwargs
    from titocli.cli.stack import EngineOptions, OperationOptions, SessionRules, Stack
    from titocli.families.kwargs import refuse_conflicts, with_reasoning_effort
    from titocli.launch.command import LaunchOptions
    from titocli.session.arguments import refuse_rewriting
    from titocli.session.history import HistoryPolicy
    from titocli.session.limits import SessionLimits
    from titocli.session.matching import find_matcher

    choice = choose_family(family, variant, model or tokenizer)
    contract = choice.family
    say_choice(choice, context.obj)
    kwargs = with_reasoning_effort(contract, parse_kwargs(kwarg or ()), reasoning_effort)
    refuse_conflicts(contract, kwargs)
    refuse_rewriting(contract, kwargs)
    launch = LaunchOptions(
        model=model or "",
        family=contract,
        port=0,
        python=python or sys.executable,
        gpus=gpus,
        tp=tp,
        dp=dp,
        kv_cache_dtype=kv_cache_dtype,
        mamba_full_memory_ratio=mamba_full_memory_ratio,
        context_length=context_length,
        mem_fraction_static=mem_fraction_static,
        extra=tuple(sglang_args or ()),
    )
    stack = Stack(
        family=contract,
        tokenizer=tokenizer,
        engine=EngineOptions(
            kind=None if engine is None else engine.value,
            url=engine_url,
            model=model,
            replay=replay,
            timeout_seconds=timeout,
            launch=launch if gpus or sglang_args else None,
            wait_seconds=wait,
            log_path=log_file,
        ),
        rules=SessionRules(
            policy=HistoryPolicy(history.value),
            launch_kwargs=kwargs,
            control_tokens=control_tokens,
            call_ids=tool_call_ids,
            matcher=find_matcher(message_matcher),
            limits=SessionLimits(
                max_turns=max_turns, max_tokens=max_session_tokens, max_context_tokens=max_context_tokens
            ),
            samples=sampled.sample_settings(sample_picker, sample_postprocessor, max_seq_len),
            replay=sampled.replay_outputs(replay_output, replay_rows, replay_layers),
        ),
        host=host,
        port=port,
        ready_file=ready_file,
        operation=OperationOptions(
            session_ttl_seconds=operation.ttl_seconds(session_ttl),
            max_sessions=max_sessions,
            max_body_bytes=max_body_mib * 2**20,
            api_key=operation.api_key_of(api_key_env),
        ),
    )
    stack.run(partial(_announce, settings=context.obj, json=json), partial(_note, settings=context.obj))
    return Result()


def _announce(ready: JsonObject, *, settings: OutputSettings, json: bool) -> None:
    from titocli.report.delivery import deliver

    lines = (
        f"sessions  POST {ready['url']}/sessions",
        f"OpenAI    {ready['openai_base_url']}",
        f"Anthropic {ready['anthropic_base_url']}",
        f"health    {ready['url']}/health",
    )
    said = "".join(f"{line}\n" for line in lines).encode()
    deliver(Result(body=Envelope(ready) if json else said), settings)


def _note(text: str, *, settings: OutputSettings) -> None:
    from titocli.report.delivery import deliver

    if settings.channel is Channel.PERSON:
        deliver(Result(notes=(text,)), settings)


__all__ = ["EXAMPLES", "EngineKind", "History", "serve_session"]
