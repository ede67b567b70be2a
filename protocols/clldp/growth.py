"""The growth of CLLDP's decision tree by levels: tests and labels from the tables so far.

`TreeGrowth` mends what `PrintedGrowth` does as printed:

    stop     a node is a leaf if its mass is not above the noise, or no test helps; as printed
             neither ever happens (C10)
    label    the most frequent label if it leads beyond the noise, otherwise that of the parent
    tables   averaged by inverse variance; as printed alike
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ...curator.decision_tree import Answer, Path, Split, Tree
from ...curator.tree_levels import NodeEstimate, best_value, estimate_node, winner
from ...privacy import Domain
from .estimates import GroupEstimate

__all__ = ["PrintedGrowth", "TreeGrowth"]

MIN_GAIN: Final = 1e-12


@dataclass(slots=True)
class TreeGrowth:
    """The tree so far, and all tables: the state of the curator."""

    domain: Domain
    names: Sequence[str]
    """Attributes that can be tested."""
    tables: list[GroupEstimate]
    waiting: list[Path] = field(default_factory=lambda: [()])
    """Branches without a test yet."""
    tests: dict[Path, Split] = field(default_factory=dict)
    labels: dict[Path, int] = field(default_factory=dict)

    @property
    def tree(self) -> Tree:
        """The tree so far."""
        return Tree.of(self.tests, self.labels)

    def grow(self, *, last: bool) -> None:
        """Give each waiting branch its best test, or make it a leaf."""
        waiting, self.waiting = self.waiting, []
        for path in waiting:
            view = self.estimate(path)
            self.labels[path] = self._label(view, path)
            if self.is_leaf(view) or (test := self._best_test(path)) is None:
                continue
            self.tests[path] = test
            for yes in (True, False):
                child = (*path, Answer(test, yes=yes))
                self.labels[child] = self._label(self.estimate(child), child)
                if not last:
                    self.waiting.append(child)

    def estimate(self, path: Path, candidate: str | None = None) -> NodeEstimate | None:
        """Estimate the labels at a node, and how they go with a candidate attribute."""
        return estimate_node(self.tables, path, candidate)

    def is_leaf(self, view: NodeEstimate | None) -> bool:
        """Decide whether too little is known of a node to test it."""
        if view is None:
            return True
        return bool(view.table.sum() < 2 * (view.row_variance * len(view.table)) ** 0.5)

    def winner(self, view: NodeEstimate) -> int | None:
        """Find the most frequent label, if it leads beyond the noise."""
        return winner(view.table.sum(axis=1), deviation=view.row_variance**0.5)

    def _label(self, view: NodeEstimate | None, path: Path) -> int:
        parent = self.labels.get(path[:-1], 0)
        label = None if view is None else self.winner(view)
        return parent if label is None else label

    def _best_test(self, path: Path) -> Split | None:
        """Choose the test that lowers Gini's index most (equation 12)."""
        best: tuple[float, Split] | None = None
        for name in self.names:
            if any(answer.test.attribute == name and answer.yes for answer in path):
                continue
            view = self.estimate(path, name)
            tested = {
                value
                for answer in path
                if answer.test.attribute == name
                for value in answer.test.values
            }
            values = [value for value in range(self.domain.cells((name,))) if value not in tested]
            choice = None if view is None else best_value(view, values)
            if choice is not None and (best is None or choice[0] > best[0]):
                best = choice[0], Split(name, (choice[1],))
        return None if best is None or best[0] <= MIN_GAIN else best[1]


class PrintedGrowth(TreeGrowth):
    """The same as printed."""

    def estimate(self, path: Path, candidate: str | None = None) -> NodeEstimate | None:
        return estimate_node(self.tables, path, candidate, plain_mean=True)

    def is_leaf(self, view: NodeEstimate | None) -> bool:  # noqa: ARG002 - as printed
        return False

    def winner(self, view: NodeEstimate) -> int | None:
        return winner(view.table.sum(axis=1), deviation=0.0)
