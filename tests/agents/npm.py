"""Packages of the npm registry, by name, version and hash."""

from __future__ import annotations

import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.assets.cache import cache_folder, cached
from tests.assets.packages import AssetUnavailable

_TIMEOUT_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class NpmPackage:
    """A package that needs no other package to run."""

    name: str
    version: str
    sha256: str

    def folder(self) -> Path:
        """The unpacked package, fetched first where it is not cached; raises ``AssetUnavailable``."""
        stem = f"{self.name.lstrip('@').replace('/', '-')}-{self.version}"
        archive = cached(f"npm/{stem}.tgz", self.sha256, self._fetch)
        unpacked = cache_folder() / "npm" / stem
        if not (unpacked / "package" / "package.json").is_file():
            with tarfile.open(archive) as tar:
                tar.extractall(unpacked, filter="data")
        return unpacked / "package"

    def _fetch(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            command = ["npm", "pack", f"{self.name}@{self.version}", "--pack-destination", folder]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_SECONDS
                )
            except (FileNotFoundError, subprocess.TimeoutExpired) as error:
                raise AssetUnavailable(f"npm could not fetch {self.name}: {error}") from error
            if done.returncode:
                raise AssetUnavailable(f"npm could not fetch {self.name}: {done.stderr.strip()[-300:]}")
            return next(Path(folder).glob("*.tgz")).read_bytes()


QWEN_CODE = NpmPackage(
    name="@qwen-code/qwen-code",
    version="0.15.10",
    sha256="0e76c961116aa85f7e04b2fa7add09193cd8e68343e0d73c2f7704ed2870c366",
)

__all__ = ["QWEN_CODE", "NpmPackage"]
