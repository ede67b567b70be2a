"""LoPub: a synthetic table from users who report all attributes in Bloom filters (TIFS 2018).

    trust       nobody: every user turns over bits of her own filters
    who learns  the curator: every user's noisy filters; everyone: the graph and the synthetic table
    messages    users: the survey is opened; then the request, and reports
    rounds      3
    privacy     epsilon for each user, all attributes together, who reports once
    cost        8 bits for each label of each attribute a user: 1568 for Adult
    error       that of the noise, of which each attribute gets 1 / d of epsilon, and that of the
                model, as for PrivIncr

Ren et al., "LoPub: high-dimensional crowdsourced data publication with local differential privacy".
A baseline, with which PrivIncr (Wang et al. 2023) is compared.

    1  users      a signature of h bits for each attribute; a bit is replaced by a coin with
                  probability f                                              `privacy.local.bloom`
    2  single     tables of single attributes by Lasso, from the number of filters with each bit
                                                                             `tables`
    3  pairs      tables of pairs by expectation and maximisation, from every user's filters
                                                                             `curator.expectation`
    4  graph      an edge where I > (min(c_i, c_j) - 1) phi^2 / 2, in nats
    5  synthesis  the graph's junction tree; tables of its cliques as for pairs; rows drawn along
                  the tree

With d = 15 attributes and h = 5 hashes f = 0.9, 0.5 and 0.1 are epsilon 30, 165 and 442. Table 2 of
PrivIncr has them in the wrong order (spec E6). Below epsilon 10 or so nothing is learned of pairs,
and their tables stay near their start (E7).

LoPub leaves two points open. Here the h bits of a signature differ, and the search for a table ends
after a maximal number of steps. It is accelerated, so few tables need them all. At epsilon 30 plain
steps need thousands; cut off, their tables stay near the start and are often closer to the truth
(`search=plain`). The start of the search
matters little. If it starts from Lasso's tables, labels that Lasso drops stay out. LoPub prunes
some pairs to save time; here no pair is pruned.
"""

from __future__ import annotations

from itertools import combinations
from math import e, prod
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
from ...messages import UsageError
from ...parties import Party
from ...privacy import Domain
from ...privacy.local.bloom import BloomFilters
from ...privacy.many_labels import too_many_labels
from ..cost import Cost, Public
from ..local import SyntheticRows
from ..outcome import Outcome
from ..survey import (
    KEY_BYTES,
    CuratorSurvey,
    PartySurvey,
    SurveyOptions,
    SurveyProtocol,
    predict_opening,
    with_each_cohort,
)
from .filters import FilterMessages, collect, report, request
from .tables import Search, Start, Tables

__all__ = ["LoPub"]

MAX_CELLS: Final = 1 << 20
"""Most cells of a table: every step of the search goes through all users and cells."""
MAX_LABELS: Final = 4096


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
            description="start of the search for a table: Lasso's single attributes, or uniform"
        ),
    ] = "lasso"
    search: Annotated[
        Search,
        msgspec.Meta(
            description="for a table: accelerated, or plain steps, which are often cut off"
        ),
    ] = "accelerated"
    iterations: Annotated[
        int, msgspec.Meta(ge=1, le=100_000, description="steps for each table, at most")
    ] = 300
    synthetic_rows: SyntheticRows = 100_000


class LoPub(SurveyProtocol[LoPubParameters]):
    """Ask every user for all attributes, and draw a table along a junction tree."""

    name = "lopub"
    summary = "a synthetic table from users who report all attributes in Bloom filters: a baseline"
    paper = "Ren et al. 2018 (LoPub)"
    goes_on = True
    uses = (*SurveyProtocol.uses, FilterMessages)

    def filters(self, domain: Domain, *, key: bytes) -> tuple[tuple[str, ...], BloomFilters]:
        """Choose the attributes that are asked, and their filters, from public knowledge alone."""
        p = self.parameters
        asked = tuple(name for name in domain.attributes if domain.cells((name,)) > 1)
        if not asked:
            raise UsageError("expected at least one attribute of two labels or more, found none")
        sizes = sorted(domain.shape(asked))
        if sizes[-1] > MAX_LABELS or prod(sizes[-2:]) > MAX_CELLS:
            raise UsageError(too_many_labels("pairs of attributes", domain, asked))
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
            survey = PartySurvey(me, self.parameters)
        # 1.
        with me.phase("reports"):
            asked, filters = self.filters(me.records.domain, key=survey.key)
            report(me, survey, filters, asked)

    def curator(self, desk: Curator) -> Outcome:
        p, domain = self.parameters, desk.domain
        with desk.phase("users"):
            survey = CuratorSurvey(desk, p)
        with desk.phase("reports"):
            asked, filters = self.filters(domain, key=survey.key)
            answers = collect(desk, survey, filters, asked)
        with desk.phase("pairs"):
            # 2.
            tables = Tables(asked, filters, answers, p.start, p.search, p.iterations)
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
                > correlation_threshold(domain, *pair, phi=p.phi)
            ]
            tree = junction_tree(domain, dependency_graph(domain, edges))
            # 5.
            synthetic = None
            if rows := min(p.synthetic_rows, survey.reporting):
                cliques = self.cliques(desk, tree, tables, pairs)
                generator = desk.randomness("sampling").generator()
                drawn = synthesise(tree.chain(cliques), rows, generator=generator)
                synthetic = domain.rows(drawn.codes)
        return Outcome(
            synthetic=synthetic,
            model={"edges": edges, "tree": tree.to_builtins(), "spent": filters.spent},
            summary={
                "users": survey.reporting,
                "f": f"{2 * float(filters.flips):.4g}",
                "edges": f"{len(edges)} of {len(every)}",
                "cliques": len(tree.cliques),
                "largest clique": f"{max(map(len, tree.cliques))} attributes",
                "steps a table": f"{sum(tables.steps) / max(len(tables.steps), 1):.1f}, "
                f"{tables.stopped:,} tables stopped",
            },
            user_traffic=survey.traffic_of_reports(filters.bits),
        )

    def cliques(
        self,
        desk: Curator,
        tree: JunctionTree,
        tables: Tables,
        pairs: dict[tuple[str, str], Marginal],
    ) -> list[Marginal]:
        """Find the tables of the cliques; those of pairs have been found."""
        domain = desk.domain
        largest = max(tree.cliques, key=domain.cells)
        if domain.cells(largest) > MAX_CELLS:
            raise UsageError(
                too_many_labels(
                    "cliques",
                    domain,
                    largest,
                    otherwise=f"fewer edges, --set phi= above {self.parameters.phi:g}",
                )
            )
        cliques = []
        for done, clique in enumerate(tree.cliques, start=1):
            if len(clique) == 1:
                cliques.append(tables.ones.get(clique[0], Marginal.uniform(domain, clique)))
            elif len(clique) == 2:
                cliques.append(pairs[clique[0], clique[1]])
            else:
                cliques.append(tables.joint(clique))
            desk.progress(float(done), of=len(tree.cliques))
        return cliques

    def predict(self, public: Public) -> list[Cost]:
        """Predict all but reports, which depend on who is in which cohort."""
        if (domain := public.domain) is None:
            return []
        asked, filters = self.filters(domain, key=bytes(KEY_BYTES))
        return [
            *predict_opening(public, self.parameters, phase="users"),
            with_each_cohort(public, request(filters, domain, asked), phase="reports"),
        ]
