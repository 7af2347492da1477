"""The real SGLang on CPU with a tiny random Qwen3, once a test session."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.assets import qwen3_tokenizer, unavailable
from tests.engine.environment import CPU_ENV, EnvironmentUnavailable, engine_environment
from titocli.families.registry import get_family
from titocli.launch.command import LaunchOptions, sglang_command
from titocli.launch.process import claim_port, local_url, require_sglang, start_engine

_TEMPLATE = Path(__file__).parents[2] / "templates" / "qwen3.jinja"
_MAKE_MODEL = Path(__file__).parent / "make_tiny_qwen3.py"
_READY_SECONDS = 300.0

#: Without --sleep-on-idle an idle server keeps a core busy.
CPU_FLAGS = (
    *("--device", "cpu", "--attention-backend", "torch_native", "--disable-overlap-schedule"),
    *("--skip-server-warmup", "--max-total-tokens", "131072", "--sleep-on-idle", "--random-seed", "1"),
    "--enable-cache-report",
)


@pytest.fixture(scope="session")
def engine_python() -> Path:
    """A Python that has SGLang and no titocli."""
    try:
        return engine_environment()
    except EnvironmentUnavailable as error:
        unavailable(str(error))


@pytest.fixture(scope="session")
def tiny_qwen3_model_dir(engine_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder: random weights, the vocabulary of Qwen3."""
    out = tmp_path_factory.mktemp("models") / "tiny-qwen3"
    command = [str(engine_python), str(_MAKE_MODEL), str(out), str(qwen3_tokenizer()), str(_TEMPLATE)]
    made = subprocess.run(command, env=os.environ | CPU_ENV, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[-2000:]
    return out


@pytest.fixture(scope="session")
def sglang_url(
    engine_python: Path, tiny_qwen3_model_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The URL of a running server, started as ``titocli launch-sglang`` starts one."""
    port = claim_port("127.0.0.1", 0)
    options = LaunchOptions(
        model=str(tiny_qwen3_model_dir),
        family=get_family("qwen3"),
        port=port,
        python=str(engine_python),
        context_length=32_768,
        mem_fraction_static=0.1,
        extra=CPU_FLAGS,
        env=CPU_ENV,
    )
    require_sglang(options.python, options.env)
    log_path = tmp_path_factory.mktemp("sglang") / "sglang.log"
    with start_engine(
        sglang_command(options), url=local_url(options.host, port), log_path=log_path
    ) as engine:
        engine.wait_until_ready(_READY_SECONDS)
        yield engine.url
