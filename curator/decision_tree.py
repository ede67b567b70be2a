"""Decision trees whose tests are "attribute has this label": CART as CLLDP builds it, from noisy tables.

A node is reached by a path of tests and their answers. What is known of a node and a candidate attribute comes from every
table that has all attributes of the path and the candidate: cells that the path excludes are left out, the rest are added up,
and tables are averaged by inverse variance (`look`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..privacy.domain import Domain
from .marginal import Marginal, Numbers

__all__ = ["Known", "Looked", "Test", "Tree", "best_test", "gini", "look"]

Codes = Mapping[str, npt.NDArray[Any]]


class Test(NamedTuple):
    """Whether an attribute has a value, and the answer."""

    attribute: str
    value: int
    yes: bool


Path = tuple[Test, ...]


class Known(Protocol):
    """A noisy table of the label, first, and attributes."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """Without the label."""
        ...

    @property
    def joint(self) -> Marginal: ...

    def variance_of(self, size: int) -> float:
        """The variance of so many cells together."""
        ...


@dataclass(frozen=True, slots=True)
class Tree:
    """Tests by path, and labels by path: a leaf is a path without a test."""

    tests: Mapping[Path, tuple[str, int]]
    leaves: Mapping[Path, int]

    def predict(self, codes: Codes) -> npt.NDArray[np.int64]:
        """Descend with all rows at once."""
        rows = len(next(iter(codes.values())))
        found = np.zeros(rows, np.int64)
        waiting: list[tuple[Path, npt.NDArray[np.int64]]] = [((), np.arange(rows))]
        while waiting:
            path, at = waiting.pop()
            if path in self.leaves:
                found[at] = self.leaves[path]
                continue
            attribute, value = self.tests[path]
            has = np.asarray(codes[attribute])[at] == value
            yes, no = ((*path, Test(attribute, value, yes=answer)) for answer in (True, False))
            waiting += [(yes, at[has]), (no, at[~has])]
        return found

    def told(self, domain: Domain, *, label: str, path: Path = ()) -> dict[str, Any]:
        """Write it as JSON, from the root: codes for programs, and what they are for people."""
        if path in self.leaves:
            return {"label": self.leaves[path], "is": domain.labels[label][self.leaves[path]]}
        attribute, value = self.tests[path]
        yes, no = ((*path, Test(attribute, value, yes=answer)) for answer in (True, False))
        return {
            "attribute": attribute,
            "value": value,
            "is": domain.labels[attribute][value],
            "yes": self.told(domain, label=label, path=yes),
            "no": self.told(domain, label=label, path=no),
        }

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Tree:
        tests: dict[Path, tuple[str, int]] = {}
        leaves: dict[Path, int] = {}
        waiting: list[tuple[Path, Mapping[str, Any]]] = [((), told)]
        while waiting:
            path, node = waiting.pop()
            if "label" in node:
                leaves[path] = int(node["label"])
                continue
            name, value = str(node["attribute"]), int(node["value"])
            tests[path] = name, value
            waiting += [((*path, Test(name, value, yes=answer == "yes")), node[answer]) for answer in ("yes", "no")]
        return cls(tests, leaves)


class Looked(NamedTuple):
    """What is known of a node: Pr[path, l, a] of a candidate a, and the variance of each number and of each label's sum."""

    table: Numbers
    variance: float
    of_sum: float


def look(tables: Sequence[Known], path: Path, candidate: str | None, *, plain_mean: bool = False) -> Looked | None:
    """Average what all tables say that have the path's attributes and the candidate; `None`: there is none.

    Without a candidate the table has one column. `plain_mean`: as printed, whatever their noise.
    """
    need = dict.fromkeys([*(own.attribute for own in path), *([] if candidate is None else [candidate])])
    parts: list[tuple[Numbers, float, float]] = []
    for own in tables:
        if not need.keys() <= {*own.attributes}:
            continue
        label = own.joint.attributes[0]
        joint = own.joint.project((label, *need)).values
        fine = own.joint.cells // joint.size
        keep = joint
        for at, name in enumerate(need, start=1):
            mask = _allowed(path, name, joint.shape[at])
            keep = np.compress(mask, keep, axis=at) if name != candidate else np.where(_along(mask, at, keep.ndim), keep, 0.0)
        axis = None if candidate is None else list(need).index(candidate) + 1
        others = tuple(at for at in range(1, keep.ndim) if at != axis)
        cells = fine * int(np.prod([keep.shape[at] for at in others]))
        table = keep.sum(axis=others).reshape(len(joint), -1)
        columns = table.shape[1] if candidate is None else int(_allowed(path, candidate, table.shape[1]).sum())
        parts.append((table, own.variance_of(cells), own.variance_of(cells * columns)))
    if not parts:
        return None
    weights = np.ones(len(parts)) if plain_mean else np.array([1 / max(own[1], 1e-300) for own in parts])
    weights = weights / weights.sum()
    table = sum(w * own[0] for w, own in zip(weights, parts, strict=True))
    return Looked(
        np.asarray(table),
        float(sum(w * w * own[1] for w, own in zip(weights, parts, strict=True))),
        float(sum(w * w * own[2] for w, own in zip(weights, parts, strict=True))),
    )


def gini(labels: Numbers) -> float:
    """Compute 1 - sum of Pr[l]^2 of numbers that are not negative; of none it is 0."""
    total = labels.sum()
    return float(1 - np.square(labels / total).sum()) if total > 0 else 0.0


def best_test(looked: Looked, values: Sequence[int]) -> tuple[float, int] | None:
    """Find the value whose test lessens Gini's index most: by how much, and which (equation 12)."""
    table = looked.table
    best: tuple[float, int] | None = None
    whole = np.maximum(table.sum(axis=1), 0.0)
    if not whole.sum() > 0:
        return None
    for value in values:
        yes = np.maximum(table[:, value], 0.0)
        no = np.maximum(table.sum(axis=1) - table[:, value], 0.0)
        mass = yes.sum() + no.sum()
        if not (yes.sum() > 0 and no.sum() > 0):
            continue
        after = (yes.sum() * gini(yes) + no.sum() * gini(no)) / mass
        gain = gini(yes + no) - after
        if best is None or gain > best[0]:
            best = gain, value
    return best


def winner(labels: Numbers, *, deviation: float) -> int | None:
    """Name the most frequent label, if the next one is not within two standard deviations."""
    order = np.argsort(-labels, kind="stable")
    if len(labels) > 1 and abs(labels[order[0]] - labels[order[1]]) <= 2 * sqrt(2) * deviation:
        return None
    return int(order[0])


def _allowed(path: Path, name: str, size: int) -> npt.NDArray[np.bool_]:
    """Say which values of an attribute the path leaves."""
    mask = np.ones(size, np.bool_)
    for own in path:
        if own.attribute == name:
            mask &= (np.arange(size) == own.value) == own.yes
    return mask


def _along(mask: npt.NDArray[np.bool_], axis: int, axes: int) -> npt.NDArray[np.bool_]:
    return mask.reshape([-1 if at == axis else 1 for at in range(axes)])
