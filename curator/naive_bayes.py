"""Naive Bayes, learnt from tables of a label with one attribute each.

The score of a label l is Pr[l] times the product of Pr[a | l] over the attributes a.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .labels import pool
from .marginal import Codes, Numbers
from .projections import norm_mul, norm_sub

__all__ = ["LabelTable", "NaiveBayes", "naive_bayes"]


@dataclass(frozen=True, slots=True)
class LabelTable:
    """An estimate of Pr[l, a] for one attribute a."""

    attribute: str
    joint: Numbers
    """A row for each label."""
    variance: float
    """Variance of the sum of a row."""
    users: int
    """Number of users whose reports it comes from."""


@dataclass(frozen=True, slots=True)
class NaiveBayes:
    """A classifier over codes."""

    prior: Numbers
    likelihoods: dict[str, Numbers]
    """Pr[a | l] of each attribute, a row for each label."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes from which the label is predicted."""
        return tuple(self.likelihoods)

    def scores(self, codes: Mapping[str, Codes]) -> Numbers:
        """Compute ln Pr[l] + sum of ln Pr[a | l], a row for each person."""
        people = len(next(iter(codes.values())))
        with np.errstate(divide="ignore"):
            scores = np.tile(np.log(self.prior), (people, 1))
            for name, table in self.likelihoods.items():
                scores += np.log(table).T[codes[name]]
        return scores

    def scores_from(self, name: str, codes: Codes) -> Numbers:
        """Compute Pr[l] Pr[a | l] from one attribute alone."""
        return np.asarray(self.prior * self.likelihoods[name].T[codes])

    def predict(self, codes: Mapping[str, Codes], people: int) -> npt.NDArray[np.int64]:  # noqa: ARG002 - as trees do
        """Predict the label of each person; of equally likely labels the first."""
        return np.asarray(np.argmax(self.scores(codes), axis=1), np.int64)

    def probabilities(self, codes: Mapping[str, Codes], people: int, *, labels: int) -> Numbers:  # noqa: ARG002
        """Compute the probability of each label, a row for each person."""
        scores = self.scores(codes)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def check(self, sizes: Mapping[str, int], *, labels: int) -> None:
        """Raise a `ValueError` if the tables do not fit the attributes and the labels."""
        tables = [self.prior[:, np.newaxis], *self.likelihoods.values()]
        if len(tables) < 2 or any(table.ndim != 2 or len(table) != labels for table in tables):
            raise ValueError(f"expected tables with a row for each of {labels} labels")
        if not all(np.isfinite(table).all() and (table >= 0).all() for table in tables):
            raise ValueError("expected probabilities, found other numbers")
        for name, table in self.likelihoods.items():
            if table.shape[1] != sizes[name]:
                raise ValueError(
                    f"expected a column for each of {sizes[name]} labels of {name}, "
                    f"found {table.shape[1]}"
                )

    def to_builtins(self) -> dict[str, object]:
        """Make the entries of model.json."""
        return {
            "kind": "naive-bayes",
            "prior": self.prior.tolist(),
            "likely": {name: table.tolist() for name, table in self.likelihoods.items()},
        }

    @classmethod
    def from_builtins(cls, model: Mapping[str, Any]) -> NaiveBayes:
        """Read what `to_builtins` wrote."""
        tables = {name: np.array(table, float) for name, table in model["likely"].items()}
        return cls(np.array(model["prior"], float), tables)


def naive_bayes(tables: Sequence[LabelTable], *, as_printed: bool = False) -> NaiveBayes:
    """Learn from noisy tables (CLLDP, Algorithm 3, lines 5 to 10).

    Pr[l] is the mean over all tables by inverse variance. The paper does not say what to do with
    negative cells. Here the row of a label becomes the nearest row without negative cells that sums
    to Pr[l], because all tables together estimate Pr[l] better than one. `as_printed` takes a plain
    mean and projects each table alone. Every cell is increased by 1 / (n m), so that noise excludes
    no label.
    """
    sums = [(table.joint.sum(axis=1), 1.0 if as_printed else table.variance) for table in tables]
    prior, _ = pool(sums)
    prior = (norm_mul if as_printed else norm_sub)(prior)
    likelihoods = {}
    for table in tables:
        rows = (
            norm_sub(table.joint)
            if as_printed
            else np.stack([norm_sub(*row) for row in zip(table.joint, prior, strict=True)])
        )
        joint = rows + 1 / (max(table.users, 1) * table.joint.shape[1])
        likelihoods[table.attribute] = joint / joint.sum(axis=1, keepdims=True)
    return NaiveBayes(prior, likelihoods)
