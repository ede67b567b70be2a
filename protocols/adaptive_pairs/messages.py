"""The message with the plan of a round, and how parties check it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - read at run time, as an annotation of a message

from ...messages import CURATOR, MessageError, Shape, message
from ...parties import Party
from ...privacy import Domain
from ...privacy.many_labels import too_many_labels
from .tables import MAX_WEIGHT, Grouping, PlannedTable

__all__ = ["Plans", "cells_beyond_bound", "plan_message", "receive_plan"]

MAX_CELLS: Final = 1 << 25
"""Most cells of a round's tables: every role must be able to hold them."""
MAX_ATTRIBUTES: Final = 3
"""Most attributes of a table."""
MAX_GROUPINGS: Final = 3
"""Most groupings of an attribute in a plan: a party holds a column of its records for each."""


class Plans:
    """The message of plans; a protocol that plans its rounds names this class in `uses`."""

    @message
    class Plan:
        """From the curator: the tables of the next round.

        Attributes are numbered in the order of the domain, and groupings from 1; 0 stands for each
        label by itself. `lengths` has the number of attributes of each table. `attributes` and
        `groupings` have a number for each attribute of each table, one table after another.
        """

        weights: Annotated[NDArray[np.uint8], Shape(None)]
        lengths: Annotated[NDArray[np.uint8], Shape(None)]
        attributes: Annotated[NDArray[np.uint16], Shape(None)]
        groupings: Annotated[NDArray[np.uint16], Shape(None)]
        groups: tuple[Annotated[NDArray[np.uint16], Shape(None)], ...]


def plan_message(domain: Domain, tables: Sequence[PlannedTable]) -> Plans.Plan:
    """Write a plan."""
    places = {name: place for place, name in enumerate(domain.attributes)}
    numbers: dict[Grouping, int] = {(): 0}
    attributes, groupings = [], []
    for table in tables:
        for name, grouping in zip(
            table.attributes, table.groupings or ((),) * len(table.attributes), strict=True
        ):
            attributes.append(places[name])
            groupings.append(numbers.setdefault(grouping, len(numbers)))
    return Plans.Plan(
        np.array([table.weight for table in tables], np.uint8),
        np.array([len(table.attributes) for table in tables], np.uint8),
        np.array(attributes, np.uint16),
        np.array(groupings, np.uint16),
        tuple(np.array(grouping, np.uint16) for grouping in numbers if grouping),
    )


def receive_plan(me: Party) -> list[PlannedTable]:
    """Receive a plan, and check that it can be counted.

    Raises:
        MessageError: it is malformed, or its weights or cells exceed the bounds.
    """
    plan = me.receive(Plans.Plan, source=CURATOR)
    try:
        tables = _read(me.records.domain, plan)
    except ValueError as error:
        raise MessageError(str(error), where=me.where) from None
    if problem := cells_beyond_bound(me.records.domain, tables):
        raise MessageError(problem, where=me.where)
    return tables


def cells_beyond_bound(domain: Domain, tables: Sequence[PlannedTable]) -> str:
    """Describe tables with more cells than a role can hold; return nothing for others."""
    if sum(table.cells(domain) for table in tables) <= MAX_CELLS:
        return ""
    return too_many_labels("tables of a round", domain)


def _read(domain: Domain, plan: Plans.Plan) -> list[PlannedTable]:
    """Read a plan. A malformed one is a `ValueError`."""
    lengths = plan.lengths.tolist()
    count = len(plan.weights)
    if not count or len(lengths) != count:
        raise ValueError(
            f"expected a length for each of the plan's tables, found {len(lengths)} for {count}"
        )
    if len(plan.attributes) != sum(lengths) or len(plan.groupings) != sum(lengths):
        raise ValueError(
            f"expected {sum(lengths)} attributes and groupings in the plan, found "
            f"{len(plan.attributes)} and {len(plan.groupings)}"
        )
    if min(lengths) < 1 or max(lengths) > MAX_ATTRIBUTES:
        raise ValueError(
            f"expected tables of 1 to {MAX_ATTRIBUTES} attributes in the plan, found "
            f"{min(lengths)} to {max(lengths)}"
        )
    weights = plan.weights.tolist()
    if min(weights) < 1 or max(weights) > MAX_WEIGHT:
        raise ValueError(
            f"expected weights of 1 to {MAX_WEIGHT} in the plan, found {min(weights)} to "
            f"{max(weights)}"
        )
    names = domain.attributes
    if max(plan.attributes.tolist()) >= len(names):
        raise ValueError(
            f"expected numbers of attributes below {len(names)} in the plan, found "
            f"{max(plan.attributes.tolist())}"
        )
    if max(plan.groupings.tolist()) > len(plan.groups):
        raise ValueError(
            f"expected numbers of groupings up to {len(plan.groups)} in the plan, found "
            f"{max(plan.groupings.tolist())}"
        )
    groups: list[Grouping] = [(), *(_read_grouping(groups) for groups in plan.groups)]
    attributes, groupings = iter(plan.attributes.tolist()), iter(plan.groupings.tolist())
    tables = []
    for length, weight in zip(lengths, weights, strict=True):
        places = [next(attributes) for _ in range(length)]
        if any(first >= second for first, second in pairwise(places)):
            raise ValueError(
                "expected different attributes in the domain's order in each table of the plan, "
                f"found numbers {places}"
            )
        chosen = tuple(groups[next(groupings)] for _ in range(length))
        table = PlannedTable(
            tuple(names[place] for place in places), weight, chosen if any(chosen) else ()
        )
        tables.append(table)
    _check_groupings(domain, tables)
    different = {(table.attributes, table.groupings) for table in tables}
    if len(different) < len(tables):
        raise ValueError("expected different tables in the plan, found one twice")
    return tables


def _read_grouping(groups: NDArray[np.uint16]) -> Grouping:
    if not len(groups):
        raise ValueError("expected a group for each label in the plan, found none")
    if set(groups.tolist()) != set(range(int(groups.max()) + 1)):
        raise ValueError(
            "expected groups numbered from 0 without a gap in the plan, found "
            f"{len(set(groups.tolist()))} up to {int(groups.max())}"
        )
    return tuple(groups.tolist())


def _check_groupings(domain: Domain, tables: Sequence[PlannedTable]) -> None:
    """Refuse a grouping of another number of labels, and more groupings than a party can hold."""
    groupings: dict[str, set[Grouping]] = {name: set() for name in domain.attributes}
    for table in tables:
        for name, grouping in zip(table.attributes, table.groupings, strict=False):
            labels = domain.cells((name,))
            if grouping and len(grouping) != labels:
                raise ValueError(
                    f"expected a group for each of the {labels} labels of {name}, found "
                    f"{len(grouping)}"
                )
            groupings[name].add(grouping)
            if len(groupings[name] - {()}) > MAX_GROUPINGS:
                raise ValueError(
                    f"expected at most {MAX_GROUPINGS} groupings of {name} in the plan, found more"
                )
