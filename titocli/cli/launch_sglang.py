"""``titocli launch-sglang``: the engine with a family's flags."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from titocli.cli import engine_options as options
from titocli.report.result import Body, Envelope, Result
from titocli.report.settings import Channel, OutputSettings

if TYPE_CHECKING:
    from titocli.jsonvalue import JsonObject
    from titocli.launch.command import LaunchOptions

EXAMPLES = """
titocli launch-sglang Qwen/Qwen3-8B --family qwen3 --dry-run  # the command, to read or to copy
titocli launch-sglang Qwen/Qwen3.8-27B --family qwen38small --gpus 4 --dry-run --json
titocli launch-sglang DIR --family qwen3 --python ~/sglang/bin/python -- --enable-metrics  # starts it
"""


def launch_sglang(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="Model directory or Hugging Face id.", show_default=False)],
    sglang_args: options.SglangArgs = None,
    *,
    family: options.FamilyName,
    variant: options.Variant = None,
    gpus: Annotated[int | None, typer.Option("--gpus", min=1, help="GPUs: tp times dp.")] = None,
    tp: options.Tp = None,
    dp: options.Dp = None,
    host: options.Host = "127.0.0.1",
    port: options.Port = 30000,
    python: options.Python = None,
    kv_cache_dtype: options.KvCacheDtype = None,
    mamba_full_memory_ratio: options.MambaRatio = None,
    context_length: options.ContextLength = None,
    mem_fraction_static: options.MemFraction = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the command and do nothing.")] = False,
    wait: options.Wait = options.READY_SECONDS,
    log_file: options.LogFile = None,
    json: options.Json = False,
) -> Result:
    """Start SGLang with the flags that a family needs, and stay until it ends."""
    from titocli.cli.family_choice import AUTO, choose_family, say_choice
    from titocli.launch.command import LaunchOptions, sglang_command, shell_quoted
    from titocli.launch.process import claim_port

    # A model by its hub id is the engine's to download: it is only asked for where it has to decide.
    choice = choose_family(family, variant, model if family == AUTO or Path(model).is_dir() else None)
    launch = LaunchOptions(
        model=model,
        family=choice.family,
        port=claim_port(host, port),
        host=host,
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
    if not dry_run:
        say_choice(choice, context.obj)
        return _stay(context.obj, launch, log_file, wait)
    command = sglang_command(launch)
    if json:
        body: Body = Envelope({"argv": list(command.argv), "env": dict(command.env)})
    else:
        body = f"{shell_quoted(command.argv)}\n".encode()
    return Result(body=body, notes=choice.notes, warnings=choice.warnings)


def _stay(settings: OutputSettings, launch: LaunchOptions, log_file: Path | None, wait: float) -> Result:
    from titocli.config.paths import engine_log
    from titocli.launch.engine import running_engine
    from titocli.report.delivery import deliver

    log_path = log_file or engine_log(launch.port)
    with running_engine(launch, log_path=log_path, wait_seconds=wait) as engine:
        ready: JsonObject = {"url": engine.url, "pid": engine.pid, "log_file": str(log_path)}
        said = f"engine ready at {engine.url} (log: {log_path})\n".encode()
        deliver(Result(body=Envelope(ready) if settings.channel is Channel.PROGRAM else said), settings)
        engine.wait()
    return Result()


__all__ = ["EXAMPLES", "launch_sglang"]
