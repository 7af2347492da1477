"""The examples in the documentation run as they are written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.conftest import ScriptedEngine, running, serve_family
from titocli.session.history import HistoryPolicy
from titocli.session.samples.ownership import SERVER_OWNED
from titocli.session.samples.pickers import PICKERS
from titocli.wire.sample_format_names import SampleFormat
from titocli.wire.sample_safetensors import TENSOR_FIELDS

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (0, ["completed (17,) 5 1.0", "torch.float64 (5,)"]),
        (1, ["no_records"]),
    ],
)
def test_every_example_of_the_client_runs(number: int, printed: list[str]) -> None:
    code = blocks("client.md")[number]
    assert "http://127.0.0.1:30080" in code
    with running(serve_family(ScriptedEngine(), "qwen3", HistoryPolicy.TREE)) as url:
        done = subprocess.run(
            [sys.executable, "-c", code.replace("http://127.0.0.1:30080", url)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    assert done.returncode == 0, done.stderr
    lines = [re.sub(r"\(\d+,\) 5 1\.0", "(17,) 5 1.0", line) for line in done.stdout.splitlines()]
    assert lines == printed


def test_the_picker_of_the_page_about_samples_is_one() -> None:
    space: dict[str, object] = {}
    exec(blocks("samples.md")[0], space)  # noqa: S102 - our own page

    from tests.samples.numbered import Numbered
    from titocli.session.samples.hooks import SampleHooks

    numbered = Numbered()
    numbered.turn([1], [10])
    numbered.turn([1, 10, 2], [20, 21], parent=0)
    numbered.turn([1, 10, 3], [30], parent=0)
    pick = space["pick"]
    assert callable(pick)
    assert [sample.leaf for sample in numbered.collect(hooks=SampleHooks(picker=pick)).samples] == [1]


def test_the_page_about_samples_names_all_there_is() -> None:
    page = (DOCS / "samples.md").read_text()
    names = [*PICKERS, *SERVER_OWNED, *SampleFormat, *(name for name, *_ in TENSOR_FIELDS)]

    assert [name for name in names if name not in page] == []
