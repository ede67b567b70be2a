"""The multi-party discrete Laplace mechanism: what each party adds so that the *sum* of all is
private.

The sum of K parties' counts is to carry two-sided geometric noise of scale b = sensitivity /
epsilon (alpha = exp(-1/b)), though no party may know it. Two ways:

*Shares.* Every party adds A - B with A, B independent NB(r, alpha), r = 1 / (K - c). The generating
function of NB is ((1 - alpha) / (1 - alpha z))^r, so the sum of any K - c shares has r = 1: a
geometric variable less another, which is the two-sided geometric law, exactly. Up to c parties may
know their own shares and subtract them, and full noise remains. The price is variance: all K shares
together have K / (K - c) times that of one discrete Laplace variable. With r = 1 / K an insider who
subtracts its share would leave too little: a log-ratio per count 17 (K = 2) to 1.85 (K = 10) times
as large as promised, at b = 40.

*Selected* (Pathak, Rane, Raj 2010). Every party draws a whole two-sided geometric variable and one
of them enters the sum, chosen so that nobody knows whose. It does not keep its promise against
insiders: with probability 1 / K the noise is a party's own, it subtracts it and has the others'
exact sum. No epsilon bounds that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from ..crypto import RandomStream
from ..messages import UsageError
from .exact import exact
from .negative_binomial import NegativeBinomial

__all__ = ["Batch", "SelectedNoise", "SharedLaplace", "excess", "noise_bound", "shape_of"]

Counts = npt.NDArray[np.int64]

LARGEST_SCALE: Final = 2.0**40
"""Sums of such noise fit into 62 bits, and double precision can still say what a share is worth
(`excess`).
"""
SAFETY_BITS: Final = 40
"""The noise of a batch exceeds its bound with a probability below 2**-40."""


def shape_of(*, parties: int, colluding: int) -> Fraction:
    """The r of each party's share."""
    if not 0 <= colluding < parties:
        raise ValueError(
            f"expected fewer colluding parties than there are ({parties}), found {colluding}"
        )
    return Fraction(1, parties - colluding)


def noise_bound(
    *, sensitivity: int, epsilon: float, cells: int, parties: int = 1, colluding: int = 0
) -> int:
    """Bound the noise in any cell of a batch, except with probability 2**-40: what slots must have
    room for.

    With lambda = ln 2 * (40 + log2 cells) and s = K / (K - c), the shape of all shares together: P[|X| > t] is at most
    e^(-t/b) for s = 1, (1 + t/2b) e^(-t/b) for s = 2 (tails grow with s, so for s between as well); beyond, by Chernoff,
    2 e^(-theta t) (1 - theta^2 b^2)^(-s) for every theta < 1/b.

    >>> noise_bound(sensitivity=114, epsilon=0.05, cells=9864, parties=3, colluding=1)
    92473
    """
    b = sensitivity / epsilon
    lam = math.log(2) * (SAFETY_BITS + math.log2(max(cells, 1)))
    s = parties / (parties - colluding)
    if s == 1:
        return math.ceil(b * lam)
    if s <= 2:
        return math.ceil(b * (lam + math.log1p(lam)))
    # A grid suffices: every theta gives a valid bound, the best one a slightly smaller slot.
    thetas = (k / 1000 for k in range(1, 1000))
    return math.ceil(
        b * min((lam + math.log(2) - s * math.log1p(-theta * theta)) / theta for theta in thetas)
    )


