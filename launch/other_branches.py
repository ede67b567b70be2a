"""Branches of a part that depend on an answer or on chance: what do they send?

A replay gives the answers of the tape, and draws from the streams of the tape. So a part that sends
an exact count if its noisy answer is below 0, or once in a hundred runs, never comes to that line.
Here the part is played on its own records and on others, with the *same* altered answers, or with
another seed of its streams. The two plays are compared with each other. What differs depends on
records in a way that no release covers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ..messages.tape import Difference
from ..parties import Records
from ..parties.alternatives import equal_records
from ..runs.replay import PartTape, Replay, replay_part

__all__ = ["replay_branches"]

NUMBERS: Final = (-3, 0, 1, 1_000_000)
"""Answers of all releases at once: implausible ones, small ones and large ones."""
SEEDS: Final = 300
"""Most seeds that are tried: a branch of one run in a hundred is missed with a chance of .05."""
REASON: Final = "where an answer or chance leads its part another way, {} depends on records"
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
    generator = np.random.default_rng(tape.seed)
    others = [
        records.redrawn(generator.integers(len(records), size=len(records))),
        equal_records(records),
    ]
    differing: list[Replay] = []
    for altered, answers in _branches(tape):
        if len(differing) >= MAX_DIFFERENT or time.perf_counter() - started > seconds:
            break
        first = replay_part(altered, records=records, answers=answers, seconds=longest)
        if first.error is not None:
            continue
        for table in others:
            other = replay_part(altered, records=table, answers=answers, seconds=longest)
            if other.error is None and (differences := _differences(first, other)):
                # It was played with other answers, so nothing else of it can be compared.
                differing.append(
                    Replay(
                        differences=differences,
                        pairs=[],
                        doubts=[],
                        reached={},
                        was_cut_off=True,
                        other_answers=True,
                    )
                )
                break
    return differing


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


def _differences(first: Replay, second: Replay) -> list[Difference]:
    """Compare two plays with each other."""
    ended = not (first.was_cut_off or second.was_cut_off)
    differences = first.sent.differences(second.sent, to_the_end=ended)
    return [
        difference._replace(reason=REASON.format(WHAT.get(difference.reason, "what it sends")))
        for difference in differences
    ]
