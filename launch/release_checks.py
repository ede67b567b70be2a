"""Checks of releases on neighbouring tables: does each one keep what its accounting rests on?

A rehearsal has every release of a part twice, on two tables that differ in one record. Then three
things can be checked that the accountant takes on trust: the sensitivity, the users or the part of
the records that a release names, and the epsilon of a mechanism that another author wrote.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ..privacy.conversion import epsilon_at
from ..privacy.exact_value import Inspectable
from ..privacy.loss import Loss
from ..privacy.mechanism import AnyMechanism, loss_of
from ..privacy.taping import ReleasePair
from ..runs.failure import public_kind
from ..runs.instance import is_built_in
from .own_mechanisms import (
    MAX_ANSWERS,
    answers_alike,
    bound_epsilon,
    draw_pair,
    draws_from_its_stream,
    has_low_bits,
)
from .release_scope import ChangedRelease, scope_violation_of

__all__ = ["ReleaseFindings", "check_releases"]

DRAWING_SECONDS: Final = 0.3
"""Time for the answers of one mechanism on one pair of tables."""
MANY_SECONDS: Final = 1.0
"""The same, on the most telling pair."""
INSPECTED_ANSWERS: Final = 100
"""Number of answers whose precision is looked at."""
MAX_BOUNDED: Final = 4
"""Pairs on which the epsilon of one class is bounded, before the most telling one is once more."""
COMPARING_SECONDS: Final = 1.0
"""Time in which the releases of one class are looked through for pairs with different answers."""

TESTED_DELTA: Final = 1e-5
"""Delta at which the rho of another author's mechanism is tested."""
NOT_CHECKED: Final = (
    "not all that is stated of its releases was checked, as a mechanism's code ends in {}"
)
OTHER_STREAM: Final = (
    "the noise of {} is not from the stream that {}.draw is given, so nothing shows that it is "
    "secret, and fresh in each release"
)


class TellingPair(NamedTuple):
    """A release of another author's mechanism on two tables, and what its answers show."""

    closeness: float
    """The bound on its epsilon, less what it states."""
    pair: ReleasePair
    name: str


@dataclass
class ReleaseFindings:
    """What the checks of all parties' releases found."""

    remarks: dict[str, None] = field(default_factory=dict)
    bounded: dict[type, int] = field(default_factory=dict)
    """For each class of another author, on how many pairs its epsilon was bounded."""
    comparing: dict[type, float] = field(default_factory=dict)
    """For each of these, the seconds in which its releases were looked through."""
    telling: dict[type, TellingPair] = field(default_factory=dict)
    """For each of these, the pair whose bound came closest to what it states."""


class ReleaseChange(NamedTuple):
    """By how much one record changes a release, and by how much it may."""

    change: float
    sensitivity: float


def check_releases(
    findings: ReleaseFindings, pairs_of_tables: Sequence[Sequence[ReleasePair]], *, by_label: bool
) -> list[str]:
    """Check one party's releases and return what is false of them.

    Args:
        findings: what was found so far; remarks are added.
        pairs_of_tables: for each pair of neighbouring tables, all releases.
        by_label: whether neighbours differ in a label alone. The tables differ in whole records
            then, so sensitivities cannot be checked.
    """
    if by_label and any(pairs_of_tables):
        findings.remarks[
            "sensitivities were not checked, as neighbouring tables differ in a label alone"
        ] = None
    false: dict[str, None] = {}
    largest: dict[str, ReleaseChange] = {}
    for pairs in pairs_of_tables:
        checks = [_weak_mechanisms(pairs, findings)]
        if not by_label:
            checks += [_note_changes(pairs, findings, largest), _false_scopes(pairs)]
        for check in checks:
            try:
                false |= dict.fromkeys(check)
            except Exception as error:  # noqa: BLE001 - an author's mechanism may raise any
                findings.remarks[NOT_CHECKED.format(public_kind(error))] = None
    return [
        *false,
        *(
            f"one record changes its {name} by {change:g}, "
            f"and the stated sensitivity is {sensitivity:g}"
            for name, (change, sensitivity) in largest.items()
            if change > sensitivity * (1 + 1e-9)
        ),
    ]


