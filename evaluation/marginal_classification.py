"""Classification from published marginals: errors on real people of what one marginal teaches.

CALM's paper trains support vector machines on fixed marginals (Zhang et al. 2018). A marginal of
the label and some attributes is a table of rows with weights. The classifier learns from its cells,
each weighted by the number of rows that it stands for. This is what rows drawn from the marginal
teach, without the noise of drawing. Every published marginal that has the label gives a classifier,
and their errors are averaged. Beside them are the same classifiers from the exact marginals of the
real rows, and the most frequent label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from ..curator.projections import norm_sub
from ..parties import Records
from .classification import Target, learn, one_hot, one_hot_codes, split_rows

__all__ = ["MarginalMisclassification", "Published", "classify_from_marginals"]

Cells: TypeAlias = npt.NDArray[np.float64]
Published: TypeAlias = tuple[tuple[str, ...], Cells]
"""Attributes and cells of a published marginal."""


class MarginalMisclassification(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of the tested people whose label is predicted wrong, on average over marginals."""

    target: str
    classes: int
    tested: int
    """Number of people in the test."""
    marginals: int
    """Number of published marginals that have the label and another attribute."""
    published: float
    """Error of the classifiers that learnt from the published marginals."""
    exact: float
    """Error of the classifiers that learnt from the exact marginals of the other real rows."""
    majority: float
    """Error of always predicting the most frequent label."""


def classify_from_marginals(
    real: Records,
    published: Sequence[Published],
    target: Target,
    *,
    drop: Sequence[str] = (),
    seed: int = 0,
    test: Records | None = None,
) -> MarginalMisclassification | None:
    """Learn from each marginal that has the label; `None` where none has it with an attribute.

    A marginal with a dropped attribute is left out. The test is a fifth of the real table, drawn
    with `seed`, or the table `test`.
    """
    useful = [
        (names, cells)
        for names, cells in published
        if target.attribute in names and len(names) > 1 and not {*names} & {*drop}
    ]
    if not useful:
        return None
    training, tested = split_rows(real, test, seed=seed)
    labels = target.of(tested)
    exact = training.marginals([names for names, _ in useful])
    errors = [
        [
            _error(tested, labels, names, table, target, rows=len(training), seed=seed)
            for table in (cells, counts.astype(np.float64))
        ]
        for (names, cells), counts in zip(useful, exact, strict=True)
    ]
    majority = np.bincount(target.of(training)).argmax()
    return MarginalMisclassification(
        target=target.text,
        classes=target.classes(real.domain),
        tested=len(tested),
        marginals=len(useful),
        published=float(np.mean([error for error, _ in errors])),
        exact=float(np.mean([error for _, error in errors])),
        majority=float(np.mean(majority != labels)),
    )


def _error(
    tested: Records,
    labels: npt.NDArray[np.int64],
    names: tuple[str, ...],
    cells: Cells,
    target: Target,
    *,
    rows: int,
    seed: int,
) -> float:
    """Compute the error of the classifier that learns from one marginal, as of so many rows."""
    total = float(cells.sum())
    weights = norm_sub(cells, total) * (rows / total) if total > 0 else np.ones(cells.size)
    sizes = tested.domain.shape(names)
    codes = dict(zip(names, np.unravel_index(np.flatnonzero(weights > 0), sizes), strict=True))
    label = codes.pop(target.attribute)
    if target.positive is not None:
        label = np.isin(label, target.positive).astype(np.int64)
    others = [*codes]
    predictor = learn(
        one_hot_codes([*codes.values()], tested.domain.shape(others)),
        label,
        seed=seed,
        weights=weights[weights > 0],
    )
    return float(np.mean(predictor.predict(one_hot(tested, others)) != labels))
