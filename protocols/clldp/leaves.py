"""A question for the leaf of a public tree that a user reaches, and for her label: both sides.

    curator     Grown       the tree, the users who are asked, and k
    cohort      Reports     as in every survey, or Sums

A user goes down the tree with her own attributes. She reports (leaf, label) as a cell like any
other: the leaf is an attribute that follows from hers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ...curator import Curator
from ...curator.decision_tree import Node, Split, Tree
from ...curator.marginal import Numbers
from ...parties import Party, Records
from ...privacy import Domain
from ...privacy.local import Assignment, Randomizer
from ...privacy.local.groups import GroupBook
from ..survey import CohortPlan, Question
from .messages import LabelMessages
from .settings import LabelSettings
from .survey import CuratorLabelSurvey, PartyLabelSurvey
from .terms import settings_randomizers

__all__ = ["LeafEstimate", "answer_leaves", "ask_leaves", "review_tree"]

MAX_NODES: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class LeafEstimate:
    """The joint distribution of label and leaf, a line for each label, without bias."""

    joint: Numbers
    variance: float
    """The variance of each cell."""


def ask_leaves(
    desk: Curator,
    survey: CuratorLabelSurvey,
    tree: Tree,
    settings: LabelSettings,
    *,
    start: int,
    size: int,
    heads: int,
) -> LeafEstimate | None:
    """Ask users which leaf they reach. With no users the tree is sent, and nothing comes back."""
    domain, label, leaves = settings.domain, settings.label, len(tree.leaves)
    desk.broadcast(LabelMessages.Grown(_write_tree(tree, domain), start, size, heads))
    if not size:
        return None
    labels = domain.cells((label,))
    randomizer = _randomizer(labels * leaves, settings, heads=heads)
    plan = survey.base.assign([Question((label,), randomizer, size)], starts=[start])
    (answer,) = survey.base.collect(plan)
    return LeafEstimate(
        answer.frequencies().reshape(labels, leaves),
        randomizer.variance(users=answer.question.users),
    )


def answer_leaves(me: Party, survey: PartyLabelSurvey, settings: LabelSettings) -> None:
    """Receive the tree, and let users report the leaves that they reach."""

    def check(request: LabelMessages.Grown) -> CohortPlan | None:
        if not request.size:
            return None
        users, key = survey.base.users, survey.base.key
        tree = review_tree(request, settings, users=users, book=survey.book)
        randomizer = _randomizer(
            len(tree.leaves) * settings.domain.cells((settings.label,)),
            settings,
            heads=request.heads,
        )
        assignment = Assignment(users, key, (randomizer,), np.array([request.size]), request.start)
        values = _values(me.records, tree, label=settings.label)
        return CohortPlan(assignment, lambda rows, _: values[rows])

    survey.base.answer(survey.base.receive(LabelMessages.Grown, check))


def review_tree(
    request: LabelMessages.Grown, settings: LabelSettings, *, users: int, book: GroupBook
) -> Tree:
    """Check what the curator asks for. What a user does not accept is a `ValueError`."""
    domain = settings.domain
    tree = _read_tree(request.nodes, domain, label=settings.label)
    cells = len(tree.leaves) * domain.cells((settings.label,))
    start, end = request.start, request.start + request.size
    if request.size < 1 or start < 0 or end > users:
        raise ValueError(f"expected some of {users} users, found {request.size} from place {start}")
    if book.of(start, end).reports:
        raise ValueError(f"expected users who have not reported, found places from {start} on")
    if not 1 <= request.heads <= max(1, cells // 2):
        raise ValueError(
            f"expected 1 to {max(1, cells // 2)} heads of {cells} cells, found {request.heads}"
        )
    return tree


def _randomizer(cells: int, settings: LabelSettings, *, heads: int) -> Randomizer:
    randomizers = settings_randomizers(settings)
    return randomizers.of(cells, epsilon=settings.options.epsilon, belief=1.0, heads=heads)


def _values(records: Records, tree: Tree, *, label: str) -> npt.NDArray[np.int64]:
    """Find each row's cell of label and leaf."""
    codes = {name: np.asarray(records.codes(name)) for name in tree.attributes}
    number = {leaf: index for index, leaf in enumerate(tree.leaves)}
    place = np.array([number.get(node, 0) for node in range(len(tree.nodes))])
    labels = np.asarray(records.codes(label)).astype(np.int64)
    cells: npt.NDArray[np.int64] = labels * len(number) + place[tree.leaf_of(codes, len(records))]
    return cells


def _write_tree(tree: Tree, domain: Domain) -> tuple[tuple[int, ...], ...]:
    return tuple(
        ()
        if node.test is None
        else (domain.attributes.index(node.test.attribute), node.yes, node.no, *node.test.values)
        for node in tree.nodes
    )


def _read_tree(nodes: tuple[tuple[int, ...], ...], domain: Domain, *, label: str) -> Tree:
    """Read a tree: each node but the root has one parent before it, and none tests the label."""
    if not 1 <= len(nodes) <= MAX_NODES:
        raise ValueError(f"expected a tree of 1 to {MAX_NODES} nodes, found {len(nodes)}")
    reached: list[int] = [0]
    read = []
    for index, numbers in enumerate(nodes):
        if not numbers:
            read.append(Node(None, 0, 0, 0))
            continue
        node = _read_test(numbers, domain, label=label)
        if not (index < node.yes < len(nodes) and index < node.no < len(nodes)):
            raise ValueError(f"expected later nodes, found {numbers}")
        reached += [node.yes, node.no]
        read.append(node)
    if sorted(reached) != list(range(len(nodes))):
        raise ValueError("expected every node to be led to once, found another tree")
    return Tree(tuple(read))


def _read_test(numbers: tuple[int, ...], domain: Domain, *, label: str) -> Node:
    if (
        len(numbers) < 4
        or not 0 <= numbers[0] < len(domain.attributes)
        or domain.attributes[numbers[0]] == label
    ):
        raise ValueError(f"expected a test of an attribute, two nodes and values, found {numbers}")
    attribute, yes, no, *values = numbers
    name = domain.attributes[attribute]
    if not all(0 <= value < domain.cells((name,)) for value in values):
        raise ValueError(f"expected later nodes and values of {name}, found {numbers}")
    if len({*values}) < len(values):
        raise ValueError(f"expected different values of {name}, found {values}")
    return Node(Split(name, tuple(values)), yes, no, 0)
