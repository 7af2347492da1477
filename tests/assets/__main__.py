"""``python -m tests.assets``: fetch and build everything; prints the paths."""

from __future__ import annotations

import sys

from tests.assets import TEMPLATE_NAMES, TOKENIZER_NAMES, AssetUnavailable
from tests.assets.packages import CODE_PACKAGES, fetch_archive
from tests.assets.templates import fetch_template
from tests.assets.tokenizers import fetch_kimi_checkpoint, fetch_tokenizer


def main() -> int:
    try:
        for name in TEMPLATE_NAMES:
            sys.stdout.write(f"{fetch_template(name)}\n")
        for name in TOKENIZER_NAMES:
            sys.stdout.write(f"{fetch_tokenizer(name)}\n")
        sys.stdout.write(f"{fetch_kimi_checkpoint()}\n")
        for requirement in CODE_PACKAGES:
            sys.stdout.write(f"{fetch_archive(requirement)}\n")
    except AssetUnavailable as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
