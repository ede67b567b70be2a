"""Estimating the epsilon of a plug-in's mechanism from many answers on neighbouring tables.

A mechanism that is built in states its law, and tests hold it to that. Another author's
mechanism states an epsilon. The distinguishing test gives a lower bound: above the stated epsilon
means that the statement is false. Below it nothing is proved.
"""

from __future__ import annotations

import copy
import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from ..privacy.exact_value import Inspectable
from ..privacy.mechanism import AnyMechanism
from ..privacy.taping import ReleasePair
from .distinguishing import MIN_RUNS, bound_of_counts, lower_bound

__all__ = [
    "Answers",
    "answers_alike",
    "bound_along_change",
    "bound_epsilon",
    "copy_of",
    "draw_pair",
    "draws_from_its_stream",
    "fixed_answers",
    "has_low_bits",
    "has_low_bits_each",
    "largest_distance",
    "on_grid",
]

Numbers: TypeAlias = npt.NDArray[np.float64]
Answers: TypeAlias = list[Numbers]

MAX_NUMBERS: Final = 200
"""Numbers of an answer that are compared; more would take minutes."""
PATIENCE: Final = 10
"""Factor by which a slow mechanism may exceed the time, for the fewest answers."""
EXACT: Final = 2**53
"""Whole numbers up to it are exact in double precision."""
GRID: Final = 2.0**-30
STREAMS: Final = 8
"""Streams from which a mechanism draws twice."""


def draw_pair(
    pair: ReleasePair, *, answers: int, fewest: int, seconds: float, copied: bool = False
) -> tuple[Answers, Answers]:
    """Draw so many fresh answers of a release on two neighbouring tables, or for so many seconds.

    For the fewest answers a slow mechanism may take `PATIENCE` times as long. A mechanism that an
    answer changes is `copied` for each, as a run draws from it once.
    """
    randomness = RandomStream(None)
    columns = _telling_columns(pair)
    first: Answers = []
    second: Answers = []
    started = time.perf_counter()
    while len(first) < answers:
        for mechanism, drawn in ((pair.first, first), (pair.second, second)):
            fresh = copy_of(mechanism) if copied else mechanism
            answer = _numbers(fresh.draw(randomness))
            drawn.append(answer if columns is None else _some(answer, columns))
        elapsed = time.perf_counter() - started
        if elapsed > (seconds if len(first) >= fewest else PATIENCE * seconds):
            break
    return first, second


def _telling_columns(pair: ReleasePair) -> npt.NDArray[np.intp] | None:
    """Choose some numbers of long answers: those in which answers from equal streams differ.

    The choice does not depend on the answers that are drawn afterwards. `None` stands for all.
    """
    answers = [
        (_answer_from(pair.first, number), _answer_from(pair.second, number))
        for number in range(STREAMS)
    ]
    width = min(len(answer) for both in answers for answer in both)
    if width <= MAX_NUMBERS:
        return None
    differs = np.zeros(width, np.bool_)
    for first, second in answers:
        a, b = first[:width], second[:width]
        differs |= (a != b) & ~(np.isnan(a) & np.isnan(b))
    return np.flatnonzero(differs)[:MAX_NUMBERS]


def _some(answer: Numbers, columns: npt.NDArray[np.intp]) -> Numbers:
    """Take some numbers of an answer, and how many it has."""
    return np.append(answer[columns[columns < len(answer)]], len(answer))


def copy_of(mechanism: AnyMechanism[Any]) -> AnyMechanism[Any]:
    """Copy a mechanism with all that it holds; one that cannot be copied is given as it is."""
    try:
        return copy.deepcopy(mechanism)
    except Exception:  # noqa: BLE001 - what an author's object holds may raise any
        return mechanism


def draws_from_its_stream(mechanism: AnyMechanism[Any]) -> bool:
    """Tell whether the stream determines the answer: equal streams, in any order, give equal ones.

    The order is reversed, so that noise which is kept for the next answer is noticed, too.
    """
    forward = [_answer_from(mechanism, number) for number in range(STREAMS)]
    backward = [_answer_from(mechanism, number) for number in reversed(range(STREAMS))]
    return all(map(_is_same, forward, reversed(backward)))


def fixed_answers(mechanism: AnyMechanism[Any]) -> bytes:
    """Draw answers from streams that are always the same, and give their digest.

    Two mechanisms with the same answers show nothing of the tables.
    """
    digest = hashlib.sha256()
    for number in range(2 * STREAMS):
        answer = _answer_from(copy_of(mechanism), number)
        digest.update(len(answer).to_bytes(8, "little"))
        digest.update(answer.tobytes())
    return digest.digest()


