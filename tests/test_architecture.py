"""The import rules of ARCHITECTURE.md, read from the source."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "titocli"

#: What each package may import of titocli, itself aside.
ALLOWED = {
    "errors": {"jsonvalue"},
    "jsonvalue": set(),
    "tokens": {"errors", "jsonvalue"},
    "families": {"tokens", "errors", "jsonvalue"},
    "session": {"families", "tokens", "errors", "jsonvalue"},
    "wire": {"session", "families", "tokens", "errors", "jsonvalue"},
    "engine": {"session", "families", "tokens", "errors", "jsonvalue"},
    "verify": {"families", "tokens", "errors", "jsonvalue"},
    "register": {"verify", "families", "tokens", "errors", "jsonvalue"},
    "launch": {"families", "errors", "jsonvalue"},
    "server": {
        "engine",
        "wire",
        "session",
        "families",
        "tokens",
        "errors",
        "jsonvalue",
        "config",
        "__init__",
    },
    "client": {"wire", "session", "errors", "jsonvalue"},
    "report": {"verify", "families", "tokens", "errors", "jsonvalue", "config", "__init__"},
    "config": {"errors", "jsonvalue"},
    "cli": {
        "client",
        "server",
        "launch",
        "register",
        "verify",
        "engine",
        "wire",
        "session",
        "families",
        "tokens",
        "report",
        "config",
        "errors",
        "jsonvalue",
        "__init__",
    },
    "__main__": {"cli", "report", "config", "errors", "jsonvalue", "__init__"},
    "__init__": set(),
}
IO_MODULES = {
    "asyncio",
    "httpx",
    "starlette",
    "uvicorn",
    "time",
    "os",
    "pathlib",
    "socket",
    "subprocess",
    "io",
}
HEAVY_MODULES = {"torch", "transformers", "sglang"}


def package_of(path: Path) -> str:
    part = path.relative_to(ROOT).parts[0]
    return part.removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def target(name: str) -> str | None:
    """The package of titocli that an import names, or None for imports from elsewhere."""
    parts = name.split(".")
    if parts[0] != "titocli":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in ALLOWED else "__init__"


SOURCES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    package = package_of(path)
    named = {target(name) for name in imports(ast.parse(path.read_text()))} - {None, package}

    assert named <= ALLOWED[package]


@pytest.mark.parametrize("package", ["session", "wire"])
def test_pure_packages_do_no_io(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        named = {name.split(".")[0] for name in imports(ast.parse(path.read_text()))}
        assert not named & IO_MODULES, path


def test_heavy_modules_are_imported_by_the_embedded_engine_only() -> None:
    for path in SOURCES:
        if "embedded" not in path.parts:
            named = {name.split(".")[0] for name in imports(ast.parse(path.read_text()))}
            assert not named & HEAVY_MODULES, path


@pytest.mark.parametrize(
    "module", ["titocli.engine.embedded", "titocli.engine.replay", "titocli.server.serve"]
)
def test_importing_an_engine_or_the_server_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*(sys.modules.keys() & {HEAVY_MODULES!r}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.split() == []


def test_typer_and_rich_stay_where_people_look() -> None:
    for path in SOURCES:
        named = {name.split(".")[0] for name in imports(ast.parse(path.read_text()))}
        assert "click" not in named, path
        if package_of(path) not in {"cli", "report"}:
            assert not named & {"typer", "rich"}, path


def test_modules_stay_small() -> None:
    # The error tree is one table, drawn and read as a whole.
    sources = [path for path in SOURCES if path.name != "errors.py"]
    sizes = {path: len(path.read_text().splitlines()) for path in sources}

    assert {path.name: size for path, size in sizes.items() if size > 400} == {}
