"""Proposing a schema: a rule for each column of a table, or the reason to leave it out.

Like every schema that is taken from the data, a proposal is not private: it is for whoever has the
table, who replaces by public knowledge what the table alone says. The schema has no counts. The
pictures do, so they are shown and not written into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import msgspec
import numpy as np

from .bins import Bins
from .categories import Categories
from .clock_columns import propose_hours
from .columns import has_no_name
from .date_columns import propose_dates
from .inferred_doubts import MIN_IDENTIFIED
from .number_columns import propose_numbers
from .profile import ColumnProfile
from .proposal import Proposal, missing_of, name_identifies
from .rules import ABSENT, INVALID, MISSING_TEXTS
from .schema import Schema
from .text_columns import MAX_CATEGORIES, propose_texts

__all__ = ["label_counts", "propose", "schema_of", "with_equal_columns"]

MIN_REPEATED: Final = 1.5
"""Rows of each value, on average, from which on persons have several rows."""


def propose(profile: ColumnProfile) -> Proposal:
    """Propose a rule for a column."""
    texts = {text: count for text, count in profile.counts.items() if text not in MISSING_TEXTS}
    if not texts:
        return Proposal(name=profile.name, rule=None, reason="it has no values")
    if has_no_name(profile.name):
        reason = "it has no name, so it may be an index that pandas wrote"
        return Proposal(name=profile.name, rule=None, reason=reason)
    if profile.declared in {"categorical", "ordered"} and len(profile.listed) <= MAX_CATEGORIES:
        proposal: Proposal | None = _of_listed(profile)
    elif profile.declared == "dates":
        proposal = propose_dates(profile, texts)
    elif profile.declared in {None, "texts"}:
        proposal = (
            propose_numbers(profile, texts)
            or propose_dates(profile, texts)
            or propose_hours(profile, texts)
        )
        if proposal is not None and profile.declared == "texts":
            proposal = _as_texts(proposal, texts)
    else:
        proposal = None
    proposal = proposal or propose_texts(profile, texts)
    if proposal.rule is None:
        return replace(proposal, reason=f"{proposal.reason}{_of_repeated(profile)}")
    return replace(proposal, counts=label_counts(proposal.rule, profile))


def with_equal_columns(
    proposals: Sequence[Proposal], profiles: Sequence[ColumnProfile]
) -> list[Proposal]:
    """Remark on each column that has the values of an earlier one in every row."""
    names: dict[tuple[int, int, int], str] = {}
    remarked = []
    for proposal, profile in zip(proposals, profiles, strict=True):
        key = (profile.rows_digest, profile.different, profile.nulls)
        remarks = proposal.remarks
        if proposal.rule is not None and profile.different > 1:
            first = names.setdefault(key, proposal.name)
            if first != proposal.name:
                remarks = (*remarks, f"the same value as {first} in every row: drop one of them")
        remarked.append(replace(proposal, remarks=remarks))
    return remarked


def schema_of(proposals: Iterable[Proposal]) -> Schema:
    """Make a schema of the columns that are not left out."""
    return Schema({item.name: item.rule for item in proposals if item.rule is not None})


def label_counts(rule: Categories | Bins, profile: ColumnProfile) -> tuple[int, ...]:
    """Count the rows of each label of a rule. A value that the rule refuses has none."""
    counts = profile.counts
    codes = rule.codes_of([*counts])
    if rule.fallback is not None:
        codes = np.where(codes == INVALID, rule.fallback, codes)
    sums = np.zeros(len(rule.labels), np.int64)
    for code, count in zip(codes.tolist(), counts.values(), strict=True):
        if code >= 0:
            sums[code] += count
        elif code == ABSENT and rule.has_category:
            sums[-1] += count
    if rule.has_category:
        sums[-1] += profile.nulls
    return tuple(sums.tolist())


def _of_repeated(profile: ColumnProfile) -> str:
    """Say that epsilon is of a row where a column identifies persons who have several rows each.

    Only the name of a column tells an identifier that repeats itself from an ordinary category.
    """
    rows = profile.rows - profile.nulls
    if not name_identifies(profile.name) or profile.different < MIN_IDENTIFIED:
        return ""
    if rows < MIN_REPEATED * profile.different:
        return ""
    return f"; it has about {rows / profile.different:.0f} rows a value, and epsilon is of a row"


def _as_texts(proposal: Proposal, texts: Mapping[str, int]) -> Proposal:
    """Take a type at its word that says that a few numbers are texts."""
    rule = proposal.rule
    if not isinstance(rule, Categories) or not texts.keys() <= {*rule.labels}:
        return proposal
    return replace(proposal, rule=msgspec.structs.replace(rule, kind="texts"))


def _of_listed(profile: ColumnProfile) -> Proposal:
    """Take a categorical type at its word."""
    is_ordered = profile.declared == "ordered"
    rule = Categories(
        categories=tuple(text for text in profile.listed if text not in MISSING_TEXTS),
        kind="ordered" if is_ordered else "categorical",
        **missing_of(profile, ()),
    )
    return Proposal(
        name=profile.name,
        rule=rule,
        reason="ordered categories" if is_ordered else "categories, as its type says",
    )
