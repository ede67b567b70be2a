"""The messages of MST, and how they are written and read.

In edges an attribute is its place among those with two labels or more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...curator.spanning_forest import SpanningForest
from ...messages import MessageError, Private, Where, message, personal
from ...privacy import Domain
from ..adaptive_pairs.messages import Plans
from ..adaptive_pairs.tables import PlannedTable
from ..secure_sum import Family, SecureSums
from .rare_labels import MergedLabels

__all__ = ["Messages", "Shares", "add_edges", "edge_numbers", "read_groups", "read_shares"]

Shares = Mapping[str, NDArray[np.float64]]
"""The estimated shares of each attribute's groups."""


class Messages(SecureSums, Plans):
    """The messages of MST, beside those of sums and plans; its class names this in `uses`."""

    @message
    class Shares:
        """To all parties, after a plan of all attributes in groups: the shares of the groups."""

        shares: NDArray[np.float64]

    @personal
    @message
    class Turn:
        """To the party on turn: the edges so far."""

        edges: tuple[tuple[int, ...], ...]

    @message
    class Chosen:
        """From the party on turn: the edges that it adds."""

        edges: tuple[tuple[int, ...], ...]

    @message
    class Tree:
        """To all parties: all edges, whose tables are summed next."""

        edges: tuple[tuple[int, ...], ...]


def read_groups(
    plan: Sequence[PlannedTable], domain: Domain, attributes: Sequence[str], *, where: Where
) -> MergedLabels:
    """Read the groups of labels from a plan of all attributes in their order.

    Raises:
        MessageError: the plan has other tables.
    """
    if [table.attributes for table in plan] != [(name,) for name in attributes]:
        raise MessageError(
            f"expected the groups of {len(attributes)} attributes in their order, found other "
            "tables",
            where=where,
        )
    groupings = {table.attributes[0]: table.groupings[0] for table in plan if table.groupings}
    return MergedLabels(domain, groupings)


def read_shares(
    values: NDArray[np.float64], merged: MergedLabels, attributes: Sequence[str], *, where: Where
) -> Shares:
    """Read the shares of each attribute's groups.

    With shares of at most 1 no distance is so large that rounding changes it by more than a record.

    Raises:
        MessageError: a share is missing, or is not between 0 and 1.
    """
    sizes = merged.domain.shape(attributes)
    # The comparison is written so that a NaN fails it.
    if values.shape != (sum(sizes),) or not ((values >= 0) & (values <= 1)).all():
        raise MessageError(
            f"expected {sum(sizes)} shares of groups from 0 to 1, found others", where=where
        )
    return dict(zip(attributes, np.split(values, np.cumsum(sizes)[:-1]), strict=True))


def edge_numbers(edges: Sequence[Family], attributes: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Write edges as the places of their attributes."""
    places = {name: place for place, name in enumerate(attributes)}
    return tuple(tuple(places[name] for name in edge) for edge in edges)


def add_edges(
    forest: SpanningForest,
    edges: Sequence[Sequence[int]],
    attributes: Sequence[str],
    *,
    count: int | None = None,
    where: Where,
) -> None:
    """Add the edges of a message to a forest: so many, where their number is known.

    Raises:
        MessageError: these are not so many edges, each between two attributes in their order, or
            one closes a circle.
    """
    if count is not None and len(edges) != count:
        raise MessageError(f"expected {count} edges of the tree, found {len(edges)}", where=where)
    for edge in edges:
        inside = len(edge) == 2 and 0 <= edge[0] < edge[1] < len(attributes)
        family = tuple(attributes[place] for place in edge) if inside else ("", "")
        if not forest.joins(*family):
            raise MessageError(
                "expected an edge between two attributes of different trees, found ",
                Private(list(edge)),
                where=where,
            )
        forest.add(*family)
