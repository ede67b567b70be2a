"""Whether another author's mechanism loses more than it states, on the tables that show most.

Most pairs of neighbouring tables show little of a mechanism: noise that is left out for counts of 0
shows only where a count of 0 becomes one of 1. So every pair whose answers differ is looked at with
few answers, those that show most with more, and the best of them with many. Each step draws afresh,
and only the last one is evidence: the choice of its pairs does not depend on its answers.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from ..evaluation.own_mechanisms import (
    Answers,
    bound_along_change,
    bound_epsilon,
    copy_of,
    draw_pair,
    draws_from_its_stream,
    fixed_answers,
    has_low_bits,
    has_low_bits_each,
    largest_distance,
    on_grid,
)
from ..evaluation.value_pairs import TABLES
from ..privacy.conversion import epsilon_at
from ..privacy.loss import Loss
from ..privacy.mechanism import AnyMechanism, loss_of
from ..privacy.taping import ReleasePair
from ..runs.failure import public_kind
from .mechanism_candidates import (
    NOT_CHECKED,
    Candidate,
    MechanismFindings,
    candidates_by_class,
    note_error,
    with_other_values,
)

__all__ = ["excesses"]

SCREENING_SECONDS: Final = 2.0
"""Time in which all pairs of the first party's releases of one class are looked at.

Each further party has half of what the one before has: all run the same code, on other records.
"""
FEW_ANSWERS: Final = 200
"""Answers on each table of every pair."""
FEWEST: Final = 40
"""The same of a mechanism that is slow."""
MORE_ANSWERS: Final = 1_000
LOOKED_AT_AGAIN: Final = 8
"""Pairs that are looked at again, with more answers."""
LOWEST: Final = 2
"""Number of these with the lowest answers, and of those with the highest.

Mechanisms that cut their answers, or draw again beyond a bound, lose most there.
"""
OF_OTHER_VALUES: Final = 4
"""Pairs on exact values that no table had, which are looked at again, too."""
BOUNDED: Final = 2
"""Pairs on which the epsilon of one class is bounded in the end; one of each further party."""
MANY_ANSWERS: Final = 20_000
MANY_SECONDS: Final = 2.0
"""Time for the answers of one pair in the end; each further party has half of it, too."""
CONFIDENCE: Final = 0.9999
"""Confidence of one bound; all bounds of one class together hold with some 99.9 per cent."""
EVEN_CHANCE: Final = 0.5
"""Confidence of what chooses pairs, and proves nothing."""
INSPECTED_ANSWERS: Final = 100
"""Number of answers whose precision is looked at."""
OF_FULL_PRECISION: Final = 0.95
"""Numbers are on no grid if a larger share of the different ones occurs only once."""
TESTED_DELTA: Final = 1e-5
"""Delta at which the rho of another author's mechanism is tested."""

OTHER_STREAM: Final = (
    "equal streams do not give {} equal answers: its noise is not from the stream that {}.draw is "
    "given, or an answer changes the mechanism; so nothing shows that the noise is secret, and "
    "fresh in each release"
)
BY_LOW_BITS: Final = (
    ": the lowest bits of its floating-point answers tell exact values apart, so use a mechanism "
    "of sottovoce, or answer in integers"
)
LOW_BITS: Final = (
    "{} answers with floating-point numbers of full precision, whose lowest bits may tell exact "
    "values apart: use a mechanism of sottovoce, or answer in integers"
)


def excesses(
    seen: MechanismFindings, pairs_of_tables: Sequence[Sequence[ReleasePair]]
) -> Iterator[str]:
    """Say which of a party's releases lose more than their mechanisms state, one of each class.

    Args:
        seen: what was seen so far; classes and remarks are added.
        pairs_of_tables: for each pair of neighbouring tables, all releases.
    """
    for kind, candidates in candidates_by_class(pairs_of_tables).items():
        # In the larger play the author's modules, and so their classes, are imported anew.
        name = f"{kind.__module__}.{kind.__qualname__}"
        if name in seen.refuted:
            continue
        party = seen.parties.setdefault(name, 0)
        seen.parties[name] += 1
        if not party:
            for candidate in {candidate.name: candidate for candidate in candidates}.values():
                _check_stream(candidate, seen)
            candidates = with_other_values(candidates, seen)  # noqa: PLW2901 - more of the same
        share = 2.0**-party
        screened = _screened(candidates, seen, seconds=share * SCREENING_SECONDS)
        again = _with_extremes(screened, LOOKED_AT_AGAIN)
        count = 1 if party else BOUNDED
        if len(again) > count:
            seconds = share * MANY_SECONDS
            again = [*_looked_at(again, answers=MORE_ANSWERS, seconds=seconds, seen=seen)]
        for candidate in _largest(again, count):
            excess = _excess(candidate, seen, seconds=share * MANY_SECONDS)
            if excess is not None:
                seen.refuted.add(name)
                yield excess
                break


def _screened(
    candidates: Sequence[Candidate], seen: MechanismFindings, *, seconds: float
) -> list[Candidate]:
    """Look at all pairs whose answers from equal streams differ, those once that give the same.

    No mechanism is asked for its exact value, which an author may state wrongly.
    """
    telling: dict[tuple[bytes, bytes], Candidate] = {}
    until = time.perf_counter() + seconds / 2
    for candidate in candidates:
        pair = candidate.pair
        try:
            answers = fixed_answers(pair.first), fixed_answers(pair.second)
        except Exception as error:  # noqa: BLE001 - an author's mechanism may raise any
            note_error(error, candidate, seen)
            continue
        if answers[0] != answers[1]:
            telling.setdefault(answers, candidate)
        if time.perf_counter() > until:
            break
    differing = [*telling.values()]
    return [*_looked_at(differing, answers=FEW_ANSWERS, seconds=seconds / 2, seen=seen)]


