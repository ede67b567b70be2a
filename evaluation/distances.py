"""Distances between the marginals of a synthetic table and those of the real one.

The total variation distance of two distributions is half the sum of their absolute differences. It
is the largest difference in the probability of any event, from 0 to 1. It is averaged over all
marginals with a number of attributes, or over a sample of them.

A small distance may be no achievement, so each is reported beside two trivial baselines:

    one_way   the product of the real one-way tables: all dependence is forgotten
    uniform   equal cells: everything is forgotten
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import combinations
from math import comb
from typing import Final, Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from ..messages import UsageError
from ..parties import Records
from ..privacy.domain import Domain
from ..privacy.many_labels import too_many_labels

__all__ = ["SHOWN_MARGINALS", "Distance", "ReportProgress", "distance", "l2_error", "marginals_of"]

MAX_MARGINALS: Final = 30_000
"""If there are more, they are sampled. Three of 52 binary attributes have 22,100 marginals."""
MAX_CELLS: Final = 1 << 27
"""Cells of one marginal."""
SHOWN_MARGINALS: Final = 4
"""Number of worst marginals that a result names."""
PROGRESS_STEP: Final = 100
"""Marginals between two reports of progress."""

Counts: TypeAlias = npt.NDArray[np.int64]
Shares: TypeAlias = npt.NDArray[np.float64]
ReportProgress: TypeAlias = Callable[[str, int, int], None]
"""A function of the present task, the work done, and the work there is."""


class Distance(msgspec.Struct, frozen=True, kw_only=True):
    """Distances of all marginals of `ways` attributes."""

    ways: int
    attributes: Literal["original", "binary"]
    """Whether the attributes are the original or the binarised ones."""
    marginals: int
    """Number of marginals that were compared."""
    of: int
    """Number of marginals that there are."""
    average: float
    worst: float
    worst_marginal: tuple[str, ...]
    worst_marginals: tuple[tuple[str, ...], ...]
    """The marginals with the largest distances, the largest first."""
    one_way: float
    """Average distance of the first baseline: independent attributes, each as in the real table."""
    uniform: float
    """Average distance of the second baseline: equal cells."""


def marginals_of(
    domain: Domain, *, ways: int, seed: int = 0, limit: int = MAX_MARGINALS
) -> list[tuple[str, ...]]:
    """List all marginals of `ways` attributes, or a random sample of `limit` if there are more."""
    names = domain.attributes
    if not 1 <= ways <= len(names):
        raise UsageError(
            f"expected --ways from 1 to the {len(names)} attributes of the data, found {ways}"
        )
    if comb(len(names), ways) <= limit:
        marginals = list(combinations(names, ways))
    else:
        generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, ways])))
        drawn: set[tuple[int, ...]] = set()
        while len(drawn) < limit:
            drawn.add(tuple(sorted(generator.choice(len(names), ways, replace=False).tolist())))
        marginals = [tuple(names[index] for index in indices) for indices in sorted(drawn)]
    for attributes in marginals:
        if domain.cells(attributes) > MAX_CELLS:
            fewer = f"fewer attributes, --ways {ways - 1}" if ways > 1 else ""
            raise UsageError(
                too_many_labels(
                    f"marginals of {' x '.join(attributes)}", domain, attributes, otherwise=fewer
                )
            )
    return marginals


def distance(
    real: Records,
    synthetic: Records,
    *,
    ways: int,
    attributes: Literal["original", "binary"] = "original",
    seed: int = 0,
    progress: ReportProgress | None = None,
) -> Distance:
    """Compare the marginals of two tables with the same domain."""
    domain = real.domain
    marginals = marginals_of(domain, ways=ways, seed=seed)
    singles = real.marginals([(name,) for name in domain.attributes])
    one_way = {
        name: counts / len(real) for name, counts in zip(domain.attributes, singles, strict=True)
    }
    tables = zip(marginals, real.marginals(marginals), synthetic.marginals(marginals), strict=True)
    rows = []
    for index, (names, true, estimated) in enumerate(tables):
        if progress is not None and index % PROGRESS_STEP == 0:
            progress(f"{ways}-way marginals of {attributes} attributes", index, len(marginals))
        rows.append(_distances(true, estimated, [one_way[name] for name in names]))
    distances = np.array(rows)
    order = np.argsort(-distances[:, 0], kind="stable")
    worst = int(order[0])
    return Distance(
        ways=ways,
        attributes=attributes,
        marginals=len(marginals),
        of=comb(len(domain.attributes), ways),
        average=float(distances[:, 0].mean()),
        worst=float(distances[worst, 0]),
        worst_marginal=marginals[worst],
        worst_marginals=tuple(marginals[index] for index in order[:SHOWN_MARGINALS]),
        one_way=float(distances[:, 1].mean()),
        uniform=float(distances[:, 2].mean()),
    )


def l2_error(
    real: Records, synthetic: Records, *, ways: int, seed: int = 0, limit: int = 200
) -> float:
    """Compute the average Euclidean distance of marginals as shares of all rows.

    This is the measure of PriView, which takes 200 random marginals.
    """
    marginals = marginals_of(real.domain, ways=ways, seed=seed, limit=limit)
    pairs = zip(real.marginals(marginals), synthetic.marginals(marginals), strict=True)
    return float(
        np.mean([np.linalg.norm(true / true.sum() - drawn / drawn.sum()) for true, drawn in pairs])
    )


def _distances(
    real: Counts, synthetic: Counts, one_way: Sequence[Shares]
) -> tuple[float, float, float]:
    """Compute the distances of the synthetic marginal and of the two baselines."""
    p = real / real.sum()
    product = reduce(np.multiply.outer, one_way).reshape(-1)
    return (
        float(np.abs(p - synthetic / synthetic.sum()).sum()) / 2,
        float(np.abs(p - product).sum()) / 2,
        float(np.abs(p - 1 / len(p)).sum()) / 2,
    )
