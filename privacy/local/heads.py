"""kHR, the k heads response (Xue et al., CLLDP): subset selection whose noise is fitted to what
attributes tell of the label.

A user's value is a cell (label, attributes). Her report is a set of k of m cells, with her own in
it with probability p:

    p = k (E + omega) / (k E + m omega),  E = e^epsilon - 1,            and for another cell q = (k - p) / (m - 1)

A report is at most theta = (E + omega) / omega times as likely from one cell as from another: for
the *whole* value this is subset selection at an epsilon of ln theta. Of the label alone it tells at
most e^epsilon, against who knows of the attributes no more than how they go with the label: in any
k cells a label has at most omega of its people (`belief`). That is epsilon-CLLDP (Theorem 2), and
it is tight. Who knows the user's attributes faces ln theta instead.

    basic        every bit flipped, as SUE: all cells may be in a report, so omega is 1 whatever the data (Theorem 1)
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
"""How k is chosen: by the exact error of all k, or as equation 8 prints it."""

EVEN: Final = 32

Numbers = npt.NDArray[np.float64]


class HeadsResponse(SubsetSelection):
    """A set of k cells."""

    name = "khr"

    def __init__(
        self, cells: int, *, epsilon: float, belief: float = 1.0, chosen: int | None = None
    ) -> None:
        """`belief`: omega; `chosen`: k, the best one where none is said."""
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
        """Theta."""
        # As fractions: neither e^epsilon nor theta is rounded up.
        return (below_exp(self.epsilon) - 1) / Fraction(self.belief) + 1

    @property
    def local_epsilon(self) -> float:
        theta = self.ratio
        return log(theta.numerator) - log(theta.denominator)

    def randomize(self, values: Codes, words: UserWordStream) -> Reports:
        if self.chosen > 1:
            return super().randomize(values, words)
        # One cell: the own one, or any other alike. A number that would make some likelier is drawn
        # anew.
        drawn = words.take()[0, :, 0]
        said, even = values.copy(), (1 << EVEN) // (self.cells - 1) * (self.cells - 1)
        left = np.flatnonzero(~coins(drawn, below=self._in))
        drawn = drawn & np.uint64((1 << EVEN) - 1)  # the coin is the upper half
        while len(left):
            number = drawn[left].astype(np.int64)
            other = number % (self.cells - 1)
            good = number < even
            said[left[good]] = (other + (other >= values[left]))[good]
            left = left[~good]
            if len(left):
                drawn = words.take()[0, :, 0] >> np.uint64(EVEN)
        return write_integers(said.astype(np.uint64)[:, None], bits=(self.cells - 1).bit_length())


def heads_variance(cells: int, chosen: int, *, epsilon: float, belief: float) -> float:
    """The variance of one user's estimate of a cell that nobody has: q (1 - q) / (p - q)^2,
    equation 7's larger term.

    >>> round(heads_variance(250, 1, epsilon=1.0, belief=0.383), 6)
    12.593991
    """
    e = _excess(epsilon)
    rest = (cells - 1) * belief
    return ((chosen - 1) * e + rest) * (chosen * e + rest) / (chosen * (cells - chosen) * e * e)


def heads_error(cells: int, chosen: int, *, epsilon: float, belief: float) -> float:
    """The expected squared L2 error of all cells' estimates, of one user: equation 7 in whole."""
    return float(_errors(cells, np.array([chosen]), np.array([belief]), epsilon=epsilon)[0])


def _errors(cells: int, heads: Numbers, omega: Numbers, *, epsilon: float) -> Numbers:
    """The same of many k, each with its omega."""
    e = _excess(epsilon)
    p = heads * (e + omega) / (heads * e + cells * omega)
    q = (heads - p) / (cells - 1)
    # p - q = k (m - k) E / ((m - 1) (k E + m omega))
    apart = heads * (cells - heads) * e / ((cells - 1) * (heads * e + cells * omega))
    return np.asarray(cells * q * (1 - q) / apart**2 + (1 - p - q) / apart)


def choose_heads(
    cells: int, *, epsilon: float, beliefs: Sequence[float], rule: HeadsRule = "scan"
) -> int:
    """Choose k from 1 to m / 2; `beliefs`: omega(1), omega(2), ..., and from there on 1.

    Theorem 3 says that the best k is 1 or ceil(m / (e^epsilon + 1)), which is wrong (spec C3, C5):
    with a spike of .3 over an even rest, at epsilon 2 it is 7, or 6 by the larger term alone, and
    30 has 1.8 times the variance. Where ceil is more than half of the cells it is taken to be half.

    >>> spike = [min(1.0, 0.3 + (k - 1) * 0.7 / 49) for k in range(1, 51)]
    >>> [choose_heads(250, epsilon=2.0, beliefs=spike, rule=rule) for rule in ("scan", "paper")]
    [7, 30]
    """
    most = max(1, cells // 2)

    def belief(k: int) -> float:
        return float(beliefs[k - 1]) if k <= len(beliefs) else 1.0

    if rule == "paper":
        other = min(max(1, ceil(cells / (exp(min(epsilon, 700.0)) + 1))), most)
        return min(
            (1, other), key=lambda k: heads_variance(cells, k, epsilon=epsilon, belief=belief(k))
        )
    omega = np.ones(most)
    omega[: len(beliefs)] = np.asarray(beliefs, float)[:most]
    return int(np.argmin(_errors(cells, np.arange(1.0, most + 1), omega, epsilon=epsilon))) + 1


def variance_of_set(
    *, cells: int, chosen: int, p: float, size: int, users: int, frequency: float = 0.0
) -> float:
    """The variance of the estimate of `size` cells together, which so many of the users have; cells
    go against one another.

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
    one, none = p + (a - 1) * q, a * q
    within = one + 2 * (a - 1) * b10 + (a - 1) * (a - 2) * b00 - one**2
    without = none + a * (a - 1) * b00 - none**2
    return max(frequency * within + (1 - frequency) * without, 0.0) / (users * (p - q) ** 2)


def _excess(epsilon: float) -> float:
    return float(np.expm1(min(epsilon, 300.0)))