def excess(*, rate: float, shape: float) -> float:
    """Say by which factor shares of this shape in all fall short of what full noise promises:
    log-ratio per count, over rate.

    A report's figure, in floating point. The law of less than a full noise (shape < 1) peaks at 0
    and its log-ratios fall from there towards the rate; from shape 1 on they rise towards it, so
    that the promise holds.
    """
    from scipy.special import hyp2f1

    if shape >= 1:
        return 1.0

    # P[0] = (1 - a)^2r F(r, r; 1; a^2) and P[1] = (1 - a)^2r r a F(r, r + 1; 2; a^2).
    a = math.exp(-rate)
    peak = math.log(hyp2f1(shape, shape, 1, a * a) / (shape * hyp2f1(shape, shape + 1, 2, a * a)))
    return (peak + rate) / rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Tables that are summed and released together: what everybody knows of them.

    `sensitivity` is by how much all cells of the batch may change in all (L1) between neighbours;
    epsilon is for the whole batch. `rows` bounds any cell of the sum.
    """

    cells: int
    sensitivity: int
    epsilon: float
    rows: int
    parties: int
    colluding: int

    def __post_init__(self) -> None:
        if self.sensitivity < 1 or not 0 < self.epsilon < math.inf:
            raise ValueError(
                f"expected sensitivity >= 1 and finite epsilon > 0, found {self.sensitivity} and {self.epsilon}"
            )
        if self.scale > LARGEST_SCALE:
            raise UsageError(
                f"expected noise of a scale up to 2**40, found {self.scale:g}: epsilon {self.epsilon:g} is too small for a "
                f"batch of sensitivity {self.sensitivity}"
            )

    @property
    def scale(self) -> float:
        return self.sensitivity / self.epsilon

    @property
    def rate(self) -> Fraction:
        """Epsilon / sensitivity, exactly."""
        return Fraction(self.epsilon) / self.sensitivity

    def bound(self, *, shares: bool) -> int:
        """Bound every cell of the released sum: rows and noise."""
        sharing = {"parties": self.parties, "colluding": self.colluding} if shares else {}
        noise = noise_bound(
            sensitivity=self.sensitivity, epsilon=self.epsilon, cells=self.cells, **sharing
        )
        return self.rows + noise

    def variance(self, *, shares: bool) -> float:
        """The variance of the noise in each cell of the released sum."""
        rate = float(self.rate)
        single = 2 * math.exp(-rate) / math.expm1(-rate) ** 2
        return single * (self.parties / (self.parties - self.colluding) if shares else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLaplace:
    """One party's part of a batch, page by page, each cell with this party's share of the noise.

    A share is less than the batch's epsilon stands for, so whoever releases one says what it costs
    in each view (`seen`).
    """

    pages: Iterable[Counts] = field(repr=False)
    batch: Batch
    seen: Mapping[str, float]

    name = "multi-party-laplace"
    delta = 0.0
    by_users = ()
    whole_record = None

    def __post_init__(self) -> None:
        if (
            not self.seen
            and shape_of(parties=self.batch.parties, colluding=self.batch.colluding) < 1
        ):
            raise ValueError(
                "expected seen, what a mere share of the noise costs in each view, found nothing"
            )

    @property
    def sensitivity(self) -> int:
        return self.batch.sensitivity

    @property
    def epsilon(self) -> float:
        return self.batch.epsilon

    @property
    def scale(self) -> float:
        return self.batch.scale

    def draw(self, randomness: RandomStream) -> Iterator[Counts]:
        """Add a share to every cell. Called by `Accountant.release` alone."""
        shape = shape_of(parties=self.batch.parties, colluding=self.batch.colluding)
        law = NegativeBinomial(shape=shape, rate=self.batch.rate)
        for page in self.pages:
            added = law.draw(len(page), randomness=randomness)
            yield np.asarray(page) + added - law.draw(len(page), randomness=randomness)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedNoise:
    """One party's part of a batch, page by page, and beside it a whole noise that may or may not be
    the one that enters.
    """

    pages: Iterable[Counts] = field(repr=False)
    batch: Batch
    seen: Mapping[str, float]
    name: str = "selected-laplace"

    delta = 0.0
    by_users = ()
    whole_record = None

    @property
    def sensitivity(self) -> int:
        return self.batch.sensitivity

    @property
    def epsilon(self) -> float:
        return self.batch.epsilon

    @property
    def scale(self) -> float:
        return self.batch.scale

    def draw(self, randomness: RandomStream) -> Iterator[tuple[Counts, Counts]]:
        """Draw a noise for every cell; counts and noise go on apart, to meet under encryption. The
        counts are as they were.
        """
        law = NegativeBinomial(shape=Fraction(1), rate=self.batch.rate)
        for page in self.pages:
            added = law.draw(len(page), randomness=randomness)
            yield exact(np.asarray(page)), added - law.draw(len(page), randomness=randomness)
