"""NoPrivJTree: PrivIncr's graph, junction tree and rows, from exact tables. A ceiling, and no
protection at all.

    trust       the curator, and everybody who reads what is published: with everything
    who learns  the curator: exact tables of all pairs and of the cliques; everybody: rows drawn from these
    rounds      3
    privacy     none: epsilon is infinity, and no parameter says another
    error       that of the model: what no clique has is taken to be independent given what lies between

Wang et al. 2023 (PrivIncr), section 6.1: what is left of the error when nothing is hidden. Whoever
comes near it has nothing more to win by less noise.

    1  pairs        P_k -> T: tables of all pairs of attributes, exactly
    2  graph        edges where I >= (min(c_i, c_j) - 1) phi^2 / 2; in bits the paper's floor comes out, in nats not (spec E3)
    3  cliques      T -> P_k: the cliques of its junction tree; P_k -> T: their tables, exactly
    4  synthesis    T draws the rows along the tree

Exact numbers leave a party like all others, as a release (`Disclosure`), whose epsilon the
accountant writes down: infinity.
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
from ...messages import CURATOR, MessageError, UsageError, encoded_size, message
from ...parties import Party
from ...privacy import Domain
from ...privacy.disclosure import Disclosure
from ..protocol import Cost, Options, Outcome, Protocol, Public
from .pruning import Base

__all__ = ["NoPrivJTree"]

MOST_CELLS: Final = 1 << 24
"""Of a clique, and of all pairs together."""

Sets = Sequence[tuple[str, ...]]


class NoPrivJTreeParameters(Options):
    phi: Annotated[
        float,
        msgspec.Meta(gt=0, le=1, description="dependence of two attributes that is worth an edge"),
    ] = 0.3
    base: Annotated[
        Base, msgspec.Meta(description="in which information is compared with phi^2 / 2")
    ] = "bits"
    synthetic_rows: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=1 << 30,
            description="rows of the synthetic table; 0: as many as there are people",
        ),
    ] = 0


class NoPrivJTree(Protocol[NoPrivJTreeParameters]):
    """Add exact tables up, and draw rows along the junction tree of the pairs that belong
    together.
    """

    name = "no-priv-jtree"
    summary = (
        "a synthetic table along a junction tree of exact tables, without any privacy: a ceiling"
    )
    paper = "Wang et al. 2023 (PrivIncr), section 6.1"
    trust = "everybody, with everything: no record is protected from anybody"
    modes = ("rigorous", "paper")  # the same: the print claims nothing
    neighbours = "replace-one"
    needs_schema = True

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
        """Nothing is claimed."""
        return inf

    def pairs(self, domain: Domain) -> list[tuple[str, str]]:
        """List the pairs of attributes that may tell of one another."""
        several = [name for name in domain.attributes if domain.cells((name,)) > 1]
        found = list(combinations(several, 2))
        if (cells := sum(map(domain.cells, found))) > MOST_CELLS:
            raise UsageError(
                f"expected pairs of attributes of at most 2^24 cells in all, found {cells:,}: fewer labels, by a schema"
            )
        return found

    def party(self, me: Party) -> None:
        with me.phase("pairs"):  # 1
            disclose(me, self.pairs(me.records.domain))
        with me.phase("cliques"):  # 3
            disclose(me, self.listen(me))

    def curator(self, desk: Curator) -> Outcome:
        p, domain = self.parameters, desk.domain
        with desk.phase("pairs"):  # 1
            tables = gather(desk, self.pairs(domain))
        with desk.phase("cliques"):
            # 2
            base = 2 if p.base == "bits" else e
            edges = [
                (one, other)
                for (one, other), table in tables.items()
                if mutual_information(table, (one,), base=base)
                >= correlation_threshold(domain, one, other, phi=p.phi)
            ]
            tree = junction_tree(domain, dependency_graph(domain, edges))
            check(tree, phi=p.phi)
            # 3
            places = {name: at for at, name in enumerate(domain.attributes)}
            desk.broadcast(
                self.Cliques(
                    tuple(tuple(places[name] for name in clique) for clique in tree.cliques)
                )
            )
            exact = [*gather(desk, tree.cliques).values()]
        with desk.phase("synthesis"):  # 4
            people = round(exact[0].total)
            made = synthesise(
                tree.chain(exact),
                p.synthetic_rows or people,
                generator=desk.randomness("sampling").generator(),
            )
        return Outcome(
            synthetic=domain.decode(made.codes),
            model={"edges": edges, "tree": tree.to_builtins()},
            summary={
                "edges": f"{len(edges)} of {len(tables)}",
                "cliques": len(tree.cliques),
                "largest clique": f"{max(map(len, tree.cliques))} attributes",
            },
        )

    def listen(self, me: Party) -> list[tuple[str, ...]]:
        """Hear the cliques, and check them."""
        names, said = me.records.domain.attributes, me.receive(self.Cliques, source=CURATOR)
        try:
            return [_read(clique, names) for clique in said.cliques]
        except ValueError as error:
            raise MessageError(
                f"malformed Cliques from the curator: {error}", where=me.where
            ) from None

    def predict(self, public: Public) -> list[Cost]:
        if public.domain is None or public.model is None:
            return []
        lines, domain = [], public.domain
        for phase, sets in (
            ("pairs", self.pairs(domain)),
            ("cliques", public.model["tree"]["cliques"]),
        ):
            size = encoded_size(self.Counts(np.zeros(sum(map(domain.cells, sets)), np.int64)))
            lines.append(
                Cost(
                    phase=phase,
                    kind="Counts",
                    messages=public.parties,
                    payload_bytes=public.parties * size,
                )
            )
        cliques = tuple(
            tuple(domain.attributes.index(name) for name in own)
            for own in public.model["tree"]["cliques"]
        )
        size = encoded_size(self.Cliques(cliques))
        lines.append(
            Cost(
                phase="cliques",
                kind="Cliques",
                messages=public.parties,
                payload_bytes=public.parties * size,
            )
        )
        return lines

    def warnings(self, public: Public) -> list[str]:  # noqa: ARG002 - part of the signature
        return [
            (
                "no-priv-jtree protects nobody: parties told the curator exact tables, and what is published follows from "
                "them; epsilon is infinity. It is for comparison, on records that anybody may see"
            )
        ]


def disclose(me: Party, sets: Sets) -> None:
    """Tell the curator exact tables."""
    counts = np.concatenate([np.zeros(0, np.int64), *me.records.marginals(sets)])
    # One record more in a cell and one less in another, of each table.
    me.send(
        NoPrivJTree.Counts(me.release(Disclosure(counts, 2.0 * len(sets)), to=CURATOR)), to=CURATOR
    )


def gather(desk: Curator, sets: Sets) -> dict[tuple[str, ...], Marginal]:
    """Add the parties' tables up."""
    cells = [desk.domain.cells(own) for own in sets]
    whole = np.zeros(sum(cells), np.int64)
    ends = np.cumsum(cells)
    for rank, said in zip(desk.parties, desk.gather(NoPrivJTree.Counts), strict=True):
        if len(said.cells) != len(whole):
            raise MessageError(
                f"expected {len(whole)} counts of party {rank}, found {len(said.cells)}",
                where=desk.where,
            )
        totals = {int(own.sum()) for own in np.split(said.cells, ends[:-1])} if sets else {1}
        if min(said.cells.tolist(), default=0) < 0 or len(totals) > 1 or min(totals) < 1:
            raise MessageError(
                f"expected tables of one number of records of party {rank}, found others",
                where=desk.where,
            )
        whole += said.cells
    tables = np.split(whole, ends[:-1]) if sets else []
    return {
        tuple(own): Marginal.of(desk.domain, own, table)
        for own, table in zip(sets, tables, strict=True)
    }


def check(tree: JunctionTree, *, phi: float) -> None:
    """Refuse cliques that nobody can count."""
    largest = max(tree.cliques, key=tree.domain.cells)
    if (cells := tree.domain.cells(largest)) > MOST_CELLS:
        raise UsageError(
            f"expected cliques of at most 2^24 cells, found {cells:,} of {', '.join(largest)}: "
            f"--set phi= of more than {phi:g} makes fewer edges"
        )


def _read(clique: tuple[int, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    if (
        not clique
        or len(set(clique)) < len(clique)
        or not all(0 <= at < len(names) for at in clique)
    ):
        raise ValueError(
            f"expected cliques of different attributes below {len(names)}, found {clique}"
        )
    return tuple(names[at] for at in clique)
