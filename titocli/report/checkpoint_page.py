"""What is known of a checkpoint's family, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from titocli.report.visible import escaped


def checkpoint_lines(report: Mapping[str, Any]) -> str:
    """The report of ``titocli families check`` as text."""
    lines = _known(report) if report["known"] else _unknown(report)
    return "".join(f"{line}\n" for line in lines)


def _known(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"{report['checkpoint']}: family {_name(report)}"
    yield f"  why: {report['reason']}"
    if report["same_template"]:
        yield f"  the same template: {', '.join(report['same_template'])}"
    if report["other_variants"]:
        yield f"  it may be another variant: {', '.join(report['other_variants'])}"


def _unknown(report: Mapping[str, Any]) -> Iterator[str]:
    sha256 = report["template_sha256"]
    what = "no chat template" if sha256 is None else f"an unknown chat template (sha256 {sha256})"
    yield f"{report['checkpoint']}: {what}"
    if report["suggested"]:
        yield f"  its config.json suggests: {', '.join(report['suggested'])}"
    if sha256 is not None and not report["nearest"]:
        yield "  it renders like no known family"
    for one in report["nearest"]:
        yield from _near(one)


def _near(one: Mapping[str, Any]) -> Iterator[str]:
    counted = f"{one['differing']} of {one['conversations']} generated conversations render differently"
    yield f"  nearest: {_name(one)}: {counted}"
    first = one["first_difference"]
    if first is not None:
        yield f"    first in conversation {first['conversation']}, at character {first['at']}:"
        yield f"    - {escaped(first['ours'])}"
        yield f"    + {escaped(first['theirs'])}"


def _name(one: Mapping[str, Any]) -> str:
    variant = one["variant"]
    return str(one["family"]) if variant is None else f"{one['family']} (variant {variant})"


__all__ = ["checkpoint_lines"]
