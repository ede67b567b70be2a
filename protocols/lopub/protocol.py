"""LoPub: a synthetic table from users who report all their attributes, each in a Bloom filter (TIFS
2018).

    trust       nobody: every user turns over the bits of her own filters
    who learns  the aggregator: every user's noisy filters; everybody: the graph and the synthetic table
    messages    users: who there is; then what is asked, and reports
    rounds      3
    privacy     epsilon for each user, all attributes together, who reports once
    cost        8 bits for each label of each attribute a user: 1568 of Adult's
    error       that of the noise, of which each attribute gets 1 / d of epsilon, and of the model, as PrivIncr's

Ren et al., "LoPub: high-dimensional crowdsourced data publication with local differential privacy",
as PrivIncr (Wang et al. 2023) compares with it. A baseline.

    1  users        one signature of h bits an attribute, each bit a coin with probability f            `privacy.local.bloom`
    2  single       attributes' tables by Lasso from how many filters have each bit                     `tables`
    3  pairs        tables by expectation and maximisation from every user's filters                    `curator.expectation`
    4  graph        edges where I > (min(c_i, c_j) - 1) phi^2 / 2, in nats
    5  synthesis    its junction tree; cliques' tables as those of pairs; rows drawn along the tree

With d = 15 attributes and h = 5 hashes f = 0.9, 0.5 and 0.1 are epsilon 30, 165 and 442: PrivIncr's
table 2 has them the wrong way round (spec E6). Below epsilon 10 or so nothing is learnt of pairs,
and the tables stay near where they start (E7).

Ours are two things that LoPub leaves open: the h bits of a signature are different ones, and tables
are sought for so many steps at most, which at epsilon 30 most tables need. Where they start matters
little; of a start by Lasso the labels that it drops stay out. What LoPub prunes to save time is not
pruned.
"""

from __future__ import annotations

from itertools import combinations
from math import e
from typing import Annotated, Final, Literal

import msgspec

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
from ...messages import UsageError, encoded_size
from ...parties import Party
from ...privacy import Domain
from ...privacy.local.bloom import BloomFilters
from ..local import SurveyOptions, SyntheticRows, enlist, muster, predict_users
from ..local.asking import KEY, Surveyed
from ..protocol import Cost, Mode, Outcome, Protocol, Public, UserTraffic
from .asking import Filtered, Told, answer, ask, described
from .tables import Start, Tables

__all__ = ["LoPub"]

MOST_CELLS: Final = 1 << 20
"""Of a table that is sought: every step goes through all users and cells."""
MOST_LABELS: Final = 4096


class LoPubParameters(SurveyOptions):
    simulate: Annotated[
        Literal["reports"],
        msgspec.Meta(description="every report is made: tables need them user by user"),
    ] = "reports"
    hashes: Annotated[
        int, msgspec.Meta(ge=1, le=64, description="h: bits of a label's signature")
    ] = 5
    bits_per_value: Annotated[
        int, msgspec.Meta(ge=1, le=64, description="bits of a filter, for each label")
    ] = 8
    phi: Annotated[
        float,
        msgspec.Meta(gt=0, le=1, description="dependence of two attributes that is worth an edge"),
    ] = 0.3
    start: Annotated[
        Start,
        msgspec.Meta(
            description="from where tables are sought: Lasso's single attributes, or all cells alike"
        ),
    ] = "lasso"
    iterations: Annotated[
        int, msgspec.Meta(ge=1, le=100_000, description="steps for each table, at most")
    ] = 300
    synthetic_rows: SyntheticRows = 100_000


