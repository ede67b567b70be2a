"""Releases of other authors' mechanisms on two tables each, of which some are looked at closer."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final, NamedTuple

from ..evaluation.value_pairs import TABLES, value_pairs
from ..privacy.taping import ReleasePair
from ..runs.failure import public_kind
from ..runs.instance import is_built_in

__all__ = [
    "NOT_CHECKED",
    "Candidate",
    "MechanismFindings",
    "candidates_by_class",
    "note_error",
    "with_other_values",
]

NOT_CHECKED: Final = (
    "not all that is stated of its releases was checked, as a mechanism's code ends in {}"
)


@dataclass
class MechanismFindings:
    """What was seen of other authors' mechanisms, over all parties."""

    remarks: dict[str, None] = field(default_factory=dict)
    parties: dict[str, int] = field(default_factory=dict)
    """For each class, by its name, of how many parties releases were looked at."""
    changing: set[type] = field(default_factory=set)
    """Classes of which equal streams do not give equal answers."""
    constants: Collection[str | float] = ()
    """Texts and numbers that the program names."""
    refuted: set[str] = field(default_factory=set)
    """Names of classes that lose more than they state, of which nothing more is asked."""


class Candidate(NamedTuple):
    """A release on two tables, and what its answers showed so far."""

    closeness: float
    """The bound on its epsilon, less what it states."""
    pair: ReleasePair
    name: str
    level: float = 0.0
    """The mean sum of an answer's numbers, on both tables."""


def with_other_values(candidates: Sequence[Candidate], seen: MechanismFindings) -> list[Candidate]:
    """Add releases on exact values that no table had, between the others: time may be short."""
    together = zip_longest(candidates, [*_on_other_values(candidates, seen)])
    return [each for both in together for each in both if each is not None]


def _on_other_values(
    candidates: Sequence[Candidate], seen: MechanismFindings
) -> Iterator[Candidate]:
    """Give the releases of a class on exact values that no table had; each name by itself."""
    by_name: dict[str, list[ReleasePair]] = {}
    for candidate in candidates:
        by_name.setdefault(candidate.name, []).append(candidate.pair)
    for name, pairs in by_name.items():
        try:
            for pair in value_pairs(pairs, seen.constants):
                yield Candidate(-math.inf, pair, name)
        except Exception as error:  # noqa: BLE001 - an author's mechanism may raise any
            seen.remarks[NOT_CHECKED.format(public_kind(error))] = None


def note_error(error: Exception, candidate: Candidate, seen: MechanismFindings) -> None:
    """Note in what an author's code ends, but for values that it need not take."""
    if candidate.pair.tables != TABLES:
        seen.remarks[NOT_CHECKED.format(public_kind(error))] = None


def candidates_by_class(
    pairs_of_tables: Sequence[Sequence[ReleasePair]],
) -> dict[type, list[Candidate]]:
    """List the releases of other authors' mechanisms, class by class."""
    by_class: dict[type, list[Candidate]] = {}
    for pairs in pairs_of_tables:
        for number, pair in enumerate(pairs):
            kind = type(pair.first)
            if not is_built_in(kind):
                name = f"release {number} ({pair.first.name})"
                by_class.setdefault(kind, []).append(Candidate(-math.inf, pair, name))
    return by_class
