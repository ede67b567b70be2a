"""The dependency graph from all that parties say: both sides of section 4.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - read at run time, as an annotation of a message

from ...curator import Curator
from ...messages import CURATOR, MessageError, Where, message
from ...parties import Party
from ...privacy import Domain
from ..secure_sum import CuratorSums, PartySums, SumBatch
from .choosing import (
    by_sparse_vector,
    by_threshold,
    by_top,
    by_tree,
    counted_votes,
    grow,
    grow_tree,
    highest,
    of_gauss,
    pairs_of,
)
from .scores import Pair, Scores, away, away_by_chance, penalties, r_of
from .settings import Choices, Settings

__all__ = ["Structured", "find_edges", "name_edges", "scored"]

STEPS: Final = 64
"""Of a score that is summed up secretly, to what one record changes it by."""
CHANGES: Final = 3 + 2 / 64
"""What one record changes n_k R_k by at most, of a party of 64 rows."""
ABOVE: Final = 0.3
"""Of all votes, that an edge of a tree must have."""


class Structured:
    """What is said of the graph."""

    @message
    class Edges:
        """Pairs of attributes that a party has chosen, in order, and how many choices it made."""

        pairs: tuple[tuple[int, int], ...]
        choices: int

    @message
    class Noisy:
        """R of all pairs of attributes, with Gaussian noise."""

        values: NDArray[np.float64]


def name_edges(
    me: Party, margins: Mapping[str, Scores], sums: PartySums, choices: Choices, s: Settings
) -> int:
    """Say what one's own records have of the graph; returns how many choices of a tree one holder
    has made.
    """
    domain = me.records.domain
    pairs, rows = pairs_of(domain), len(me.records)
    made = 0
    if not pairs:
        return made
    if s.structure == "gauss":
        me.send(
            Structured.Noisy(me.release(of_gauss(me, domain, choices, settings=s), to=CURATOR)),
            to=CURATOR,
        )
        return made
    if s.structure == "tree":
        values = away(me.records, pairs, margins)
        if len(me.parties) > 1:  # a few rows are away from any product: how far by chance is public
            values = values - away_by_chance(pairs, margins, rows=rows)
    elif s.structure == "laplace":
        # Of a party with few rows a record counts for more: its scores count for less.
        values = r_of(me.records, pairs) * min(1.0, CHANGES / (3 + 2 / rows))
    if not s.by_votes:
        sums.contribute([np.rint(values * rows * STEPS).astype(np.int64)], scored(pairs, s))
        return made
    if s.structure == "tree":
        worth = values - penalties(pairs, _sizes(domain), s, rows=sums.rows)
        found, made = by_tree(me, domain, worth, settings=s, rows=sums.rows)
    elif s.structure == "top":
        found = by_top(me, domain, settings=s)
    elif s.structure == "svt":
        found = by_sparse_vector(me, domain, choices, settings=s)
    else:
        found = by_threshold(me, domain, choices, settings=s)
    places = {name: at for at, name in enumerate(domain.attributes)}
    me.send(
        Structured.Edges(tuple((places[one], places[other]) for one, other in found), made),
        to=CURATOR,
    )
    return made if len(me.parties) == 1 else 0


def find_edges(desk: Curator, sums: CuratorSums, s: Settings) -> tuple[list[Pair], int]:
    """Find the graph's edges from what parties say; and how many choices of a tree one holder has
    made.
    """
    domain = desk.domain
    pairs, rows = pairs_of(domain), sums.rows
    tree, made = s.structure == "tree", 0
    if not pairs:
        return [], made
    if not s.by_votes:
        batch = scored(pairs, s)
        values, noise = (
            sums.total(batch) / STEPS / rows,
            np.sqrt(sums.variance(batch)) / STEPS / rows,
        )
        if tree:
            worth = values - penalties(pairs, _sizes(domain), s, rows=rows)
            return grow_tree(
                domain, pairs, s, rows=rows, chosen=highest(worth, above=noise / 2)
            ), made
        ordered = _best(pairs, values, s)
    elif s.structure == "gauss":
        heard = zip(desk.gather(Structured.Noisy), sums.rows_by_party, strict=True)
        values = np.zeros(len(pairs))
        for own, share in heard:
            if own.values.shape != values.shape or not np.isfinite(own.values).all():
                raise MessageError(
                    f"expected {len(pairs)} scores, found {own.values.shape}", where=desk.where
                )
            values += own.values * share / rows
        ordered = _best(pairs, values, s)
    else:
        said = desk.gather(Structured.Edges)
        named = {
            party: _read(domain, own, s, where=desk.where)
            for party, own in zip(desk.parties, said, strict=True)
        }
        ordered = named[desk.parties[0]]
        if len(named) > 1:
            votes = counted_votes(
                domain, named, dict(zip(desk.parties, sums.rows_by_party, strict=True)), s
            )
            if tree:
                return grow_tree(
                    domain, pairs, s, rows=rows, chosen=highest(votes, above=ABOVE)
                ), made
            ordered = [pair for pair in _best(pairs, votes, s) if votes[pairs.index(pair)] > 0]
        elif tree:
            return ordered, said[0].choices
    return grow(domain, ordered, most_cells=float("inf") if s.printed else s.most_cells(rows)), made


def scored(pairs: Sequence[Pair], s: Settings) -> SumBatch:
    """Say what everybody knows of the batch of scores: rows times score, in steps.

    A record changes n_k R_k by 3 + 2 / n_k, n_k away_k by 1, and rounding by a step.
    """
    changes = 1.0 if s.structure == "tree" else CHANGES
    sensitivity = len(pairs) * (int(np.ceil(changes * STEPS)) + 1)
    return SumBatch(cells=len(pairs), sensitivity=sensitivity, epsilon=s.graph, weight=STEPS)


def _read(domain: Domain, said: Structured.Edges, s: Settings, *, where: Where) -> list[Pair]:
    """Read a party's edges: different pairs of the domain, no more than there is budget for."""
    known, names = set(pairs_of(domain)), domain.attributes
    most = len(known) if s.printed else s.picks + s.extra
    if not all(0 <= at < len(names) for pair in said.pairs for at in pair):
        raise MessageError(
            f"expected pairs of {len(names)} attributes, found {said.pairs}", where=where
        )
    found = [(names[one], names[other]) for one, other in said.pairs]
    if (
        len(found) > most
        or len(set(found)) < len(found)
        or not set(found) <= known
        or not 0 <= said.choices <= most
    ):
        raise MessageError(
            f"expected at most {most} different pairs of attributes, found {said.pairs}",
            where=where,
        )
    return found


def _sizes(domain: Domain) -> dict[str, int]:
    return dict(zip(domain.attributes, domain.shape(domain.attributes), strict=True))


def _best(pairs: Sequence[Pair], values: Scores, s: Settings) -> list[Pair]:
    """List the pairs of the highest values, in order."""
    return [pairs[at] for at in np.argsort(-values, kind="stable")[: s.picks].tolist()]
