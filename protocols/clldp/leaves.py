"""Asking users at which end of a public tree they are, and for their label: both sides.

    aggregator  Grown       the tree, which users are asked, and how
    cohort      Reports     as in any survey, or Sums

A user goes down the tree with her own attributes and reports (end, label) as a cell like any other:
the end is an attribute that follows from hers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ...curator import Curator
from ...curator.decision_tree import Node, Split, Tree
from ...curator.marginal import Numbers
from ...messages import CURATOR, MessageError, message
from ...parties import Party
from ...privacy import Domain
from ...privacy.local import Survey
from ...privacy.local.groups import Groups
from ..local import Mustered, Question, answer, hear
from ..local.asking import Enlisted, Heard
from .asking import randomizer_of
from .settings import LabelOptions

__all__ = ["Ends", "ask_ends", "respond_at_ends"]

MOST_NODES: Final = 1 << 14


class Ends:
    """The message."""

    @message
    class Grown:
        """A tree: of each node the attribute, where its answers lead, and the values of yes; of an
        end nothing.

        With it the first of the users who are asked, how many, and k of their reports. omega is 1:
        the tree may be anything.
        """

        nodes: tuple[tuple[int, ...], ...]
        start: int
        size: int
        heads: int


def ask_ends(
    desk: Curator,
    mustered: Mustered,
    tree: Tree,
    options: LabelOptions,
    *,
    label: str,
    start: int,
    size: int,
    heads: int,
) -> tuple[Numbers, float, list[Survey]] | None:
    """Ask users at which end they are: the estimate of label and end, a line a label, and its
    cells' variance.

    With nobody to ask, say so: `None`.
    """
    domain, ends = desk.domain, len(tree.leaves)
    labels = domain.cells((label,))
    desk.broadcast(Ends.Grown(_written(tree, domain), start, size, heads))
    if not size:
        return None
    own = randomizer_of(
        labels * ends,
        epsilon=options.epsilon,
        belief=1.0,
        heads=heads,
        kind=options.randomizer,
        known={},
    )
    survey = Survey(mustered.users, mustered.key, (own,), np.array([size]), start)
    (said,) = hear(desk, survey, [Question((label,), own, size)], options)
    return said.frequencies().reshape(labels, ends), own.variance(users=size), [survey]


def respond_at_ends(
    me: Party, enlisted: Enlisted, groups: Groups, options: LabelOptions, *, label: str
) -> Enlisted:
    """Hear the tree, and let users go down it; one without a test asks nobody."""
    said, domain = me.receive(Ends.Grown, source=CURATOR), me.records.domain
    if not said.size:
        return enlisted
    try:
        tree, survey = _checked(said, domain, enlisted, groups, options, label=label)
    except ValueError as error:
        raise MessageError(f"malformed Grown from the curator: {error}", where=me.where) from None
    number = {end: at for at, end in enumerate(tree.leaves)}
    records = me.records
    codes: Mapping[str, Any] = {name: np.asarray(records.codes(name)) for name in tree.attributes}
    ends = tree.leaf_of(codes, len(records))
    places = np.array([number.get(at, 0) for at in range(len(tree.nodes))])
    values = np.asarray(records.codes(label)).astype(np.int64) * len(number) + places[ends]
    return answer(me, enlisted, Heard(survey, ((),)), lambda rows, _: values[rows], options)


def _checked(
    said: Ends.Grown,
    domain: Domain,
    enlisted: Enlisted,
    groups: Groups,
    options: LabelOptions,
    *,
    label: str,
) -> tuple[Tree, Survey]:
    """Check what the collector asks for."""
    tree = _read(said.nodes, domain, label=label)
    ends = len(tree.leaves)
    cells = ends * domain.cells((label,))
    if said.size < 1 or said.start < 0 or said.start + said.size > enlisted.users:
        raise ValueError(
            f"expected some of {enlisted.users} users, found {said.size} from place {said.start}"
        )
    if groups.of(said.start, said.start + said.size).spent:
        raise ValueError(f"expected users who have not reported, found places from {said.start} on")
    if not 1 <= said.heads <= max(1, cells // 2):
        raise ValueError(
            f"expected 1 to {max(1, cells // 2)} heads of {cells} cells, found {said.heads}"
        )
    own = randomizer_of(
        cells,
        epsilon=options.epsilon,
        belief=1.0,
        heads=said.heads,
        kind=options.randomizer,
        known={},
    )
    return tree, Survey(enlisted.users, enlisted.key, (own,), np.array([said.size]), said.start)


def _written(tree: Tree, domain: Domain) -> tuple[tuple[int, ...], ...]:
    return tuple(
        ()
        if own.test is None
        else (domain.attributes.index(own.test.attribute), own.yes, own.no, *own.test.values)
        for own in tree.nodes
    )


def _read(nodes: tuple[tuple[int, ...], ...], domain: Domain, *, label: str) -> Tree:
    """Read a tree: each node is led to once, from one before it, and tests no label."""
    if not 1 <= len(nodes) <= MOST_NODES:
        raise ValueError(f"expected a tree of 1 to {MOST_NODES} nodes, found {len(nodes)}")
    led: list[int] = [0]
    found = []
    for at, own in enumerate(nodes):
        if not own:
            found.append(Node(None, 0, 0, 0))
            continue
        if (
            len(own) < 4
            or not 0 <= own[0] < len(domain.attributes)
            or domain.attributes[own[0]] == label
        ):
            raise ValueError(f"expected a test of an attribute, two nodes and values, found {own}")
        name = domain.attributes[own[0]]
        _, yes, no, *values = own
        if not (at < yes < len(nodes) and at < no < len(nodes)) or not all(
            0 <= v < domain.cells((name,)) for v in values
        ):
            raise ValueError(f"expected later nodes and values of {name}, found {own}")
        if len({*values}) < len(values):
            raise ValueError(f"expected different values of {name}, found {values}")
        led += [yes, no]
        found.append(Node(Split(name, tuple(values)), yes, no, 0))
    if sorted(led) != list(range(len(nodes))):
        raise ValueError("expected every node to be led to once, found another tree")
    return Tree(tuple(found))
