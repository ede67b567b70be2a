"""kHR, the k heads response (Xue et al., CLLDP): subset selection with noise fitted to the belief.

A user's value is a cell (label, attributes). Her report is a set of k of m cells. Her own cell is
in it with probability p, and another cell with probability q:

    p = k (E + omega) / (k E + m omega),  E = e^epsilon - 1,  q = (k - p) / (m - 1)

A report is at most theta = (E + omega) / omega times as likely from one cell as from another. So
for the *whole* value this is subset selection at an epsilon of ln theta. For the label alone there
is a smaller bound. Take an adversary that knows only the distribution of attributes for each label,
where any k cells have at most a share omega of a label's people (`belief`). For it the ratio of two
labels is at most e^epsilon. This is epsilon-CLLDP (Theorem 2), and the bound is tight. Against an
adversary that knows the user's attributes the bound is ln theta.

The variant `basic` flips every bit, as SUE does. All cells may be in a report, so omega is 1
whatever the data are (Theorem 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, exp, inf, log
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from ...crypto.user_words import UserWordStream
from .packing import write_integers
from .randomizer import Codes, Reports, below_exp, coins
from .sets import Form, shortest
from .subset import SubsetSelection

__all__ = [
    "HeadsRule",
    "HeadsResponse",
    "choose_heads",
    "heads_error",
    "heads_variance",
    "variance_of_set",
]

HeadsRule = Literal["scan", "paper"]
"""How k is chosen: by the exact error of every k, or as equation 8 prints it."""

UNIFORM_BITS: Final = 32

Numbers = npt.NDArray[np.float64]


class HeadsResponse(SubsetSelection):
    """A set of k cells."""

    name = "khr"

    def __init__(
        self, cells: int, *, epsilon: float, belief: float = 1.0, chosen: int | None = None
    ) -> None:
        """Make the randomizer.

        Args:
            cells: m.
            epsilon: the privacy loss of the label.
            belief: omega.
            chosen: k; by default the best one.
        """
        if not 0 < belief <= 1:
            raise ValueError(
                f"expected an adversarial belief above 0 and at most 1, found {belief}"
            )
        self.belief = belief
        if chosen is None and cells >= 2 and 0 < epsilon < inf:
            chosen = choose_heads(cells, epsilon=epsilon, beliefs=[belief] * (cells // 2))
        super().__init__(cells, epsilon=epsilon, chosen=chosen)
        self.form: Form = shortest(cells, self.chosen)

    @property
    def ratio(self) -> Fraction:
        """Theta, as a fraction that is not rounded up."""
        return (below_exp(self.epsilon) - 1) / Fraction(self.belief) + 1

    @property
    def local_epsilon(self) -> float:
        theta = self.ratio
        return log(theta.numerator) - log(theta.denominator)

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        if self.chosen > 1:
            return super().randomize(values, words)
        # The report is one cell: the user's, or a uniform one of the others. Numbers that would
        # make some cells likelier than others are drawn again.
        word = words.take()[0, :, 0]
        others = self.cells - 1
        reported, limit = values.copy(), (1 << UNIFORM_BITS) // others * others
        left = np.flatnonzero(~coins(word, below=self._keep))
        word = word & np.uint64((1 << UNIFORM_BITS) - 1)  # The upper half was the coin.
        while len(left):
            number = word[left].astype(np.int64)
            other = number % others
            usable = number < limit
            reported[left[usable]] = (other + (other >= values[left]))[usable]
            left = left[~usable]
            if len(left):
                word = words.take()[0, :, 0] >> np.uint64(UNIFORM_BITS)
        return write_integers(reported.astype(np.uint64)[:, None], bits=others.bit_length())


def heads_variance(cells: int, chosen: int, *, epsilon: float, belief: float) -> float:
    """Compute the variance of one user's estimate of a cell that nobody has.

    It is q (1 - q) / (p - q)^2, the larger term of equation 7.

    >>> round(heads_variance(250, 1, epsilon=1.0, belief=0.383), 6)
    12.593991
    """
    e = _excess(epsilon)
    rest = (cells - 1) * belief
    return ((chosen - 1) * e + rest) * (chosen * e + rest) / (chosen * (cells - chosen) * e * e)


def heads_error(cells: int, chosen: int, *, epsilon: float, belief: float) -> float:
    """Compute the expected squared L2 error of all estimates from one user, by equation 7."""
    return float(_errors(cells, np.array([chosen]), np.array([belief]), epsilon=epsilon)[0])


def _errors(cells: int, heads: Numbers, omega: Numbers, *, epsilon: float) -> Numbers:
    """Compute the errors of many k, each with its omega."""
    e = _excess(epsilon)
    p = heads * (e + omega) / (heads * e + cells * omega)
    q = (heads - p) / (cells - 1)
    # The difference is p - q = k (m - k) E / ((m - 1) (k E + m omega)).
    difference = heads * (cells - heads) * e / ((cells - 1) * (heads * e + cells * omega))
    return np.asarray(cells * q * (1 - q) / difference**2 + (1 - p - q) / difference)


def choose_heads(
    cells: int, *, epsilon: float, beliefs: Sequence[float], rule: HeadsRule = "scan"
) -> int:
    """Choose k from 1 to m / 2.

    Theorem 3 claims that the best k is 1 or ceil(m / (e^epsilon + 1)), which is wrong (spec C3,
    C5). Take a distribution with one value of probability .3 and an even rest, at epsilon 2. The
    best k is 7, or 6 by the larger term alone, and 30 has 1.8 times the variance. The printed k is
    limited to half of the cells.

    >>> spike = [min(1.0, 0.3 + (k - 1) * 0.7 / 49) for k in range(1, 51)]
    >>> [choose_heads(250, epsilon=2.0, beliefs=spike, rule=rule) for rule in ("scan", "paper")]
    [7, 30]

    Args:
        cells: m.
        epsilon: the privacy loss of the label.
        beliefs: omega(1), omega(2), ...; from there on omega is 1.
        rule: how k is chosen.
    """
    largest = max(1, cells // 2)

    def belief(k: int) -> float:
        return float(beliefs[k - 1]) if k <= len(beliefs) else 1.0

    if rule == "paper":
        printed = min(max(1, ceil(cells / (exp(min(epsilon, 700.0)) + 1))), largest)
        return min(
            (1, printed), key=lambda k: heads_variance(cells, k, epsilon=epsilon, belief=belief(k))
        )
    omega = np.ones(largest)
    omega[: len(beliefs)] = np.asarray(beliefs, float)[:largest]
    return int(np.argmin(_errors(cells, np.arange(1.0, largest + 1), omega, epsilon=epsilon))) + 1


def variance_of_set(
    *, cells: int, chosen: int, p: float, size: int, users: int, frequency: float = 0.0
) -> float:
    """Compute the variance of the estimate of `size` cells together.

    Estimates of different cells are negatively correlated.

    >>> p = 4 * (exp(1) - 1 + 0.8) / (4 * (exp(1) - 1) + 40 * 0.8)
    >>> round(variance_of_set(cells=40, chosen=4, p=p, size=5, users=500, frequency=0.1), 9)
    0.029947436
    """
    m, k, a = cells, chosen, size
    if a in {0, m}:
        return 0.0
    q = (k - p) / (m - 1)
    b10 = p * (k - 1) / (m - 1)
    b00 = (p * (k - 1) * (k - 2) + (1 - p) * k * (k - 1)) / ((m - 1) * (m - 2)) if m > 2 else 0.0
    inside, outside = p + (a - 1) * q, a * q
    of_inside = inside + 2 * (a - 1) * b10 + (a - 1) * (a - 2) * b00 - inside**2
    of_outside = outside + a * (a - 1) * b00 - outside**2
    return max(frequency * of_inside + (1 - frequency) * of_outside, 0.0) / (users * (p - q) ** 2)


def _excess(epsilon: float) -> float:
    return float(np.expm1(min(epsilon, 300.0)))
