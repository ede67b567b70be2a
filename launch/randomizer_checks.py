"""Whether another author's local randomizers keep the epsilon that a survey counts for each user.

The mechanism of a survey is sottovoce's own, and draws with the author's randomizer. So the
randomizer is looked at by itself, with the cells of its questions and with others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ..evaluation.own_randomizers import (
    epsilon_by_law,
    epsilon_by_reports,
    ignores_words,
    smaller_relatives,
)
from ..privacy.local import Randomizer
from ..privacy.taping import ReleasePair
from ..protocols import AnyProtocol
from ..runs.failure import public_kind
from ..runs.instance import is_built_in
from ..runs.record import Rehearsal, Unaccounted
from ..runs.time_limit import TimeUp, call_within

__all__ = ["false_randomizers", "randomizers_for", "randomizers_of", "rehearse_randomizers"]

CONFIDENCE: Final = 0.9999
ROUNDING: Final = 1e-9
SECONDS: Final = 10.0
"""Longest time of the checks of one class."""
IGNORES: Final = (
    "the reports of its randomizer {} are the same whatever a user's random words are, so they "
    "hide nothing from whoever has its program"
)
BY_LAW: Final = "its randomizer {} loses epsilon {:.3g} by its own law, and states {:g}"
BY_REPORTS: Final = "its randomizer {} loses at least epsilon {:.3g}, and states {:g}"
NOT_CHECKED: Final = "the randomizer {} was not checked, as its code ends in {}"
CELLS_OF_BUILT_IN: Final = 5
"""Cells of the question of a protocol that is built in; relatives have others."""


def false_randomizers(randomizers: Sequence[Randomizer], remarks: dict[str, None]) -> Iterator[str]:
    """Say which of the randomizers lose more than they state, once for each class."""
    by_class: dict[type, dict[int, Randomizer]] = {}
    for randomizer in randomizers:
        by_class.setdefault(type(randomizer), {})[randomizer.cells] = randomizer
    for kind, by_cells in by_class.items():
        reasons = list[str]()

        def look(
            first: Sequence[Randomizer] = (*by_cells.values(),), reasons: list[str] = reasons
        ) -> None:
            for check in (_false_of_reports, _false_of_law):
                for randomizer in first:
                    if not reasons:
                        reasons.extend(check(randomizer))

        error = call_within(look, seconds=SECONDS)
        # The law of some right randomizers takes too long to be listed; their reports come first.
        if error is not None and not isinstance(error, TimeUp):
            remarks[NOT_CHECKED.format(kind.__name__, public_kind(error))] = None
        yield from reasons[:1]


def _false_of_reports(randomizer: Randomizer) -> Iterator[str]:
    """Say what the reports of a randomizer show."""
    if ignores_words(randomizer):
        yield IGNORES.format(_name(randomizer))
    elif (epsilon := epsilon_by_reports(randomizer, confidence=CONFIDENCE)) > _stated(randomizer):
        yield BY_REPORTS.format(_name(randomizer), epsilon, _stated(randomizer))


def _false_of_law(randomizer: Randomizer) -> Iterator[str]:
    """Say what the law of a randomizer shows, which is exact."""
    if (epsilon := epsilon_by_law(randomizer)) > _stated(randomizer) + ROUNDING:
        yield BY_LAW.format(_name(randomizer), epsilon, _stated(randomizer))


def _stated(randomizer: Randomizer) -> float:
    return randomizer.local_epsilon


def _name(randomizer: Randomizer) -> str:
    return f"{type(randomizer).__name__} of {randomizer.cells:,} cells"


def randomizers_of(pairs_of_tables: Sequence[Sequence[ReleasePair]]) -> list[Randomizer]:
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


def randomizers_for(protocol: AnyProtocol) -> list[Randomizer]:
    """List randomizers of another author with which a protocol that is built in surveys."""
    make: Any = getattr(protocol, "randomizer", None)
    if ":" not in str(getattr(protocol.parameters, "oracle", "")):
        return []
    randomizer = make(CELLS_OF_BUILT_IN)
    return [] if is_built_in(type(randomizer)) else [*smaller_relatives(randomizer)]


def rehearse_randomizers(randomizers: Sequence[Randomizer], *, parties: int) -> Rehearsal:
    """Check the randomizers with which a protocol that is built in surveys, and nothing else."""
    started, remarks = time.perf_counter(), dict[str, None]()
    reasons = [*false_randomizers(randomizers, remarks)]
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
