"""The wheel carries what it needs: built, installed into a clean environment, and used there."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_carries_templates_and_types_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {f"titocli/templates/{path.name}" for path in (ROOT / "templates").glob("*.jinja")}

    assert shipped
    assert shipped <= names
    assert "titocli/py.typed" in names
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"titocli"}


def test_the_installed_wheel_renders_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    site = next((environment / "lib").glob("python*")) / "site-packages"
    zipfile.ZipFile(wheel).extractall(site)
    # The dependencies are borrowed from this environment, appended after the wheel's own package.
    borrowed = sysconfig.get_paths()["purelib"]
    (site / "dependencies.pth").write_text(f"import sys; sys.path.append({borrowed!r})\n")

    for family in ("qwen3", "qwen4exp"):
        code = (
            "import titocli, sys; from titocli.__main__ import main; "
            f"assert {str(site)!r} in titocli.__file__; sys.argv[1:] = ['render', '--family', {family!r}]; main()"
        )
        command = [str(environment / "bin" / "python"), "-c", code]
        rendered = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

        assert rendered.returncode == 0, rendered.stderr
        assert "<|im_start|>assistant" in rendered.stdout
