"""Naive Bayes from tables of a label with one attribute each: Pr[l] times the product of Pr[a |
l].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .labels import pooled
from .marginal import Numbers
from .projections import norm_mul, norm_sub

__all__ = ["LabelTable", "NaiveBayes", "naive_bayes"]

Codes = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class LabelTable:
    """An estimate of Pr[l, a], a line for each label; the variance of a line's sum; and how many
    users it is from.
    """

    attribute: str
    joint: Numbers
    variance: float
    users: int


@dataclass(frozen=True, slots=True)
class NaiveBayes:
    """A classifier over codes."""

    prior: Numbers
    likely: dict[str, Numbers]
    """Pr[a | l] of each attribute, a line for each label."""

    def scores(self, codes: Codes) -> Numbers:
        """Compute ln Pr[l] + sum of ln Pr[a | l], a line for each row."""
        rows = len(next(iter(codes.values())))
        with np.errstate(divide="ignore"):
            found = np.tile(np.log(self.prior), (rows, 1))
            for name, table in self.likely.items():
                found += np.log(table).T[codes[name]]
        return found

    def scores_of(self, name: str, values: npt.NDArray[Any]) -> Numbers:
        """The same of one attribute alone."""
        return np.asarray(self.prior * self.likely[name].T[values])

    def told(self) -> dict[str, Any]:
        """Write it as JSON."""
        return {
            "kind": "naive-bayes",
            "prior": self.prior.tolist(),
            "likely": {name: own.tolist() for name, own in self.likely.items()},
        }

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> NaiveBayes:
        return cls(
            np.array(told["prior"], float),
            {name: np.array(own, float) for name, own in told["likely"].items()},
        )


def naive_bayes(tables: Sequence[LabelTable], *, as_printed: bool = False) -> NaiveBayes:
    """Learn from noisy tables (Algorithm 3, lines 5 to 10).

    Pr[l] is the mean of all tables' by inverse variance. What becomes of negative cells the paper
    does not say: here each label's line becomes the nearest one that is not negative and sums to
    Pr[l], which all tables know better than one. `as_printed`: a plain mean, and each table for
    itself. 1 / (n m) is added to each cell: no label is ruled out by noise.
    """
    prior, _ = pooled(
        [(own.joint.sum(axis=1), 1.0 if as_printed else own.variance) for own in tables]
    )
    prior = (norm_mul if as_printed else norm_sub)(prior)
    likely = {}
    for own in tables:
        lines = (
            norm_sub(own.joint)
            if as_printed
            else np.stack([norm_sub(*line) for line in zip(own.joint, prior, strict=True)])
        )
        joint = lines + 1 / (max(own.users, 1) * own.joint.shape[1])
        likely[own.attribute] = joint / joint.sum(axis=1, keepdims=True)
    return NaiveBayes(prior, likely)
