"""A proposed schema as a person sees it: a small picture of each attribute, and what was left out.

The pictures show the table itself. They are for its holder, and no file of a run has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ..parties.bins import Bins
from ..parties.categories import Categories
from ..parties.checking import Misfit
from ..parties.proposal import Proposal
from .formats import quantity
from .plain_text import plain_text

__all__ = ["check_text", "picture", "proposal_text", "share_text"]

BLOCKS: Final = "▁▂▃▄▅▆▇█"
EMPTY: Final = " "
SHOWN_LABELS: Final = 4
MAX_LABEL: Final = 24


def picture(counts: Sequence[int]) -> str:
    """Draw a histogram as a line of blocks; the highest is the fullest, and a blank is empty.

    >>> picture([0, 1, 4, 8])
    ' ▁▄█'
    """
    highest = max(counts, default=0) or 1
    return "".join(
        BLOCKS[-(-count * len(BLOCKS) // highest) - 1] if count else EMPTY for count in counts
    )


def share_text(count: int, rows: int) -> str:
    """Write a share in percent, with a digit more where it is small.

    >>> share_text(1, 2), share_text(1, 300), share_text(1, 10**6)
    ('50 %', '0.33 %', 'under 0.01 %')
    """
    percent = 100 * count / max(rows, 1)
    if 0 < percent < 0.01:
        return "under 0.01 %"
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.2g} %"


def proposal_text(proposals: Sequence[Proposal]) -> str:
    """Write a picture and the remarks of each attribute, and then what is left out."""
    kept = [item for item in proposals if item.rule is not None]
    left_out = [item for item in proposals if item.rule is None]
    width = min(max((len(item.name) for item in kept), default=0), MAX_LABEL)
    lines = []
    for item in kept:
        lines.append(f"{item.name:<{width}}  {item.reason}")
        lines.append(f"{'':<{width}}  {_drawn(item)}")
        lines += [f"{'':<{width}}  - {remark}" for remark in item.remarks]
    if left_out:
        lines += ["", f"left out: {quantity(len(left_out), 'column')}"]
        width = min(max(len(item.name) for item in left_out), MAX_LABEL)
        lines += [f"  {item.name:<{width}}  {item.reason}" for item in left_out]
    return "".join(f"{plain_text(line.rstrip())}\n" for line in lines)


def _drawn(item: Proposal) -> str:
    """Draw the labels of a rule, and say what is missing."""
    rule = item.rule
    if rule is None:
        return ""
    rows = sum(item.counts)
    has_missing = rule.has_category
    counts = item.counts[:-1] if has_missing else item.counts
    drawn = _bins(rule, counts) if isinstance(rule, Bins) else _categories(rule, counts, rows=rows)
    return f"{drawn}   missing {share_text(item.counts[-1], rows)}" if has_missing else drawn


def _bins(rule: Bins, counts: Sequence[int]) -> str:
    if rule.by is not None:
        return f"{picture(counts)}  {rule.bin_labels[0]} to {rule.bin_labels[-1]}"
    return f"{picture(counts)}  {rule.edges[0]:g} to {rule.edges[-1]:g}"


def _categories(rule: Categories, counts: Sequence[int], *, rows: int) -> str:
    ordered = sorted(zip(counts, rule.listed, strict=True), key=lambda pair: -pair[0])
    if rule.kind in {"integers", "numbers", "hours"}:
        return f"{picture(counts)}  {rule.categories[0]} to {rule.categories[-1]}"
    texts = [
        f"{_short(label)} {share_text(count, rows)}" for count, label in ordered[:SHOWN_LABELS]
    ]
    more = len(ordered) - SHOWN_LABELS
    rest = f", {quantity(more, 'other')}" if more > 0 else ""
    return f"{picture([count for count, _ in ordered])}  {', '.join(texts)}{rest}"


def _short(label: str) -> str:
    return label if len(label) <= MAX_LABEL else f"{label[: MAX_LABEL - 3]}..."


def check_text(misfits: Iterable[Misfit], *, attributes: int) -> str:
    """Say what of a table does not fit a schema, and what to do."""
    lines = []
    refused = 0
    for misfit in misfits:
        refused += misfit.is_refused
        mark = "does not fit" if misfit.is_refused else "fits by rule"
        lines += [
            f"{misfit.column}: {mark}, {quantity(misfit.rows, 'row')}",
            f"    {misfit.text}",
            f"    {misfit.way_out}",
        ]
    if not refused:
        lines.append(f"the table fits all {quantity(attributes, 'attribute')} of the schema")
    return "".join(f"{plain_text(line)}\n" for line in lines)
