"""The page of a proposed schema: each attribute with its histogram, and what was left out.

It shows the table itself, so it is for the holder of the table alone, and says so first.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ...parties.proposal import Proposal
from ..formats import quantity
from ..schema_picture import share_text
from .document import banner, document, navigation, paragraph, section, table

__all__ = ["schema_page"]

TITLES = {"attributes": "Attributes", "left-out": "What is left out"}


def schema_page(proposals: Sequence[Proposal], *, source: str) -> str:
    """Write the page."""
    kept = [item for item in proposals if item.rule is not None]
    sections = [
        section(
            TITLES["attributes"],
            *(part for item in kept for part in _parts(item)),
            name="attributes",
        ),
        section(
            TITLES["left-out"],
            table(
                ["column", "reason"],
                [(item.name, item.reason) for item in proposals if item.rule is None],
            ),
            name="left-out",
        ),
    ]
    body = "\n".join(
        [
            f"<h1>A schema for {escape(source)}</h1>",
            banner(
                "This page is not private",
                ["It shows exact counts of the table. Keep it where the table is kept."],
            ),
            paragraph(
                f"{quantity(len(kept), 'attribute')} of {quantity(len(proposals), 'column')}. "
                "Replace ranges and categories by those that are publicly known.",
                kind="lead",
            ),
            navigation(TITLES, sections),
            *sections,
        ]
    )
    return document(f"A schema for {source}", body)


def _parts(item: Proposal) -> list[str]:
    """Write an attribute: what it is, its histogram, and the remarks."""
    if item.rule is None:
        return []
    rows = sum(item.counts)
    lines = [
        (label, count, share_text(count, rows))
        for label, count in zip(item.rule.labels, item.counts, strict=True)
    ]
    return [
        table(["label", "rows", "share"], lines, caption=f"{item.name}: {item.reason}", bar=1),
        *(paragraph(remark, kind="quiet") for remark in item.remarks),
    ]
