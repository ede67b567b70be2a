"""The messages about the dependency graph, and how a named edge is written and read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - read at run time, as an annotation of a message

from ...curator import Curator
from ...messages import CURATOR, MessageError, Private, message
from ...parties import Party
from ...privacy import Domain
from .scores import Pair, Scores, pairs_of

__all__ = ["GraphMessages", "count_votes", "gather_edges", "gather_scores", "send_edges"]


class GraphMessages:
    """The messages; a protocol that looks for a graph names this in `uses`."""

    @message
    class Edges:
        """Pairs of attributes that a party has chosen, in order, and how many choices it made."""

        pairs: tuple[tuple[int, int], ...]
        choices: int

    @message
    class Noisy:
        """R of all pairs of attributes, with Gaussian noise."""

        values: NDArray[np.float64]


def send_edges(me: Party, edges: Sequence[Pair], *, choices: int = 0) -> None:
    """Send edges to the curator, as numbers of attributes; `choices` led to a tree."""
    places = {name: place for place, name in enumerate(me.records.domain.attributes)}
    pairs = tuple((places[left], places[right]) for left, right in edges)
    me.send(GraphMessages.Edges(pairs, choices), to=CURATOR)


def gather_edges(desk: Curator, *, most: int) -> dict[int, tuple[list[Pair], int]]:
    """Receive every party's edges, at most so many, and the number of its choices.

    Raises:
        MessageError: a party names what is no pair of the domain, or a pair twice.
    """
    domain = desk.domain
    pairs, names = set(pairs_of(domain)), domain.attributes
    answers = {}
    for party, answer in desk.gather_answers(GraphMessages.Edges).items():
        if not all(0 <= place < len(names) for pair in answer.pairs for place in pair):
            raise MessageError(
                f"expected pairs of {len(names)} attributes, found ",
                Private(answer.pairs),
                where=desk.where,
            )
        edges = [(names[left], names[right]) for left, right in answer.pairs]
        distinct = len(set(edges)) == len(edges) and set(edges) <= pairs
        if len(edges) > most or not distinct or not 0 <= answer.choices <= most:
            raise MessageError(
                f"expected at most {most} different pairs of attributes, found ",
                Private(answer.pairs),
                where=desk.where,
            )
        answers[party] = edges, answer.choices
    return answers


def gather_scores(desk: Curator, *, rows: Sequence[int]) -> Scores:
    """Receive every party's noisy scores, and average them by the parties' rows.

    Raises:
        MessageError: a party sends another number of scores, or what is no number.
    """
    pairs = len(pairs_of(desk.domain))
    answers = desk.gather_answers(GraphMessages.Noisy)
    total = max(1, sum(rows[party - 1] for party in answers))  # those left may have no rows
    values = np.zeros(pairs)
    for party, answer in answers.items():
        if answer.values.shape != values.shape or not np.isfinite(answer.values).all():
            raise MessageError(
                f"expected {pairs} scores, found ", Private(answer.values.shape), where=desk.where
            )
        values += answer.values * rows[party - 1] / total
    return values


def count_votes(
    domain: Domain, edges: Sequence[Sequence[Pair]], rows: Sequence[int], *, most: int
) -> Scores:
    """Count the edges that parties have named, each party's by its share of the rows.

    A vote for a party's first edge counts twice a vote for the last of `most` edges.
    """
    votes = dict.fromkeys(pairs_of(domain), 0.0)
    for named, share in zip(edges, rows, strict=True):
        for rank, edge in enumerate(named):
            votes[edge] += share / sum(rows) * (1 - rank / 2 / most)
    return np.array([*votes.values()])