def answers_alike(pair: ReleasePair, *, stream: bytes) -> bool:
    """Tell whether a release on two neighbouring tables gives one answer from equal streams.

    A mechanism that draws from elsewhere, too, does not, nor does one whose draw ends in an error.
    """
    try:
        first, second = (
            _numbers(copy_of(mechanism).draw(RandomStream(stream)))
            for mechanism in (pair.first, pair.second)
        )
    except Exception:  # noqa: BLE001 - an author's mechanism may raise any
        return False
    return _is_same(first, second)


def _answer_from(mechanism: AnyMechanism[Any], number: int) -> Numbers:
    return _numbers(mechanism.draw(RandomStream(bytes([number]) * 32)))


def _is_same(first: Numbers, second: Numbers) -> bool:
    return np.array_equal(first, second, equal_nan=True)


def bound_epsilon(
    first: Sequence[Numbers], second: Sequence[Numbers], *, delta: float, confidence: float
) -> float:
    """Bound from below the epsilon of what gave these answers."""
    if min(len(first), len(second)) < MIN_RUNS:
        return 0.0
    return lower_bound(first, second, confidence=confidence, delta=delta)


def bound_along_change(
    pair: ReleasePair, drawn: tuple[Answers, Answers], *, delta: float, confidence: float
) -> float:
    """Bound the epsilon by the half of all answers that are nearer to the second exact value.

    No other event shows so much of Gaussian noise. It does not depend on the answers, so all of
    them count. An exact value that is stated wrongly shows less, and proves nothing wrong.
    """
    if not isinstance(pair.first, Inspectable) or not isinstance(pair.second, Inspectable):
        return 0.0
    values = [mechanism.exact_value().parts for mechanism in (pair.first, pair.second)]
    if len(values[0]) != 1 or len(values[1]) != 1 or values[0][0].shape != values[1][0].shape:
        return 0.0
    first, second = (np.asarray(parts[0], np.float64).reshape(-1) for parts in values)
    if not len(first) or any(len(answer) != len(first) for of in drawn for answer in of):
        return 0.0
    change, middle = second - first, float((second - first) @ (first + second) / 2)
    far, near = (sum(float(answer @ change) > middle for answer in of) for of in drawn)
    bounds = bound_of_counts(
        near, len(drawn[1]), far, len(drawn[0]), confidence=confidence, delta=delta
    )
    return float(bounds)


def largest_distance(rho: float) -> float:
    """Bound the total variation distance of the answers on two neighbouring tables.

    The Kullback-Leibler divergence is at most rho. From it follow the bounds of Pinsker and of
    Bretagnolle and Huber. Where noise is half of what its rho needs, few answers show that here,
    and none at a small delta.
    """
    return min(math.sqrt(rho / 2), math.sqrt(-math.expm1(-rho)))


def has_low_bits(answer: Numbers) -> bool:
    """Tell whether a number of the answer is no multiple of 2^-30, as on any grid."""
    return bool(has_low_bits_each(answer).any())


def has_low_bits_each(answer: Numbers) -> npt.NDArray[np.bool_]:
    """Tell for each number of the answer whether it is no multiple of 2^-30."""
    finite = np.where(np.isfinite(answer), answer, 0.0)
    return np.asarray(np.mod(finite / GRID, 1.0) != 0)


def on_grid(answers: Answers) -> Answers:
    """Round answers to multiples of 2^-30, so that their lowest bits show nothing."""
    return [np.round(answer / GRID) * GRID for answer in answers]


def _of_array(array: npt.NDArray[Any]) -> Numbers:
    """Copy an array's numbers, which its author may use again; nothing of them is lost."""
    parts: list[npt.NDArray[Any]] = [array]
    if array.dtype.kind == "c":
        parts = [array.real, array.imag]
    elif array.dtype.kind in "iu" and array.size and np.abs(array.astype(np.float64)).max() > EXACT:
        parts = [array >> 32, array & 0xFFFFFFFF]
    if array.ndim > 1:
        parts.append(np.array(array.shape))
    # One part alone would be the author's own array.
    return np.concatenate([np.array(part, np.float64).reshape(-1) for part in parts])


def _numbers(answer: Any) -> Numbers:
    """Write an answer as numbers; a text, or anything else, as a number of its digest."""
    if isinstance(answer, Iterator | list | tuple):
        parts = [_numbers(part) for part in answer]
        sizes = [len(part) for part in parts] if any(len(part) != 1 for part in parts) else []
        return np.concatenate([*parts, np.array(sizes, np.float64)])
    if isinstance(answer, int) and abs(answer) >= EXACT:
        return np.array([answer >> 64, answer % 2**64 >> 32, answer % 2**32]) % 2.0**52
    try:
        return _of_array(np.asarray(answer))
    except (TypeError, ValueError, OverflowError):
        # The usual text of an object is its address.
        is_usual = repr(answer) == object.__repr__(answer)
        text = repr(getattr(answer, "__dict__", None) if is_usual else answer)
        digest = hashlib.sha256(text.encode()).digest()
        return np.array([int.from_bytes(digest[:6], "little")], np.float64)
