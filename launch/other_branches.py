"""Branches of a part that depend on an answer or on chance: what do they send?

A replay gives the answers of the tape, and draws from the streams of the tape. So a part that sends
an exact count if its noisy answer is below 0, or once in a hundred runs, never comes to that line.
Here the part is played on its own records and on others, with the *same* altered answers, or with
another seed of its streams. The two plays are compared with each other. What differs depends on
records in a way that no release covers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ..messages.tape import Difference
from ..parties import Records
from ..parties.alternatives import equal_records
from ..runs.altered_messages import telling_alterations
from ..runs.constants import constants_for
from ..runs.instance import instantiate
from ..runs.replay import PartTape, Replay, replay_part

__all__ = [
    "IF_ASKED",
    "differences_of",
    "remarks_on_other_messages",
    "replay_branches",
    "replay_of_differences",
]

NUMBERS: Final = (-1_000_000, -3, 0, 1, 1_000_000)
"""Answers of all releases at once: implausible ones, small ones and large ones."""
SEEDS: Final = 300
"""Most seeds that are tried: a branch of one run in a hundred is missed with a chance of .05."""
FEWER: Final = 20
"""Factor by which the small table is smaller, so that its number of rows has fewer digits."""
REASON: Final = "where an answer or chance leads its part another way, {} depends on records"
IF_ASKED: Final = (
    "with other flags, numbers or texts in the messages that a party receives, its messages of "
    "kind {} would depend on records: a curator that does not follow the protocol could read them"
)
WHAT: Final = {
    "its content depends on records": "its content",
    "its size depends on records": "its size",
}
"""What depends on records, by the reason of a difference."""
MAX_DIFFERENT: Final = 3
"""Pairs of plays that differ, after which no further one is tried."""
Numbers: TypeAlias = npt.NDArray[Any]


def replay_branches(
    tape: PartTape, *, records: Records, seconds: float, longest: float
) -> list[Replay]:
    """Replay a part on its own records and on others, and compare the two.

    Args:
        tape: the part.
        records: the party's records.
        seconds: the time after which no further answers or seeds are tried.
        longest: the time after which a replay is ended.

    Returns:
        The messages that differ. As replays they tell nothing else.
    """
    started = time.perf_counter()
    others = _other_tables(tape, records)
    differing: list[Replay] = []
    for altered, answers in _branches(tape):
        if len(differing) >= MAX_DIFFERENT or time.perf_counter() - started > seconds:
            break
        differences = _first_differences(altered, [records, *others], answers, longest=longest)
        if differences:
            differing.append(replay_of_differences(differences))
    return differing


def replay_of_differences(differences: list[Difference]) -> Replay:
    """Keep messages that differ between two plays; nothing else of these can be compared."""
    return Replay(
        differences=differences,
        pairs=[],
        doubts=[],
        reached={},
        was_cut_off=True,
        other_answers=True,
    )


def remarks_on_other_messages(
    tape: PartTape, *, records: Records, seconds: float, longest: float
) -> list[str]:
    """Name the kinds of messages that would depend on records if the part were asked otherwise.

    The curator keeps to the protocol, so this is a remark: in a run in which it asks so, the guard
    finds that these messages are not accounted.

    Args:
        tape: the part.
        records: the party's records.
        seconds: the time after which no further alteration is tried.
        longest: the time after which a replay is ended.
    """
    started = time.perf_counter()
    tables = [records, *_other_tables(tape, records)]
    kinds: dict[str, None] = {}
    constants = constants_for(instantiate(tape.job))
    for alteration in telling_alterations(tape.party.received_own_kinds.values(), constants):
        if time.perf_counter() - started > seconds:
            break
        altered = replace(tape, alteration=alteration)
        for difference in _first_differences(altered, tables, {}, longest=longest):
            kinds[difference.kind] = None
    return [IF_ASKED.format(kind) for kind in kinds]


def _other_tables(tape: PartTape, records: Records) -> list[Records]:
    """Make tables to compare with; a small one, too, where the number of records is secret."""
    generator = np.random.default_rng(tape.seed)
    tables = [
        records.redrawn(generator.integers(len(records), size=len(records))),
        equal_records(records),
    ]
    if tape.accountant.neighbours == "add-or-remove-one":
        tables.append(records.take(np.arange(-(-len(records) // FEWER))))
    return tables


def _first_differences(
    tape: PartTape,
    tables: Sequence[Records],
    answers: Mapping[int, object],
    *,
    longest: float,
) -> list[Difference]:
    """Compare a play on the first table with one on each other, until they differ."""
    first = replay_part(tape, records=tables[0], answers=answers, seconds=longest)
    for table in tables[1:] if first.error is None else ():
        other = replay_part(tape, records=table, answers=answers, seconds=longest)
        if other.error is None and (differences := differences_of(first, other)):
            return differences
    return []


def _branches(tape: PartTape) -> Iterator[tuple[PartTape, Mapping[int, object]]]:
    """Give the tape with other answers, then, if the part draws by itself, with other seeds."""
    answers = [release.answer for release in tape.accountant.tape]
    for number in NUMBERS:
        altered = {place: _as_number(answer, number) for place, answer in enumerate(answers)}
        changed = {place: answer for place, answer in altered.items() if answer is not None}
        if changed:
            yield tape, changed
    if tape.party.draws_by_itself:
        for seed in range(SEEDS):
            yield replace(tape, seed=seed), {}


def _as_number(answer: object, number: int) -> object:
    """Give a number, or numbers, in place of an answer; `None` if it is something else."""
    if isinstance(answer, bool | np.bool_):
        return type(answer)(number > 0)
    if isinstance(answer, int | float | np.number):
        return _fitting(np.asarray(answer), number).item()
    if isinstance(answer, np.ndarray) and np.issubdtype(answer.dtype, np.number):
        return _fitting(answer, number)
    return None


def _fitting(numbers: Numbers, number: int) -> Numbers:
    """Fill an array with a number, or with the nearest one that its type has."""
    if np.issubdtype(numbers.dtype, np.integer):
        limits = np.iinfo(numbers.dtype)
        number = min(max(number, int(limits.min)), int(limits.max))
    return np.full_like(numbers, number)


def differences_of(first: Replay, second: Replay) -> list[Difference]:
    """Compare two plays with each other that had the same answers and seeds."""
    ended = not (first.was_cut_off or second.was_cut_off)
    differences = first.sent.differences(second.sent, to_the_end=ended)
    return [
        difference._replace(reason=REASON.format(WHAT.get(difference.reason, "what it sends")))
        for difference in differences
    ]
