"""Checking a table against a schema: what does not fit, in how many rows, and what to do.

It reads the whole table, while a run stops at the first value that does not fit. What it finds are
values and exact counts, for the holder of the table alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .bins import Bins
from .categories import Categories
from .date_texts import day_text
from .profile import ColumnProfile
from .proposal import listed
from .rules import ABSENT, INVALID
from .schema import Schema
from .text_columns import normal_form

__all__ = ["Misfit", "check_profiles"]


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """What of a column does not fit."""

    column: str
    rows: int
    text: str
    """What was found."""
    way_out: str
    is_refused: bool = True
    """Whether a run would end; otherwise the values count as the schema says, such as in a rest."""


def check_profiles(schema: Schema, profiles: Sequence[ColumnProfile]) -> list[Misfit]:
    """Find all that does not fit a schema."""
    by_name = {profile.name: profile for profile in profiles}
    misfits: list[Misfit] = []
    for name, rule in schema.attributes.items():
        if name not in by_name:
            misfits.append(
                Misfit(
                    column=name,
                    rows=max((profile.rows for profile in profiles), default=0),
                    text="there is no such column",
                    way_out="leave it out of the schema, or rename a column",
                )
            )
        else:
            misfits += _check(rule, by_name[name])
    return misfits


def _check(rule: Categories | Bins, profile: ColumnProfile) -> Iterator[Misfit]:
    counts = profile.counts
    texts = [*counts]
    codes = rule.codes_of(texts)
    wrong = [text for text, code in zip(texts, codes.tolist(), strict=True) if code == INVALID]
    absent = profile.nulls + sum(
        counts[text] for text, code in zip(texts, codes.tolist(), strict=True) if code == ABSENT
    )
    if rule.missing == "refuse" and absent:
        yield Misfit(
            column=profile.name,
            rows=absent,
            text="missing values",
            way_out='write "missing": "category", or "drop"',
        )
    elif rule.missing == "drop" and absent:
        yield Misfit(
            column=profile.name,
            rows=absent,
            text="missing values",
            way_out="their rows are left out",
            is_refused=False,
        )
    if wrong:
        parts = _of_bins(rule, wrong) if isinstance(rule, Bins) else _of_categories(rule, wrong)
        for values, text, way_out in parts:
            yield Misfit(
                column=profile.name,
                rows=sum(counts[value] for value in values),
                text=f"{text}: {listed(values, counts)}",
                way_out=way_out if rule.fallback is None else _fallback(rule),
                is_refused=rule.fallback is None,
            )


def _fallback(rule: Categories | Bins) -> str:
    """Say as what values count that no label has."""
    return f"they count as {rule.labels[rule.fallback or 0]}"


def _of_bins(rule: Bins, wrong: Sequence[str]) -> Iterator[tuple[list[str], str, str]]:
    """Tell numbers outside the bins from texts that are no numbers."""
    numbers = {text: rule.read(text) for text in wrong}
    outside = [text for text in wrong if np.isfinite(numbers[text])]
    strange = [text for text in wrong if not np.isfinite(numbers[text])]
    what = "date" if rule.kind == "dates" else "number"
    if outside:
        values = [numbers[text] for text in outside]
        low, high = min(*values, rule.edges[0] + 0.5), max(*values, rule.edges[-1])
        if rule.kind == "dates":
            way_out = f"widen the range to {day_text(low)} and {day_text(high)}"
        else:
            low = min(*values, rule.edges[0])
            way_out = f'widen the bins to {low:g} and {high:g}, or write "clip": true'
        yield outside, f"{what}s outside the bins", f"{way_out}; a code goes into missing_as"
    if strange:
        hint = "formats" if what == "date" else "decimal, thousands and unit"
        yield (
            strange,
            f"texts that are no {what}s",
            (
                f'add them to missing_as, or write "unreadable": "missing"; {hint} say how '
                f"{what}s are written"
            ),
        )


def _of_categories(rule: Categories, wrong: Sequence[str]) -> Iterator[tuple[list[str], str, str]]:
    """Tell other spellings from other texts."""
    labels = {normal_form(label): label for label in rule.categories}
    spelt = [text for text in wrong if normal_form(text) in labels]
    others = [text for text in wrong if normal_form(text) not in labels]
    if spelt:
        text = spelt[0]
        yield (
            spelt,
            "other spellings",
            (f'write "spellings": {{"{text}": "{labels[normal_form(text)]}", ...}}'),
        )
    if others:
        yield (
            others,
            "no categories",
            ('add them to categories, map them by spellings, or write "other": "(other)"'),
        )
