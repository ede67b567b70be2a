"""Checks of releases on neighbouring tables: does each one keep what its accounting rests on?

A rehearsal has every release of a part twice, on two tables that differ in one record. Then three
things can be checked that the accountant takes on trust: the sensitivity, the users or the part of
the records that a release names, and the epsilon of a mechanism that another author wrote.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ..privacy.exact_value import Inspectable
from ..privacy.taping import ReleasePair
from ..report.formats import numbers_text
from ..runs.failure import public_kind
from ..runs.printing import Printing, note_printing
from ..runs.private_place import private_place
from ..runs.time_limit import call_within
from .mechanism_candidates import NOT_CHECKED, MechanismFindings
from .randomizer_checks import false_randomizers, randomizers_in
from .release_scope import ChangedRelease, scope_violation_of
from .stated_epsilons import excesses

__all__ = ["FalseStatement", "ReleaseFindings", "check_privately", "check_releases", "largest_only"]

CHECK_SECONDS: Final = 60.0
"""Longest time of the checks of one party's releases."""

WITHIN_BELIEF: Final = (
    "sensitivities and mechanisms of one's own were not checked, as attributes go with labels "
    "between neighbours (label-within-belief), and no made-up table shows how"
)

DRAWS_MOVE: Final = (
    "{}, was not checked: the part draws from me.randomness, and with a record less all rows after "
    "it may get other draws. A sample by a keyed hash of each record, or one that the mechanism "
    "draws, can be checked"
)


@dataclass
class ReleaseFindings:
    """What the checks of all parties' releases found."""

    mechanisms: MechanismFindings = field(default_factory=MechanismFindings)
    remarks: dict[str, None] = field(default_factory=dict)


class FalseStatement(NamedTuple):
    """Something false that a party's releases state."""

    about: str
    """The release and what it states; of statements about the same the largest is kept."""
    reason: str
    amount: float = 0.0
    """By how much it is false, or 0."""
    release: str = ""
    """The mechanism whose exact value changes too much, if that is it."""


class ReleaseName(NamedTuple):
    """A release of a part, by which releases on several pairs of tables are compared."""

    number: int
    mechanism: str


class ReleaseChange(NamedTuple):
    """By how much one record changes a release, and by how much it may."""

    change: float
    sensitivity: float
    seen: str
    """The tables, in brackets, or nothing."""


def check_releases(
    findings: ReleaseFindings,
    pairs_of_tables: Sequence[Sequence[ReleasePair]],
    *,
    within_belief: bool,
    mechanisms: bool = True,
    draws_move: bool = False,
) -> list[FalseStatement]:
    """Check one party's releases and return what is false of them.

    Args:
        findings: what was found so far; remarks are added.
        pairs_of_tables: for each pair of neighbouring tables, all releases.
        within_belief: whether neighbours differ in a label with which attributes go. The tables
            differ in whole records then, so nothing that is stated can be checked.
        mechanisms: whether mechanisms of other authors are drawn from, to estimate their epsilon.
        draws_move: whether a record less may give other draws to the rows after it. Then nothing
            is shown by a change that is too large.
    """
    if within_belief:
        if any(pairs_of_tables):
            findings.remarks[WITHIN_BELIEF] = None
        return []
    false: dict[str, FalseStatement] = {}
    largest: dict[ReleaseName, ReleaseChange] = {}
    for pairs in pairs_of_tables:
        for check in (_note_changes(pairs, findings, largest), _false_scopes(pairs)):
            try:
                for statement in check:
                    false.setdefault(statement.about, statement)
            except Exception as error:  # noqa: BLE001 - an author's mechanism may raise any
                findings.remarks[NOT_CHECKED.format(public_kind(error))] = None
    if mechanisms:
        excess = excesses(findings.mechanisms, pairs_of_tables)
        of_randomizers = false_randomizers(randomizers_in(pairs_of_tables), findings.remarks)
        for reason in (*excess, *of_randomizers):
            false[reason] = FalseStatement(reason, reason)
    too_sensitive = [*_too_sensitive(largest)]
    if draws_move:
        findings.remarks |= {DRAWS_MOVE.format(each.about): None for each in too_sensitive}
        too_sensitive = []
    return [*false.values(), *too_sensitive]


