"""Decision trees over codes.

A test asks whether an attribute has one of some values. A leaf has a label.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ..privacy.domain import Domain, intervals
from .marginal import Codes, Numbers

__all__ = ["Answer", "Node", "Path", "Split", "Tree"]

MAX_DEPTH: Final = 64
"""Tests on a path of a tree that is read."""

Integers: TypeAlias = npt.NDArray[np.int64]


class Split(NamedTuple):
    """The test whether an attribute has one of these values."""

    attribute: str
    values: tuple[int, ...]


class Answer(NamedTuple):
    """A test and its answer."""

    test: Split
    yes: bool


Path: TypeAlias = tuple[Answer, ...]


class Node(NamedTuple):
    """A test and the numbers of the next nodes, or a leaf, which has no test."""

    test: Split | None
    yes: int
    no: int
    label: int
    """The most likely label here."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Nodes in an order in which each stands before the next ones. The root is the first."""

    nodes: tuple[Node, ...]

    @classmethod
    def of(cls, tests: Mapping[Path, Split], labels: Mapping[Path, int]) -> Tree:
        """Make a tree from the test after each path.

        `labels` has the label of every leaf, and those of inner nodes as far as they are known.
        """
        nodes: list[Node] = []

        def add(path: Path) -> int:
            number = len(nodes)
            nodes.append(Node(None, 0, 0, labels.get(path, 0)))
            if (test := tests.get(path)) is not None:
                yes, no = (add((*path, Answer(test, yes=answer))) for answer in (True, False))
                nodes[number] = Node(test, yes, no, labels.get(path, 0))
            return number

        add(())
        return cls(tuple(nodes))

    @property
    def leaves(self) -> list[int]:
        """Numbers of the nodes without a test."""
        return [number for number, node in enumerate(self.nodes) if node.test is None]

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes that are tested."""
        tests = (node.test for node in self.nodes)
        return tuple(dict.fromkeys(test.attribute for test in tests if test is not None))

    def leaf_of(self, codes: Mapping[str, Codes], people: int) -> Integers:
        """Find the leaf of each person; all go down the tree together."""
        nodes = np.zeros(people, np.int64)
        for number, node in enumerate(self.nodes):
            if node.test is None:
                continue
            here = np.flatnonzero(nodes == number)
            passed = np.isin(np.asarray(codes[node.test.attribute])[here], node.test.values)
            nodes[here] = np.where(passed, node.yes, node.no)
        return nodes

    def predict(self, codes: Mapping[str, Codes], people: int) -> Integers:
        """Predict the label of each person."""
        return np.array([node.label for node in self.nodes])[self.leaf_of(codes, people)]

    def probabilities(self, codes: Mapping[str, Codes], people: int, *, labels: int) -> Numbers:
        """Give the predicted label of each person probability 1."""
        return np.eye(labels)[self.predict(codes, people)]

    def check(self, sizes: Mapping[str, int], *, labels: int) -> None:
        """Raise a `ValueError` if tests or labels are outside of the attributes and the labels."""
        if not all(0 <= node.label < labels for node in self.nodes):
            raise ValueError(f"expected leaves with one of {labels} labels")
        for node in self.nodes:
            if node.test is not None and not all(
                0 <= value < sizes[node.test.attribute] for value in node.test.values
            ):
                raise ValueError(
                    f"expected tests of {node.test.attribute} for codes "
                    f"below {sizes[node.test.attribute]}"
                )

    def relabel(self, labels: Mapping[int, int]) -> Tree:
        """Change the labels of some leaves, and remove tests whose leaves then agree."""
        tests: dict[Path, Split] = {}
        new_labels: dict[Path, int] = {}

        def visit(number: int, path: Path) -> int | None:
            """Return the label if all leaves below have the same one."""
            node = self.nodes[number]
            new_labels[path] = labels.get(number, node.label)
            if node.test is None:
                return new_labels[path]
            yes, no = (
                visit(child, (*path, Answer(node.test, yes=answer)))
                for child, answer in ((node.yes, True), (node.no, False))
            )
            if yes is not None and yes == no:
                new_labels[path] = yes
                return yes
            tests[path] = node.test
            return None

        visit(0, ())
        return Tree.of(tests, new_labels)

    def to_builtins(self, domain: Domain, *, label: str, node: int = 0) -> dict[str, object]:
        """Make the tree of model.json from a node on: codes for programs, and texts for people."""
        _, yes, no, code = self.nodes[node]
        if (test := self.nodes[node].test) is None:
            return {"label": code, "is": domain.labels[label][code]}
        return {
            "attribute": test.attribute,
            "values": list(test.values),
            "is": _text(domain.labels[test.attribute], test.values),
            "yes": self.to_builtins(domain, label=label, node=yes),
            "no": self.to_builtins(domain, label=label, node=no),
        }

    @classmethod
    def from_builtins(cls, root: Mapping[str, Any]) -> Tree:
        """Read what `to_builtins` wrote."""
        tests: dict[Path, Split] = {}
        labels: dict[Path, int] = {}
        pending: list[tuple[Path, Mapping[str, Any]]] = [((), root)]
        while pending:
            path, node = pending.pop()
            if "label" in node:
                labels[path] = operator.index(node["label"])  # a number with a fraction is an error
                continue
            if len(path) > MAX_DEPTH:
                raise ValueError(f"expected at most {MAX_DEPTH} tests on a path, found more")
            values = tuple(operator.index(value) for value in node["values"])
            test = tests[path] = Split(str(node["attribute"]), values)
            pending += [
                ((*path, Answer(test, yes=answer == "yes")), node[answer])
                for answer in ("yes", "no")
            ]
        return cls.of(tests, labels)


def _text(labels: Sequence[str], values: Sequence[int]) -> str:
    """Name values; neighbouring intervals become one.

    >>> _text(("[0, 1]", "(1, 2]", "(2, 3]"), (0, 1)), _text(("a", "b", "c"), (0, 2))
    ('[0, 2]', 'a or c')
    """
    ordered = sorted(values)
    if len(ordered) > 1 and intervals(labels) and ordered == [*range(ordered[0], ordered[-1] + 1)]:
        return f"{labels[ordered[0]].split(', ')[0]}, {labels[ordered[-1]].split(', ')[1]}"
    return " or ".join(labels[value] for value in ordered)
