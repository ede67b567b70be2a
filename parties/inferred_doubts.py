"""What of an inferred schema `sottovoce schema` would make better.

A run without a schema takes the values as they come (`inference`), because parties who have tables
of their own must agree without showing them. `sottovoce schema` sees one whole table and weighs its
rows (`proposing`). So the labels that were inferred are read once more in that way. Nothing but the
schema is read, which is published with the run, so a doubt reveals nothing further.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from .bins import Bins
from .categories import Categories
from .clock_columns import propose_hours
from .date_columns import propose_dates
from .number_bins import choose_period
from .number_columns import propose_numbers
from .number_texts import number
from .profile import NUMBER_CODES, ColumnProfile
from .proposal import EXAMPLES, FEW, Proposal, name_identifies
from .raw import TextColumn
from .rules import MISSING_TEXTS
from .schema import Schema
from .text_columns import MAX_CATEGORIES, propose_texts

__all__ = ["MIN_IDENTIFIED", "header_doubt", "identifying_columns", "inferred_doubts"]

MIN_IDENTIFIED: Final = 100
"""Labels, or whole numbers in the range, from which on a column may identify persons."""
ROWS_OF_LABEL: Final = 10
"""Rows that each label is taken to have: so many that none counts as rare or as an identifier."""


def inferred_doubts(schema: Schema) -> list[str]:
    """Name the columns of an inferred schema that `sottovoce schema` would read otherwise."""
    doubts = []
    for name, rule in schema.attributes.items():
        doubt = _of_bins(name, rule) if isinstance(rule, Bins) else _of_categories(name, rule)
        if doubt:
            doubts.append(f"{name} {doubt}")
    return doubts


def header_doubt(schema: Schema) -> str:
    """Say that the header may be a line of data, or be there twice; empty if it looks right."""
    repeated = [
        name
        for name, rule in schema.attributes.items()
        if isinstance(rule, Categories) and name in rule.labels
    ]
    if len(repeated) > 1 or (repeated and len(schema.attributes) == 1):
        return f"{_some(repeated)} have their own names as values: does a line repeat the header?"
    numbers = [name for name in schema.attributes if np.isfinite(number(name))]
    if numbers:
        are = "are numbers" if len(numbers) > 1 else "is a number"
        return f"names of columns ({_some(numbers)}) {are}: has the file a line with names?"
    return ""


def identifying_columns(schema: Schema) -> list[str]:
    """Name columns that may identify persons, by their names and the size of their rules."""
    return [
        name
        for name, rule in schema.attributes.items()
        if name_identifies(name)
        and (rule.edges[-1] - rule.edges[0] if isinstance(rule, Bins) else len(rule.categories))
        >= MIN_IDENTIFIED
    ]


def _of_bins(name: str, rule: Bins) -> str:
    low, high = rule.edges[0], rule.edges[-1]
    if rule.kind == "dates":
        return f"would have bins by {choose_period(low, high)}"
    if name_identifies(name):
        return "would be left out, as its name says that it identifies"
    codes = [f"{end:g}" for end in (low, high) if end in NUMBER_CODES and not -9 < end < 999]
    return f"has {' and '.join(codes)}, which may stand for missing values" if codes else ""


def _of_categories(name: str, rule: Categories) -> str:
    if rule.kind in {"categorical", "ordered"}:  # the type of the column was taken at its word
        return ""
    profile = _profile(name, rule)
    texts = dict.fromkeys(rule.categories, ROWS_OF_LABEL)
    proposal = (
        propose_numbers(profile, texts)
        or propose_dates(profile, texts)
        or propose_hours(profile, texts)
    )
    if proposal is None and len(texts) > MAX_CATEGORIES and not name_identifies(name):
        return f"has {len(texts):,} categories; those of few rows would be together"
    return _difference(proposal or propose_texts(profile, texts), rule)


def _difference(proposal: Proposal, rule: Categories) -> str:
    """Say in a few words what the proposal does better."""
    better = proposal.rule
    if better is None:
        return f"would be left out: {proposal.reason}" if len(rule.categories) > FEW else ""
    if isinstance(better, Bins):
        size = len(better.edges) - 1
        return f"has {len(rule.categories):,} categories, and would have {size} bins"
    if better.kind == "hours":
        return f"has {len(rule.categories):,} times, and would have the 24 hours of a day"
    if codes := [text for text in better.missing_as if text not in MISSING_TEXTS]:
        return f"has {_quoted(codes)}, which would be missing"
    if better.spellings:
        pairs = [" and ".join(map(repr, sorted(pair))) for pair in better.spellings.items()]
        return f"has spellings that would be one category: {_some(pairs)}"
    return ""


def _profile(name: str, rule: Categories) -> ColumnProfile:
    """Make the profile of a column in which every label has as many rows."""
    profile = ColumnProfile(name)
    places = np.repeat(np.arange(len(rule.categories), dtype=np.int64), ROWS_OF_LABEL)
    profile.add(TextColumn(places, rule.categories))
    return profile


def _quoted(texts: list[str]) -> str:
    return _some([repr(text) for text in texts])


def _some(texts: list[str]) -> str:
    more = f" and {len(texts) - EXAMPLES:,} more" if len(texts) > EXAMPLES else ""
    return ", ".join(texts[:EXAMPLES]) + more
