"""``default``: any checkpoint by its own template; best effort, nothing is promised."""

from titocli.families.family import Family

DEFAULT = Family(
    name="default",
    summary="any checkpoint, by its own chat template; best effort, no parsers, no boundary rule",
)
