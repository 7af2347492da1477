"""``default``: any checkpoint by its own template; best effort, nothing is promised."""

from titocli.families.family import Family

DEFAULT = Family(
    name="default",
    content_parts=("text", "image", "image_url", "video", "audio"),
    summary="any checkpoint, by its own chat template; best effort, no parsers, no boundary rule",
)
