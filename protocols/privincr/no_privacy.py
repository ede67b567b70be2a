"""NoPrivJTree: PrivIncr's graph, junction tree and rows from exact tables. It protects nobody.

    trust       the curator and everybody who reads what is published, with everything
    who learns  the curator: exact tables of all pairs and of the cliques; everybody: rows drawn
                from these
    rounds      3
    privacy     none: epsilon is infinity, and no parameter changes that
    error       that of the model: attributes that share no clique are taken to be independent given
                those between them

Wang et al. 2023 (PrivIncr), section 6.1: the error that is left when nothing is hidden. A protocol
that comes near it cannot gain by less noise.

    1  pairs        P_k -> T: tables of all pairs of attributes, exactly
    2  graph        edges where I >= (min(c_i, c_j) - 1) phi^2 / 2; bits give the paper's figures,
                    nats do not (spec E3)
    3  cliques      T -> P_k: the cliques of its junction tree; P_k -> T: their tables, exactly
    4  synthesis    T draws the rows along the tree

Exact numbers leave a party as a release, like all others (`Disclosure`). The accountant records its
epsilon: infinity.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import e, inf
from typing import Annotated, Final

import msgspec
import numpy as np
from numpy.typing import NDArray  # noqa: TC002 - read at run time, as annotations of messages

from ...curator import (
    Curator,
    JunctionTree,
    Marginal,
    correlation_threshold,
    dependency_graph,
    junction_tree,
    mutual_information,
    synthesise,
)
from ...messages import CURATOR, MessageError, Private, UsageError, message
from ...parties import Party
from ...privacy import Domain
from ...privacy.disclosure import Disclosure
from ...privacy.many_labels import too_many_labels
from ..cost import Cost, Public
from ..options import MAX_SYNTHETIC_ROWS, Options
from ..outcome import Outcome
from ..protocol import Protocol
from .parameters import Base

__all__ = ["NoPrivJTree"]

MAX_CELLS: Final = 1 << 24
"""Most cells of a clique, and of all pairs together."""

Sets = Sequence[tuple[str, ...]]


class NoPrivJTreeParameters(Options):
    """What a user can set."""

    phi: Annotated[
        float,
        msgspec.Meta(gt=0, le=1, description="dependence of two attributes that is worth an edge"),
    ] = 0.3
    base: Annotated[
        Base, msgspec.Meta(description="unit in which information is compared with phi^2 / 2")
    ] = "bits"
    synthetic_rows: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=MAX_SYNTHETIC_ROWS,
            description="rows of the synthetic table; 0: as many as there are people",
        ),
    ] = 0


class Tree(msgspec.Struct, frozen=True):
    """The published junction tree, as far as the cost follows from it."""

    cliques: tuple[tuple[str, ...], ...]


class TreeModel(msgspec.Struct, frozen=True):
    """The part of the published model from which the cost follows."""

    tree: Tree


class NoPrivJTree(Protocol[NoPrivJTreeParameters]):
    """Add exact tables up, and draw rows along the junction tree of dependent pairs."""

    name = "no-priv-jtree"
    summary = (
        "a synthetic table along a junction tree of exact tables, without any privacy: a ceiling"
    )
    paper = "Wang et al. 2023 (PrivIncr), section 6.1"
    trust = "everybody, with everything: no record is protected from anybody"
    modes = ("rigorous", "paper")  # they are the same: the paper claims no privacy
    neighbours = "replace-one"
    needs_schema = True
    parties_talk = False
    goes_on = True

    @message
    class Counts:
        """To the curator: exact tables, one after another."""

        cells: NDArray[np.int64]

    @message
    class Cliques:
        """To all: the cliques, as numbers of attributes."""

        cliques: tuple[tuple[int, ...], ...]

    @property
    def epsilon(self) -> float:
        """Infinity: nothing is claimed."""
        return inf

    def party(self, me: Party) -> None:
        with me.phase("pairs"):  # 1
            send_tables(me, pairs_of(me.records.domain))
        with me.phase("cliques"):  # 3
            send_tables(me, receive_cliques(me))

    def curator(self, desk: Curator) -> Outcome:
        p, domain = self.parameters, desk.domain
        with desk.phase("pairs"):  # 1
            tables = gather_tables(desk, pairs_of(domain))
        with desk.phase("cliques"):
            # 2
            base = 2 if p.base == "bits" else e
            edges = [
                (left, right)
                for (left, right), table in tables.items()
                if mutual_information(table, (left,), base=base)
                >= correlation_threshold(domain, left, right, phi=p.phi)
            ]
            tree = junction_tree(domain, dependency_graph(domain, edges))
            check_size(tree, phi=p.phi)
            # 3
            desk.broadcast(self.Cliques(clique_numbers(domain, tree.cliques)))
            exact = [*gather_tables(desk, tree.cliques).values()]
        with desk.phase("synthesis"):  # 4
            people = round(exact[0].total)
            sample = synthesise(
                tree.chain(exact),
                p.synthetic_rows or people,
                generator=desk.randomness("sampling").generator(),
            )
        return Outcome(
            synthetic=domain.rows(sample.codes),
            model={"edges": edges, "tree": tree.to_builtins()},
            summary={
                "edges": f"{len(edges)} of {len(tables)}",
                "cliques": len(tree.cliques),
                "largest clique": f"{max(map(len, tree.cliques))} attributes",
            },
        )

    def predict(self, public: Public) -> list[Cost]:
        domain, model = public.domain, public.published(TreeModel)
        if domain is None or model is None:
            return []
        cliques = model.tree.cliques

        def counts(sets: Sets) -> NoPrivJTree.Counts:
            return self.Counts(np.zeros(sum(map(domain.cells, sets)), np.int64))

        return [
            Cost.of(sent, phase=phase, messages=public.parties)
            for phase, sent in (
                ("pairs", counts(pairs_of(domain))),
                ("cliques", counts(cliques)),
                ("cliques", self.Cliques(clique_numbers(domain, cliques))),
            )
        ]

    def warnings(self, public: Public) -> list[str]:  # noqa: ARG002 - part of the signature
        warning = (
            "no-priv-jtree protects nobody: parties sent the curator exact tables, and what is "
            "published follows from them; epsilon is infinity. It is for comparison, on records "
            "that anybody may see"
        )
        return [warning]


def pairs_of(domain: Domain) -> list[tuple[str, str]]:
    """List the pairs of attributes that may depend on each other.

    Raises:
        UsageError: they have more cells than a role can hold.
    """
    names = [name for name in domain.attributes if domain.cells((name,)) > 1]
    pairs = list(combinations(names, 2))
    if sum(map(domain.cells, pairs)) > MAX_CELLS:
        raise UsageError(too_many_labels("pairs of attributes", domain, names))
    return pairs


def send_tables(me: Party, sets: Sets) -> None:
    """Send the curator exact tables."""
    counts = np.concatenate([np.zeros(0, np.int64), *me.records.marginals(sets)])
    # A replaced record adds one to a cell of each table, and takes one from another.
    disclosure = Disclosure(counts, 2.0 * len(sets))
    me.send(NoPrivJTree.Counts(me.release(disclosure, to=CURATOR)), to=CURATOR)


def gather_tables(desk: Curator, sets: Sets) -> dict[tuple[str, ...], Marginal]:
    """Add the parties' tables up.

    Raises:
        MessageError: a party's tables have the wrong size, or cannot be of one set of records.
    """
    cells = [desk.domain.cells(names) for names in sets]
    total = np.zeros(sum(cells), np.int64)
    ends = np.cumsum(cells)
    for rank, answer in desk.gather_answers(NoPrivJTree.Counts).items():
        if len(answer.cells) != len(total):
            raise MessageError(
                f"expected {len(total)} counts of party {rank}, found {len(answer.cells)}",
                where=desk.where,
            )
        rows = {int(table.sum()) for table in np.split(answer.cells, ends[:-1])} if sets else {1}
        if min(answer.cells.tolist(), default=0) < 0 or len(rows) > 1 or min(rows) < 1:
            raise MessageError(
                f"expected tables of one number of records of party {rank}, found others",
                where=desk.where,
            )
        total += answer.cells
    tables = np.split(total, ends[:-1]) if sets else []
    return {
        tuple(names): Marginal.of(desk.domain, names, table)
        for names, table in zip(sets, tables, strict=True)
    }


def check_size(tree: JunctionTree, *, phi: float) -> None:
    """Refuse cliques that nobody can count.

    Raises:
        UsageError: a clique has more cells than a role can hold.
    """
    largest = max(tree.cliques, key=tree.domain.cells)
    if tree.domain.cells(largest) > MAX_CELLS:
        fewer = f"fewer edges, --set phi= above {phi:g}"
        raise UsageError(too_many_labels("cliques", tree.domain, largest, otherwise=fewer))


def clique_numbers(domain: Domain, cliques: Sets) -> tuple[tuple[int, ...], ...]:
    """Write cliques as numbers of attributes."""
    places = {name: place for place, name in enumerate(domain.attributes)}
    return tuple(tuple(places[name] for name in clique) for clique in cliques)


def receive_cliques(me: Party) -> list[tuple[str, ...]]:
    """Receive the cliques, and check them.

    Raises:
        MessageError: a clique does not consist of different attributes.
    """
    names, answer = me.records.domain.attributes, me.receive(NoPrivJTree.Cliques, source=CURATOR)
    for clique in answer.cliques:
        distinct = len(set(clique)) == len(clique)
        if not clique or not distinct or not all(0 <= place < len(names) for place in clique):
            raise MessageError(
                "malformed Cliques from the curator: expected cliques of different attributes "
                f"below {len(names)}, found ",
                Private(clique),
                where=me.where,
            )
    return [tuple(names[place] for place in clique) for clique in answer.cliques]