class LoPub(Protocol[LoPubParameters]):
    """Ask every user for all attributes, and draw a table along the junction tree of what they
    say.
    """

    name = "lopub"
    summary = "a synthetic table from users who report all attributes in Bloom filters: a baseline"
    paper = "Ren et al. 2018 (LoPub)"
    trust = (
        "nobody: users randomize on their own; a cohort is a simulation's stand-in for many of them"
    )
    neighbours = "replace-one"
    needs_schema = True
    uses = (Surveyed, Filtered)

    def __init__(self, parameters: LoPubParameters, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)

    def filters(self, domain: Domain, *, key: bytes) -> tuple[tuple[str, ...], BloomFilters]:
        """Choose which attributes are asked, and how: from public knowledge alone."""
        p = self.parameters
        asked = tuple(name for name in domain.attributes if domain.cells((name,)) > 1)
        if not asked:
            raise UsageError("expected at least one attribute of two labels or more, found none")
        sizes = sorted(domain.shape(asked))
        if sizes[-1] > MOST_LABELS or sizes[-1] * sizes[-2:][0] > MOST_CELLS:
            raise UsageError(
                f"expected attributes of at most {MOST_LABELS:,} labels, and pairs of 2^20 cells, found {sizes[-2:]}"
            )
        try:
            return asked, BloomFilters(
                domain.shape(asked),
                epsilon=p.epsilon,
                key=key,
                hashes=p.hashes,
                bits_per_value=p.bits_per_value,
            )
        except ValueError as error:
            raise UsageError(f"{error}") from None

    def party(self, me: Party) -> None:
        with me.phase("users"):
            enlisted = enlist(me, self.parameters)
        # 1.
        with me.phase("reports"):
            asked, filters = self.filters(me.records.domain, key=enlisted.key)
            answer(me, enlisted, filters, asked)

    def curator(self, desk: Curator) -> Outcome:
        p = self.parameters
        with desk.phase("users"):
            mustered = muster(desk, p)
        with desk.phase("reports"):
            asked, filters = self.filters(desk.domain, key=mustered.key)
            told = ask(desk, mustered, filters, asked)
        with desk.phase("pairs"):
            # 2.
            tables = Tables(asked, filters, told, p.start, p.iterations)
            # 3.
            every = list(combinations(asked, 2))
            pairs = {}
            for done, pair in enumerate(every, start=1):
                pairs[pair] = tables.joint(pair)
                desk.progress(float(done), of=len(every))
        with desk.phase("synthesis"):
            # 4.
            edges = [
                pair
                for pair, table in pairs.items()
                if mutual_information(table, pair[:1], base=e)
                > correlation_threshold(desk.domain, *pair, phi=p.phi)
            ]
            tree = junction_tree(desk.domain, dependency_graph(desk.domain, edges))
            # 5.
            synthetic = None
            if rows := min(p.synthetic_rows, told.users):
                known = self.cliques(desk, tree, tables, pairs)
                made = synthesise(
                    tree.chain(known), rows, generator=desk.randomness("sampling").generator()
                )
                synthetic = desk.domain.decode(made.codes)
        return Outcome(
            synthetic=synthetic,
            model={"edges": edges, "tree": tree.to_builtins(), "spent": filters.spent},
            summary={
                "users": told.users,
                "f": f"{2 * float(filters.flips):.4g}",
                "edges": f"{len(edges)} of {len(every)}",
                "cliques": len(tree.cliques),
                "largest clique": f"{max(map(len, tree.cliques))} attributes",
                "steps a table": f"{sum(tables.steps) / max(len(tables.steps), 1):.1f}, {tables.stopped:,} tables stopped",
            },
            user_traffic=self.said(told, filters),
        )

    def cliques(
        self,
        desk: Curator,
        tree: JunctionTree,
        tables: Tables,
        pairs: dict[tuple[str, str], Marginal],
    ) -> list[Marginal]:
        """Find the tables of the cliques; those of pairs are known."""
        domain = desk.domain
        if (largest := max(tree.cliques, key=domain.cells)) and domain.cells(largest) > MOST_CELLS:
            raise UsageError(
                f"expected cliques of at most {MOST_CELLS:,} cells, found {domain.cells(largest):,} of {', '.join(largest)}: "
                f"--set phi= of more than {self.parameters.phi:g} makes fewer edges"
            )
        found = []
        for done, clique in enumerate(tree.cliques, start=1):
            if len(clique) == 1:
                found.append(tables.ones.get(clique[0], Marginal.uniform(domain, clique)))
            else:
                found.append(
                    pairs[clique[0], clique[1]] if len(clique) == 2 else tables.joint(clique)
                )
            desk.progress(float(done), of=len(tree.cliques))
        return found

    def said(self, told: Told, filters: BloomFilters) -> UserTraffic:
        """Say what a user sends."""
        return UserTraffic(
            users=told.users,
            reports=told.users,
            bits=told.users * filters.bits,
            least=filters.bits,
            most=filters.bits,
            simulate="reports",
        )

    def predict(self, public: Public) -> list[Cost]:
        """Predict all but reports, whose number of messages depends on who is in which cohort."""
        if public.domain is None:
            return []
        asked, filters = self.filters(public.domain, key=bytes(KEY))
        size = encoded_size(described(filters, public.domain, asked))
        return [
            *predict_users(public, phase="users", users=self.parameters.users or public.rows),
            Cost(
                phase="reports",
                kind="Filters",
                messages=public.parties,
                payload_bytes=public.parties * size,
            ),
        ]

    def warnings(self, public: Public) -> list[str]:  # noqa: ARG002 - part of the signature
        if not self.parameters.users:
            return []
        return [
            (
                f"{self.parameters.users:,} users were drawn from the records, with replacement: epsilon holds for each of "
                "them, not for a record, which may stand behind several"
            )
        ]
