"""Whether another author's local randomizers keep the epsilon that a survey counts for each user.

The mechanism of a survey is sottovoce's own, and draws with the author's randomizer. So the
randomizer is looked at by itself, with the cells of its questions and with others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final, TypeAlias

from ..evaluation.own_randomizers import (
    epsilon_by_law,
    epsilon_by_reports,
    ignores_words,
    relatives_of_other_sizes,
)
from ..privacy.local import Randomizer
from ..privacy.taping import ReleasePair
from ..protocols import AnyProtocol
from ..runs.failure import public_kind
from ..runs.instance import is_built_in
from ..runs.record import Rehearsal, Unaccounted
from ..runs.time_limit import TimeUp, call_within

__all__ = ["false_randomizers", "named_randomizers", "randomizers_in", "rehearse_randomizers"]

CONFIDENCE: Final = 0.9999
ROUNDING: Final = 1e-9
SECONDS: Final = 5.0
"""Longest time of the reports of one class, and of its law."""
IGNORES: Final = (
    "the reports of its randomizer {} are the same whatever a user's random words are, so they "
    "hide nothing from whoever has its program"
)
BY_LAW: Final = "its randomizer {} loses epsilon {:.3g} by its own law, and states {:g}"
BY_REPORTS: Final = "its randomizer {} loses at least epsilon {:.3g}, and states {:g}"
NOT_CHECKED: Final = "the randomizer {} was not checked, as its code ends in {}"
TOO_SLOW: Final = "the randomizer {} was not checked to the end, as its reports take too long"
CELLS_OF_BUILT_IN: Final = 2
"""Cells that every randomizer of a survey that is built in takes; relatives have others."""
Check: TypeAlias = Callable[[Randomizer], Iterator[str]]


def false_randomizers(randomizers: Sequence[Randomizer], remarks: dict[str, None]) -> Iterator[str]:
    """Say which of the randomizers lose more than they state, once for each class."""
    by_class: dict[type, dict[tuple[int, float], Randomizer]] = {}
    for randomizer in randomizers:
        key = randomizer.cells, randomizer.epsilon
        by_class.setdefault(type(randomizer), {})[key] = randomizer
    for kind, different in by_class.items():
        # Some right randomizers take too long to list their law; reports tell most mistakes.
        for check, too_slow in ((_false_of_reports, TOO_SLOW), (_false_of_law, "")):
            reasons: list[str] = []
            error = call_within(partial(_look, check, different, reasons), seconds=SECONDS)
            if isinstance(error, TimeUp) and too_slow:
                remarks[too_slow.format(kind.__name__)] = None
            elif error is not None and not isinstance(error, TimeUp):
                remarks[NOT_CHECKED.format(kind.__name__, public_kind(error))] = None
            if reasons:
                yield reasons[0]
                break


def _look(
    check: Check, randomizers: Mapping[tuple[int, float], Randomizer], reasons: list[str]
) -> None:
    """Add what a check says of each randomizer. It may be ended before the last one."""
    for randomizer in randomizers.values():
        reasons.extend(check(randomizer))


def _false_of_reports(randomizer: Randomizer) -> Iterator[str]:
    """Say what the reports of a randomizer show."""
    stated = randomizer.local_epsilon
    if ignores_words(randomizer):
        yield IGNORES.format(_name(randomizer))
    elif (epsilon := epsilon_by_reports(randomizer, confidence=CONFIDENCE)) > stated:
        yield BY_REPORTS.format(_name(randomizer), epsilon, stated)


def _false_of_law(randomizer: Randomizer) -> Iterator[str]:
    """Say what the law of a randomizer shows, which is exact."""
    stated = randomizer.local_epsilon
    if (epsilon := epsilon_by_law(randomizer)) > stated + ROUNDING:
        yield BY_LAW.format(_name(randomizer), epsilon, stated)


def _name(randomizer: Randomizer) -> str:
    return f"{type(randomizer).__name__} of {randomizer.cells:,} cells"


def randomizers_in(pairs_of_tables: Sequence[Sequence[ReleasePair]]) -> list[Randomizer]:
    """List the randomizers of other authors with which releases are drawn."""
    assignments = {
        id(assignment): assignment
        for pairs in pairs_of_tables
        for pair in pairs
        if (assignment := getattr(pair.first, "assignment", None)) is not None
    }
    return [
        randomizer
        for assignment in assignments.values()
        for _, _, randomizer in getattr(assignment, "alike", ())
        if isinstance(randomizer, Randomizer) and not is_built_in(type(randomizer))
    ]


def named_randomizers(protocol: AnyProtocol) -> list[Randomizer]:
    """List randomizers of another author with which a protocol that is built in surveys."""
    make: Any = getattr(protocol, "randomizer", None)
    if make is None or ":" not in str(getattr(protocol.parameters, "oracle", "")):
        return []
    randomizer = make(CELLS_OF_BUILT_IN)
    return [] if is_built_in(type(randomizer)) else [*relatives_of_other_sizes(randomizer)]


@lru_cache(maxsize=64)
def _checked_once(
    kinds: tuple[tuple[type[Randomizer], int], ...], epsilon: float
) -> tuple[list[str], list[str]]:
    """Check randomizers once in this process: sweeps repeat a run with many seeds."""
    remarks: dict[str, None] = {}
    randomizers = [kind(cells, epsilon=epsilon) for kind, cells in kinds]
    return [*false_randomizers(randomizers, remarks)], [*remarks]


def rehearse_randomizers(randomizers: Sequence[Randomizer], *, parties: int) -> Rehearsal:
    """Check the randomizers with which a protocol that is built in surveys, and nothing else."""
    started = time.perf_counter()
    reasons, remarks = _checked_once(
        tuple((type(each), each.cells) for each in randomizers), randomizers[0].epsilon
    )
    return Rehearsal(
        failure=None,
        parties=parties,
        rows=0,
        replays=0,
        seconds=round(time.perf_counter() - started, 3),
        unaccounted=[
            Unaccounted(party=party, kind="", messages=0, reason=reason)
            for reason in reasons
            for party in range(1, parties + 1)
        ],
        remarks=[*remarks],
    )