def _check_stream(candidate: Candidate, seen: MechanismFindings) -> None:
    mechanism = candidate.pair.first
    try:
        if not draws_from_its_stream(copy_of(mechanism)):
            seen.changing.add(type(mechanism))
            name = type(mechanism).__name__
            seen.remarks[OTHER_STREAM.format(candidate.name, name)] = None
    except Exception as error:  # noqa: BLE001 - an author's mechanism may raise any
        seen.remarks[NOT_CHECKED.format(public_kind(error))] = None


def _looked_at(
    candidates: Sequence[Candidate], *, answers: int, seconds: float, seen: MechanismFindings
) -> Iterator[Candidate]:
    """Estimate what each pair shows, in so many seconds for all; one at least is looked at."""
    started = time.perf_counter()
    each = seconds / max(1, len(candidates))
    for candidate in candidates:
        try:
            drawn = draw_pair(
                candidate.pair,
                answers=answers,
                fewest=FEWEST,
                seconds=each,
                copied=type(candidate.pair.first) in seen.changing,
            )
            closeness = max(
                (
                    bound_epsilon(*drawn, delta=delta, confidence=EVEN_CHANCE) - stated
                    for delta, stated in _stated(candidate.pair.first)
                ),
                default=-math.inf,
            )
        except Exception as error:  # noqa: BLE001 - an author's mechanism may raise any
            note_error(error, candidate, seen)
            continue
        yield candidate._replace(closeness=closeness, level=_level(drawn))
        if time.perf_counter() - started > seconds:
            break


def _level(drawn: tuple[Answers, Answers]) -> float:
    """Add up an answer's numbers, as a mean over the answers on both tables."""
    sums = [float(answer[np.isfinite(answer)].sum()) for answers in drawn for answer in answers]
    return sum(sums) / max(1, len(sums))


def _with_extremes(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
    """Take those that show most; among so many, those with the lowest and highest answers.

    Beside these, the best of those on exact values that no table had: they are few among many.
    """
    by_level = sorted(candidates, key=lambda candidate: candidate.level)
    extremes = [*by_level[:LOWEST], *by_level[::-1][:LOWEST]]
    chosen = {id(each): each for each in [*extremes, *_largest(candidates, len(candidates))]}
    on_other_values = [each for each in candidates if each.pair.tables == TABLES]
    best = {id(each): each for each in _largest(on_other_values, OF_OTHER_VALUES)}
    return [*{**dict([*chosen.items()][:count]), **best}.values()]


def _largest(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: -candidate.closeness)[:count]


def _excess(candidate: Candidate, seen: MechanismFindings, *, seconds: float) -> str | None:
    """Bound the epsilon of a release from many answers; say if it is above what is stated."""
    _, pair, name, _ = candidate
    try:
        drawn = draw_pair(
            pair,
            answers=MANY_ANSWERS,
            fewest=FEW_ANSWERS,
            seconds=seconds,
            copied=type(pair.first) in seen.changing,
        )
        _note_low_bits(drawn[0], name, seen)
        for delta, stated in _stated(pair.first):
            each = 1 - (1 - CONFIDENCE) / 2
            bound = max(
                bound_epsilon(*drawn, delta=delta, confidence=each),
                along := bound_along_change(pair, drawn, delta=delta, confidence=each),
            )
            if bound > stated:
                where = f" at delta {delta:.3g}" if delta > 2 * TESTED_DELTA else ""
                bounds = f"at least epsilon {bound:.3g}{where}, and states {stated:g}"
                loses = f"its {name} loses {bounds}{pair.seen}"
                rounded = bound_epsilon(*map(on_grid, drawn), delta=delta, confidence=each)
                rounded = max(rounded, along)
                return loses if rounded > stated else loses + BY_LOW_BITS
    except Exception as error:  # noqa: BLE001 - an author's mechanism may raise any
        seen.remarks[NOT_CHECKED.format(public_kind(error))] = None
    return None


def _note_low_bits(answers: Answers, name: str, seen: MechanismFindings) -> None:
    """Note numbers of full precision. On a grid many of them would occur more than once."""
    if not any(has_low_bits(answer) for answer in answers[:INSPECTED_ANSWERS]):
        return
    numbers = [value for answer in answers for value in answer[has_low_bits_each(answer)].tolist()]
    frequencies = [*Counter(numbers).values()]
    if frequencies.count(1) > OF_FULL_PRECISION * len(frequencies):
        seen.remarks[LOW_BITS.format(name)] = None


def _stated(mechanism: AnyMechanism[Any]) -> Iterator[tuple[float, float]]:
    """List deltas, each with the epsilon that a mechanism states there.

    The epsilon of a rho is tested, too, as the accountant may count the rho alone. It holds at a
    delta, and few answers show only large deltas: with one that is as large as the distance of
    the answers may be, epsilon is 0.
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
    if loss.rho < math.inf:
        yield loss.delta + largest_distance(loss.rho), 0.0