def _note_changes(
    pairs: Sequence[ReleasePair], findings: ReleaseFindings, largest: dict[str, ReleaseChange]
) -> Iterator[str]:
    """Note how much one record changes each release at most; yield what cannot be compared."""
    for number, pair in enumerate(pairs):
        name = _name(number, pair)
        if not isinstance(pair.first, Inspectable) or not isinstance(pair.second, Inspectable):
            findings.remarks[
                f"the sensitivity of {name} was not checked: {type(pair.first).__name__} has no "
                "method exact_value (sottovoce.privacy.exact_value)"
            ] = None
            continue
        try:
            change = pair.first.exact_value().change(pair.second.exact_value())
        except ValueError:
            yield f"the shape of its {name} depends on its records"
            continue
        if name not in largest or largest[name].change < change:
            largest[name] = ReleaseChange(change, pair.first.sensitivity)


def _false_scopes(pairs: Sequence[ReleasePair]) -> Iterator[str]:
    """Find releases that name other users, or another part of the records, than they are about."""
    violation = scope_violation_of(_changed(pairs))
    if violation is not None:
        yield violation


def _changed(pairs: Sequence[ReleasePair]) -> list[ChangedRelease]:
    """List the releases whose exact values differ; those that cannot be compared are left out."""
    return [
        ChangedRelease(pair.first.name, pair.users, pair.part)
        for pair in pairs
        if isinstance(pair.first, Inspectable)
        and isinstance(pair.second, Inspectable)
        and pair.first.exact_value() != pair.second.exact_value()
    ]


def _weak_mechanisms(pairs: Sequence[ReleasePair], findings: ReleaseFindings) -> Iterator[str]:
    """Find mechanisms of another author that lose more than they state, one of each class.

    Only pairs whose answers differ show anything. The first of these are bounded with few answers,
    and the most telling one then with many.
    """
    for number, pair in enumerate(pairs):
        kind = type(pair.first)
        if is_built_in(kind) or findings.bounded.get(kind, 0) >= MAX_BOUNDED:
            continue
        name = _name(number, pair)
        if kind not in findings.comparing:
            findings.comparing[kind] = 0.0
            if not draws_from_its_stream(pair.first):
                findings.remarks[OTHER_STREAM.format(name, kind.__name__)] = None
        started = time.perf_counter()
        shows_nothing = findings.comparing[kind] < COMPARING_SECONDS and answers_alike(pair)
        findings.comparing[kind] += time.perf_counter() - started
        if shows_nothing:
            continue
        findings.bounded[kind] = findings.bounded.get(kind, 0) + 1
        yield from _excess(pair, findings, name=name)
        if findings.bounded[kind] == MAX_BOUNDED and kind in findings.telling:
            _, telling, of_it = findings.telling[kind]
            yield from _excess(telling, findings, name=of_it, has_many=True)


def _excess(
    pair: ReleasePair, findings: ReleaseFindings, *, name: str, has_many: bool = False
) -> Iterator[str]:
    """Bound the epsilon of a release from many answers; say if it is above what is stated."""
    kind = type(pair.first)
    first, second = (
        draw_pair(pair, seconds=MANY_SECONDS, fewest=MAX_ANSWERS)
        if has_many
        else draw_pair(pair, seconds=DRAWING_SECONDS)
    )
    if any(has_low_bits(answer) for answer in first[:INSPECTED_ANSWERS]):
        findings.remarks[
            f"{name} answers with floating-point numbers of full precision, whose lowest bits "
            "may tell exact values apart: use a mechanism of sottovoce, or answer in integers"
        ] = None
    for delta, stated in _stated_epsilons(pair.first):
        bound = bound_epsilon(first, second, delta=delta)
        closeness = bound - stated
        if kind not in findings.telling or findings.telling[kind].closeness < closeness:
            findings.telling[kind] = TellingPair(closeness, pair, name)
        if bound > stated:
            findings.bounded[kind] = MAX_BOUNDED + 1
            yield f"its {name} loses at least epsilon {bound:.3g}, and states {stated:g}"
            return


def _stated_epsilons(mechanism: AnyMechanism[object]) -> Iterator[tuple[float, float]]:
    """List deltas, each with the epsilon that a mechanism states there.

    The epsilon of a rho is tested, too, as the accountant may count the rho alone. It holds at a
    delta, and few answers show only large deltas.
    """
    loss = loss_of(mechanism)
    if mechanism.by_users:
        # The neighbouring tables do not say whose record differs.
        loss = Loss.pure(max(cost.epsilon for cost in mechanism.by_users), delta=loss.delta)
    if loss.epsilon < math.inf:
        yield loss.delta, loss.epsilon
    delta = loss.delta + TESTED_DELTA
    of_rho = epsilon_at(Loss(math.inf, loss.rho, loss.delta, gaussian=loss.gaussian), delta=delta)
    if of_rho < loss.epsilon:
        yield delta, of_rho


def _name(number: int, pair: ReleasePair) -> str:
    return f"release {number} ({pair.first.name})"
