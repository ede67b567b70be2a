"""The workload, the candidates, and their scores (McKenna et al. 2022, section 4).

The workload is all pairs of attributes. Candidates are these and all single attributes. The weight
of a candidate r counts what the workload has of its attributes: the sum over all pairs s of
|r and s|.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import pi, sqrt
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ...curator.graphical_model import GraphicalModel
from ...messages import UsageError
from ...privacy import Domain
from ...privacy.many_labels import too_many_labels
from ..secure_sum import Family

__all__ = ["DISTANCE_CHANGE", "Counts", "Workload", "distances", "workload_of"]

MAX_PAIRS: Final = 5000
"""Most pairs: those of 100 attributes. With more, hundreds of rounds take hours."""
MAX_WORKLOAD: Final = 1 << 21
"""Most cells of all pairs: every party compares them with the model in each of its turns."""
DISTANCE_CHANGE: Final = 2
"""Most that the distance of a table changes when a record is replaced: two cells, by 1 each."""


Counts: TypeAlias = npt.NDArray[np.int64]
"""The cells of a table of one party's records."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What is to be approximated: the same for all roles."""

    domain: Domain
    attributes: tuple[str, ...]
    """The attributes with at least two labels."""
    weights: Mapping[Family, float]
    """The weight of each candidate, relative to the largest."""


def workload_of(domain: Domain, *, max_cells: int) -> Workload:
    """Make the workload of all pairs of attributes, but those with too many cells.

    Raises:
        UsageError: there are more pairs, or more cells of them, than a party can compare in each
            turn.
    """
    attributes = tuple(name for name in domain.attributes if domain.cells((name,)) > 1)
    pairs = [pair for pair in combinations(attributes, 2) if domain.cells(pair) <= max_cells]
    if sum(map(domain.cells, pairs)) > MAX_WORKLOAD:
        raise UsageError(
            too_many_labels(
                "pairs of attributes", domain, attributes, otherwise="take adaptive-pairs"
            )
        )
    if len(pairs) > MAX_PAIRS:
        raise UsageError(
            f"expected at most {MAX_PAIRS:,} pairs of attributes, found {len(pairs):,} of "
            f"{len(attributes)} attributes: name fewer by --columns, or take adaptive-pairs"
        )
    degree = Counter(name for pair in pairs for name in pair)
    candidates = [*((name,) for name in attributes), *pairs]
    largest = max((sum(degree[name] for name in names) for names in candidates), default=0) or 1
    weights = {names: sum(degree[name] for name in names) / largest for names in candidates}
    return Workload(domain, attributes, weights)


def distances(
    tables: Mapping[Family, Counts],
    model: GraphicalModel,
    candidates: Sequence[Family],
    *,
    rows: int,
) -> npt.NDArray[np.float64]:
    """Compute how far some records' tables are from the model's, in L1."""
    pairs = model.pairs()
    values = []
    for family in candidates:
        table = pairs[family[0], family[1]] if len(family) == 2 else model.marginal(family)
        values.append(float(np.abs(tables[family] - rows * table.values.reshape(-1)).sum()))
    return np.array(values)


def expected_noise(
    domain: Domain, candidates: Sequence[Family], *, deviation: float
) -> npt.NDArray[np.float64]:
    """Compute the expected L1 norm of the noise that each candidate's table would have."""
    cells = np.array([domain.cells(family) for family in candidates], np.float64)
    return np.asarray(sqrt(2 / pi) * deviation * cells)
