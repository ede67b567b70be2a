"""Decision trees over codes: tests of whether an attribute has one of some values, and labels where
they end.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..privacy.domain import Domain, intervals

__all__ = ["Node", "Path", "Step", "Split", "Tree"]

Codes = Mapping[str, npt.NDArray[Any]]
DEEPEST: Final = 64


class Split(NamedTuple):
    """Whether an attribute has one of these values."""

    attribute: str
    values: tuple[int, ...]


class Step(NamedTuple):
    """A test, and its answer."""

    test: Split
    yes: bool


Path = tuple[Step, ...]


class Node(NamedTuple):
    """A test and where its answers lead, by number; or, without a test, an end. The label is what
    is likeliest here.
    """

    test: Split | None
    yes: int
    no: int
    label: int


@dataclass(frozen=True, slots=True)
class Tree:
    """Nodes, the root first, each before those to which it leads."""

    nodes: tuple[Node, ...]

    @classmethod
    def of(cls, tests: Mapping[Path, Split], labels: Mapping[Path, int]) -> Tree:
        """Make one of tests by path; `labels` of all ends, and of the nodes between, where they are
        known.
        """
        nodes: list[Node] = []

        def add(path: Path) -> int:
            at = len(nodes)
            nodes.append(Node(None, 0, 0, labels.get(path, 0)))
            if (test := tests.get(path)) is not None:
                yes, no = (add((*path, Step(test, yes=answer))) for answer in (True, False))
                nodes[at] = Node(test, yes, no, labels.get(path, 0))
            return at

        add(())
        return cls(tuple(nodes))

    @property
    def ends(self) -> list[int]:
        """List the nodes without a test."""
        return [at for at, own in enumerate(self.nodes) if own.test is None]

    @property
    def attributes(self) -> list[str]:
        """List what is tested."""
        return list(dict.fromkeys(own.test.attribute for own in self.nodes if own.test is not None))

    def end_of(self, codes: Codes, rows: int) -> npt.NDArray[np.int64]:
        """Say at which node each row ends: all go down together."""
        found = np.zeros(rows, np.int64)
        for at, own in enumerate(self.nodes):
            if own.test is None:
                continue
            here = np.flatnonzero(found == at)
            has = np.isin(np.asarray(codes[own.test.attribute])[here], own.test.values)
            found[here] = np.where(has, own.yes, own.no)
        return found

    def predict(self, codes: Codes, rows: int) -> npt.NDArray[np.int64]:
        return np.array([own.label for own in self.nodes])[self.end_of(codes, rows)]

    def labelled(self, labels: Mapping[int, int]) -> Tree:
        """Give ends other labels, and let tests fall away of which both answers end alike."""
        tests: dict[Path, Split] = {}
        found: dict[Path, int] = {}

        def visit(at: int, path: Path) -> int | None:
            """Return the label, where all below have the same."""
            own = self.nodes[at]
            found[path] = labels.get(at, own.label)
            if own.test is None:
                return found[path]
            below = [
                visit(to, (*path, Step(own.test, yes=answer)))
                for to, answer in ((own.yes, True), (own.no, False))
            ]
            if below[0] is not None and below[0] == below[1]:
                found[path] = below[0]
                return below[0]
            tests[path] = own.test
            return None

        visit(0, ())
        return Tree.of(tests, found)

    def told(self, domain: Domain, *, label: str, at: int = 0) -> dict[str, Any]:
        """Write it as JSON, from the root: codes for programs, and what they are for people."""
        own = self.nodes[at]
        if own.test is None:
            return {"label": own.label, "is": domain.labels[label][own.label]}
        return {
            "attribute": own.test.attribute,
            "values": list(own.test.values),
            "is": _named(domain.labels[own.test.attribute], own.test.values),
            "yes": self.told(domain, label=label, at=own.yes),
            "no": self.told(domain, label=label, at=own.no),
        }

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Tree:
        """Read what `told` wrote."""
        tests: dict[Path, Split] = {}
        labels: dict[Path, int] = {}
        waiting: list[tuple[Path, Mapping[str, Any]]] = [((), told)]
        while waiting:
            path, node = waiting.pop()
            if "label" in node:
                labels[path] = operator.index(node["label"])  # a whole number, or a TypeError
                continue
            if len(path) > DEEPEST:
                raise ValueError(f"expected at most {DEEPEST} tests on a path, found more")
            test = Split(
                str(node["attribute"]), tuple(operator.index(value) for value in node["values"])
            )
            tests[path] = test
            waiting += [
                ((*path, Step(test, yes=answer == "yes")), node[answer]) for answer in ("yes", "no")
            ]
        return cls.of(tests, labels)


def _named(labels: Sequence[str], values: Sequence[int]) -> str:
    """Name values: neighbours among intervals as one.

    >>> _named(("[0, 1]", "(1, 2]", "(2, 3]"), (0, 1)), _named(("a", "b", "c"), (0, 2))
    ('[0, 2]', 'a or c')
    """
    ordered = sorted(values)
    if (
        len(ordered) > 1
        and intervals(labels)
        and ordered == list(range(ordered[0], ordered[-1] + 1))
    ):
        return f"{labels[ordered[0]].split(', ')[0]}, {labels[ordered[-1]].split(', ')[1]}"
    return " or ".join(labels[value] for value in ordered)
