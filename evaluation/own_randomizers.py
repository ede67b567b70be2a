"""Estimating the epsilon of a plug-in's local randomizer: by its law, and by its reports.

A randomizer that is built in is held to its law by tests. Another author's randomizer states an
epsilon, and a survey counts it for every user. Its law, enumerated for few cells, gives the exact
epsilon of what it says. Its reports give a lower bound on the epsilon of what it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, log
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from ..crypto import UserWords
from ..privacy.local import Randomizer, report
from ..privacy.local.randomizer import Codes, Reports

__all__ = ["epsilon_by_law", "epsilon_by_reports", "ignores_words", "relatives_of_other_sizes"]

USERS: Final = 20_000
"""Users who report each of two values; half of them choose what the other half shows."""
MANY_BITS_USERS: Final = 1_500
"""The same where hardly a report occurs twice, so that each one is looked at by itself."""
FEW_REPORTS: Final = 256
"""Different reports up to which each is an event of its own."""
CELLS: Final = (2, 3, 5, 16, 64)
"""Numbers of cells of relatives: mistakes often show only with many, or only with few."""
MAX_LAW: Final = 1 << 18
"""Reports times cells up to which a law is enumerated."""
FEWEST_CHANGED: Final = 40
"""Reports that another key should have changed; with fewer, equal reports show nothing."""

Events: TypeAlias = npt.NDArray[np.int64]


def relatives_of_other_sizes(randomizer: Randomizer) -> list[Randomizer]:
    """Make randomizers of the same class and epsilon for those numbers of cells that it takes.

    A survey that is built in asks questions of many sizes.
    """
    relatives = []
    for cells in CELLS:
        try:
            relatives.append(type(randomizer)(cells, epsilon=randomizer.epsilon))
        except Exception:  # noqa: BLE001, S112 - the author's code, which may take other arguments
            continue
    # A class may be meant for a single number of cells, and make nothing of use for others.
    return [relative for relative in relatives if relative.p > relative.q]


def epsilon_by_law(randomizer: Randomizer) -> float:
    """Compute the epsilon of the law that a randomizer of few cells states, if it can list it.

    >>> from sottovoce.privacy.local import DirectEncoding
    >>> round(epsilon_by_law(DirectEncoding(3, epsilon=1.0)), 6)
    1.0
    """
    if randomizer.cells << randomizer.bits > MAX_LAW:
        return 0.0
    try:
        laws = [randomizer.law(value) for value in range(randomizer.cells)]
    except Exception:  # noqa: BLE001 - the author's code, and some laws are too long to be listed
        return 0.0
    reports = {data for law in laws for data in law}
    largest = Fraction(1)
    for data in reports:
        likelihoods = [Fraction(law.get(data, 0)) for law in laws]
        if max(likelihoods) and not min(likelihoods):
            return inf
        if max(likelihoods):
            largest = max(largest, max(likelihoods) / min(likelihoods))
    return log(largest)


def epsilon_by_reports(randomizer: Randomizer, *, confidence: float) -> float:
    """Bound the epsilon of its reports from below, for values far apart."""
    last = randomizer.cells - 1
    pairs = dict.fromkeys([(0, last), (last, 0), (last // 2, last)])
    each = 1 - (1 - confidence) / len(pairs)
    return max(_bound(randomizer, *pair, confidence=each) for pair in pairs if pair[0] != pair[1])


def ignores_words(randomizer: Randomizer) -> bool:
    """Tell whether reports are the same whatever the users' random words are.

    Where most users report the truth in any case, nothing follows from equal reports.
    """
    if float(1 - randomizer.p) * USERS < FEWEST_CHANGED:
        return False
    values = np.arange(USERS) % randomizer.cells
    first, second = (_reports(randomizer, values, key=key) for key in (1, 2))
    return bool(np.array_equal(first, second))


def _bound(randomizer: Randomizer, first: int, second: int, *, confidence: float) -> float:
    """Bound the epsilon between two values: by an event, chosen by half of the reports."""
    users = USERS if 1 << randomizer.bits <= FEW_REPORTS else MANY_BITS_USERS
    pair = [
        _reports(randomizer, np.full(users, value, np.int64), key=3 + place)
        for place, value in enumerate((first, second))
    ]
    events = _events(randomizer, pair, cells=(first, second))
    half = users // 2
    counts = [np.bincount(of, minlength=max(map(np.max, events)) + 1) for of in _halves(events)]
    chosen = (counts[0] + 0.5) / (counts[2] + 0.5)
    best, best_bound = np.zeros(len(chosen), bool), -inf
    order = np.argsort(-chosen)
    for size in range(1, len(order)):
        event = np.isin(np.arange(len(order)), order[:size])
        often, seldom = (int(counts[of][event].sum()) for of in (0, 2))
        seen = _log_ratio(often, seldom, half, confidence)
        if seen > best_bound:
            best, best_bound = event, seen
    often, seldom = (int(counts[of][best].sum()) for of in (1, 3))
    return max(0.0, _log_ratio(often, seldom, half, confidence))


def _halves(events: Sequence[Events]) -> list[Events]:
    half = len(events[0]) // 2
    return [part for of in events for part in (of[:half], of[half:])]


def _log_ratio(often: int, seldom: int, users: int, confidence: float) -> float:
    """Bound the logarithm of the ratio of two probabilities from below (Clopper and Pearson)."""
    miss = (1 - confidence) / 2
    low = float(beta.ppf(miss, often, users - often + 1)) if often else 0.0
    high = float(beta.ppf(1 - miss, seldom + 1, users - seldom)) if seldom < users else 1.0
    return log(low / high) if low else -inf


def _events(
    randomizer: Randomizer, pair: Sequence[Reports], *, cells: tuple[int, int]
) -> list[Events]:
    """Number what is seen of each report: the report, or whether it supports either value."""
    rows, places = np.unique(np.concatenate(pair), axis=0, return_inverse=True)
    numbers = places.reshape(-1)
    if len(rows) > FEW_REPORTS:
        supported = [randomizer.support(row.reshape(1, -1))[[*cells]] for row in rows]
        numbers = (np.array(supported) > 0).astype(np.int64)[numbers] @ np.array([2, 1])
    return [*np.split(numbers.astype(np.int64), [len(pair[0])])]


def _reports(randomizer: Randomizer, values: Codes, *, key: int) -> Reports:
    words = UserWords(bytes([key]) * 16)
    return report(randomizer, values, users=np.arange(len(values)), words=words).copy()
