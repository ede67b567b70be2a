"""Distances: how far a synthetic table's marginals are from the real one's, beside what costs
nothing to reach.

The total variation distance of two distributions is half the sum of their absolute differences: the
largest difference in the probability of any event, from 0 to 1. It is averaged over all marginals
of so many attributes, or over a sample of them.

Two floors stand beside every figure, since a small distance may be no achievement: `one_way`, the
product of the real one-way tables (what is left when all dependence between attributes is
forgotten), and `uniform` (what is left when all is).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import combinations
from math import comb
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from ..messages import UsageError
from ..parties import Records
from ..privacy.domain import Domain

__all__ = ["Distance", "Told", "distance", "l2_error", "marginals_of"]

MOST_MARGINALS: Final = 30_000
"""More than these are sampled: as many as there are of three of 52 binary attributes, and some."""
MOST_CELLS: Final = 1 << 27
SHOWN: Final = 4
"""Of the worst marginals so many are named."""

Counts = npt.NDArray[np.int64]
Told = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is done, and how much there is."""


class Distance(msgspec.Struct, frozen=True, kw_only=True):
    """Distances of all marginals of `ways` attributes."""

    ways: int
    attributes: str
    """Of what: original, or the binary ones."""
    marginals: int
    """How many were compared ..."""
    of: int
    """... of how many."""
    average: float
    worst: float
    worst_marginal: tuple[str, ...]
    worst_marginals: tuple[tuple[str, ...], ...]
    """A few of the worst, the worst first."""
    one_way: float
    """The average when all attributes are taken to be independent, each with its real
    distribution.
    """
    uniform: float
    """The average when all cells are taken to be alike."""


def marginals_of(
    domain: Domain, *, ways: int, seed: int = 0, most: int = MOST_MARGINALS
) -> list[tuple[str, ...]]:
    """List all marginals of so many attributes, or a sample, drawn from a seed, when there are more
    than `most`.
    """
    names = domain.attributes
    if not 1 <= ways <= len(names):
        raise UsageError(
            f"expected --ways from 1 to the {len(names)} attributes of the data, found {ways}"
        )
    if comb(len(names), ways) <= most:
        chosen = list(combinations(names, ways))
    else:
        generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, ways])))
        drawn: set[tuple[int, ...]] = set()
        while len(drawn) < most:
            drawn.add(tuple(sorted(generator.choice(len(names), ways, replace=False).tolist())))
        chosen = [tuple(names[at] for at in own) for own in sorted(drawn)]
    for attributes in chosen:
        if (cells := domain.cells(attributes)) > MOST_CELLS:
            raise UsageError(
                f"expected marginals of at most {MOST_CELLS:,} cells, found {cells:,} in {' x '.join(attributes)}"
            )
    return chosen


def distance(
    real: Records,
    synthetic: Records,
    *,
    ways: int,
    attributes: str = "original",
    seed: int = 0,
    told: Told | None = None,
) -> Distance:
    """Compare two tables of one domain."""
    domain = real.domain
    chosen = marginals_of(domain, ways=ways, seed=seed)
    what = f"{ways}-way marginals of {attributes} attributes"
    counted = zip(chosen, real.marginals(chosen), synthetic.marginals(chosen), strict=True)
    of = comb(len(domain.attributes), ways)
    one_way = dict(
        zip(domain.attributes, real.marginals([(name,) for name in domain.attributes]), strict=True)
    )
    frequencies = {name: cells / len(real) for name, cells in one_way.items()}
    triples = _telling(counted, what, len(chosen), told)
    found = np.array([list(_one(own, mine, theirs, frequencies)) for own, mine, theirs in triples])
    order = np.argsort(-found[:, 0], kind="stable")
    worst = int(order[0])
    return Distance(
        ways=ways,
        attributes=attributes,
        marginals=len(chosen),
        of=of,
        average=float(found[:, 0].mean()),
        worst=float(found[worst, 0]),
        worst_marginal=chosen[worst],
        worst_marginals=tuple(chosen[at] for at in order[:SHOWN]),
        one_way=float(found[:, 1].mean()),
        uniform=float(found[:, 2].mean()),
    )


def l2_error(
    real: Records, synthetic: Records, *, ways: int, seed: int = 0, most: int = 200
) -> float:
    """Compute the average Euclidean distance of marginals, as parts of all rows: PriView's measure,
    of 200 drawn at random.
    """
    chosen = marginals_of(real.domain, ways=ways, seed=seed, most=most)
    pairs = zip(real.marginals(chosen), synthetic.marginals(chosen), strict=True)
    return float(
        np.mean(
            [np.linalg.norm(mine / mine.sum() - theirs / theirs.sum()) for mine, theirs in pairs]
        )
    )


def _one(
    attributes: Sequence[str],
    real: Counts,
    synthetic: Counts,
    one_way: dict[str, npt.NDArray[np.float64]],
) -> Iterator[float]:
    """Compute one marginal's distance, and those of the two floors."""
    p = real / real.sum()
    product = reduce(np.multiply.outer, (one_way[name] for name in attributes))
    yield float(np.abs(p - synthetic / synthetic.sum()).sum()) / 2
    yield float(np.abs(p - product.reshape(-1)).sum()) / 2
    yield float(np.abs(p - 1 / len(p)).sum()) / 2


def _telling(items: Iterable[Any], what: str, of: int, told: Told | None) -> Iterator[Any]:
    for done, item in enumerate(items):
        if told is not None and done % 100 == 0:
            told(what, done, of)
        yield item
