"""A forest that grows edge by edge (Kruskal 1956)."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["SpanningForest"]


class SpanningForest:
    """Edges between named nodes that close no circle.

    >>> forest = SpanningForest([("a", "b"), ("b", "c")])
    >>> forest.joins("a", "c"), forest.joins("c", "d")
    (False, True)
    """

    def __init__(self, edges: Iterable[tuple[str, ...]] = ()) -> None:
        self.edges: list[tuple[str, ...]] = []
        self._tree_of: dict[str, str] = {}
        """The tree of each node with an edge. A tree is named by one of its nodes."""
        for first, second in edges:
            self.add(first, second)

    def joins(self, first: str, second: str) -> bool:
        """Tell whether an edge between these nodes would join two trees."""
        return self._tree_of.get(first, first) != self._tree_of.get(second, second)

    def trees(self, names: Iterable[str]) -> list[str]:
        """List the tree of each of these nodes, by the name of one of its nodes."""
        return [self._tree_of.get(name, name) for name in names]

    def add(self, first: str, second: str) -> None:
        """Add an edge that joins two trees.

        Raises:
            ValueError: it closes a circle.
        """
        if not self.joins(first, second):
            raise ValueError(f"expected an edge that closes no circle, found {first}, {second}")
        self.edges.append((first, second))
        remaining = self._tree_of.setdefault(first, first)
        removed = self._tree_of.setdefault(second, second)
        for name, tree in self._tree_of.items():
            if tree == removed:
                self._tree_of[name] = remaining