def _too_sensitive(largest: Mapping[ReleaseName, ReleaseChange]) -> Iterator[FalseStatement]:
    """State what one record changes too much, once for all releases of a mechanism."""
    alike: dict[tuple[str, float], list[tuple[int, ReleaseChange]]] = {}
    for (number, mechanism), change in largest.items():
        if change.change > change.sensitivity * (1 + 1e-9):
            alike.setdefault((mechanism, change.sensitivity), []).append((number, change))
    for (mechanism, sensitivity), releases in alike.items():
        most = max((change for _, change in releases), key=lambda each: each.change)
        numbers = [number for number, _ in releases]
        name = f"release{'s' if len(numbers) > 1 else ''} {numbers_text(numbers)} ({mechanism})"
        yield FalseStatement(
            f"the sensitivity of {mechanism}, {sensitivity:g}",
            f"one record changes its {name} by {'up to ' if len(numbers) > 1 else ''}"
            f"{most.change:g}, and the stated sensitivity is {sensitivity:g}{most.seen}",
            most.change,
            mechanism,
        )


def check_privately(
    findings: ReleaseFindings,
    pairs_of_tables: Sequence[Sequence[ReleasePair]],
    *,
    within_belief: bool,
    mechanisms: bool = True,
    draws_move: bool = False,
) -> list[FalseStatement]:
    """Check one party's releases in a private place, and for no longer than a minute.

    An author's mechanism may print, write, or draw for ever.
    """
    false: list[FalseStatement] = []

    def check() -> None:
        false.extend(
            check_releases(
                findings,
                pairs_of_tables,
                within_belief=within_belief,
                mechanisms=mechanisms,
                draws_move=draws_move,
            )
        )

    with (
        private_place(variables=dict(os.environ)) as place,
        place.used(),
        note_printing(Printing(shown=False)),
    ):
        ended_in = call_within(check, seconds=CHECK_SECONDS)
    if ended_in is not None:
        findings.remarks[NOT_CHECKED.format(public_kind(ended_in))] = None
    return false


def largest_only(of_parties: Mapping[int, Sequence[FalseStatement]]) -> list[tuple[int, str]]:
    """Give each party's reasons, in the words of the party where the same is largest.

    >>> small = FalseStatement("a sum", "it changes by 2", 2.0)
    >>> large = FalseStatement("a sum", "it changes by 3", 3.0)
    >>> largest_only({1: [small], 2: [large]})
    [(1, 'it changes by 3'), (2, 'it changes by 3')]
    """
    largest: dict[str, FalseStatement] = {}
    for statements in of_parties.values():
        for statement in statements:
            kept = largest.setdefault(statement.about, statement)
            if statement.amount > kept.amount:
                largest[statement.about] = statement
    return [
        (party, largest[statement.about].reason)
        for party, statements in of_parties.items()
        for statement in statements
    ]


def _note_changes(
    pairs: Sequence[ReleasePair],
    findings: ReleaseFindings,
    largest: dict[ReleaseName, ReleaseChange],
) -> Iterator[FalseStatement]:
    """Note how much one record changes each release at most; yield what cannot be compared."""
    for number, pair in enumerate(pairs):
        name, key = _name(number, pair), ReleaseName(number, pair.first.name)
        if not isinstance(pair.first, Inspectable) or not isinstance(pair.second, Inspectable):
            findings.remarks[
                f"the sensitivity of {name} was not checked: {type(pair.first).__name__} has no "
                "method exact_value (sottovoce.privacy.exact_value)"
            ] = None
            continue
        try:
            change = pair.first.exact_value().change(pair.second.exact_value())
        except ValueError:
            text = f"the shape of its {name} depends on its records"
            yield FalseStatement(text, text + pair.seen)
            continue
        if key not in largest or largest[key].change < change:
            largest[key] = ReleaseChange(change, pair.first.sensitivity, pair.seen)


def _false_scopes(pairs: Sequence[ReleasePair]) -> Iterator[FalseStatement]:
    """Find releases that name other users, or another part of the records, than they are about."""
    violation = scope_violation_of(_changed(pairs))
    if violation is not None:
        yield FalseStatement(violation.partition(", found ")[0], violation + pairs[0].seen)


def _changed(pairs: Sequence[ReleasePair]) -> list[ChangedRelease]:
    """List the releases whose exact values differ; those that cannot be compared are left out."""
    return [
        ChangedRelease(pair.first.name, pair.users, pair.part)
        for pair in pairs
        if isinstance(pair.first, Inspectable)
        and isinstance(pair.second, Inspectable)
        and pair.first.exact_value() != pair.second.exact_value()
    ]


def _name(number: int, pair: ReleasePair) -> str:
    return f"release {number} ({pair.first.name})"
