"""DP-SUBN: a synthetic table of all parties' records, by a Bayesian network that parties and curator learn together.

Su, Tang, Cheng, Chen, Wu, "Differentially private multi-party high-dimensional data publishing" (ICDE 2016).

    trust       nobody with a record: the curator T sees sums of all parties with full noise, and choices that are private
    collusion   up to `colluding` parties may pool what they know of their own noise. aggregator=paillier assumes that the
                curator colludes with no party, aggregator=masks does not
    who learns  T: the noisy tables and N_0; parties: the frontier and the network; everybody: the synthetic table
    rounds      a secure sum for each of the phases 1, 3 and 4, and K hops of N_0
    privacy     epsilon for each record, neighbours by replacing one. The four phases that look at records compose
                sequentially, the parties in parallel

    1  correlations      T: noisy views, in which every pair stands once             eps1    sum of all parties
    2  initialisation    P_1 -> ... -> P_K -> T: N_0, chosen in turn                 eps2    each party's own records
    3  update            T -> all: the search frontier; noisy tables of it; a better network     eps3    sum of all, or in turn
    4  parameters        T -> all: the network; noisy tables of its families         eps4    sum of all parties
    5  synthesis         T draws the table

What is the paper's and what is not. *On bits* (attributes=binary) the phases are the paper's, with its faults mended: views
that cover every pair once, N_0 as the spanning tree of the noisy correlations (init=mst, which needs no eps2), one joint
update, shares of noise that hold against insiders, and no network at all when it could not be worth its noise (k = 0). *On the
original attributes* (the default) the tables of pairs are so large that correlations are better chosen than counted: phase 1
counts single attributes, in phase 2 the parties choose a forest of edges, as many as are worth their noise, and phase 4 counts
those. All tables are then made to agree before the network is fitted to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from ...curator import BayesianNetwork, Curator, Estimate, Marginal, agree, synthesise
from ...messages import CURATOR, UsageError, message
from ...parties import Party
from ...privacy import Binary, Domain
from ..noise_replacement import CuratorReplacement, PartyReplacement
from ..protocol import Cost, Epsilon, Mode, Outcome, Protocol, Public
from ..secure_sum import CuratorSums, PartySums, SumOptions, choose_noise, predict_keys, predict_sum, sum_warnings
from .frontier import Correlations, search_frontier, spanning_tree
from .initial import Initialisation, choose_forest, choose_parents, receive_structure
from .learning import correlations_of, directed, select_parents, structure_of
from .plan import (
    NOISE,
    Budget,
    Family,
    Init,
    Score,
    Sizes,
    Tables,
    Update,
    Views,
    binary_degree,
    edges_worth,
    forest_budget,
    most_cells,
    view_families,
)  # fmt: skip
from .updates import (
    Updates,
    collect_in_turn,
    collect_jointly,
    count_in_turn,
    count_jointly,
    replace_in_turn,
    take_turns,
)  # fmt: skip

__all__ = ["DPSUBN"]

Usefulness: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
Rows: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]

BY_SIZE: Final = "by size"
"""A budget that is split by how large the tables are: `plan.forest_budget`."""
MOST_PARENTS: Final = 4


class Choices(SumOptions):
    """What can be said of a run; what is not said follows from the mode and the attributes (`PROFILES`)."""

    epsilon: Epsilon = 1.0
    attributes: Annotated[
        Literal["original", "binary"] | None, msgspec.Meta(description="as they are, or as bits (mode paper)")
    ] = None
    views: Annotated[Views | None, msgspec.Meta(description="which tables quantify the correlations")] = None
    init: Annotated[Init | None, msgspec.Meta(description="how N_0 is found")] = None
    update: Annotated[Update | None, msgspec.Meta(description="how the network is made better")] = None
    score: Annotated[Score | None, msgspec.Meta(description="mutual information, or distance from independence")] = None
    budget: Annotated[str | None, msgspec.Meta(description="shares of epsilon for phases 1 to 4, such as 0.3,0,0.1,0.6")] = None
    theta: Annotated[Usefulness | None, msgspec.Meta(description="usefulness that the network's tables must have")] = None
    theta_frontier: Annotated[Usefulness | None, msgspec.Meta(description="the same, of the search frontier's")] = None
    updates: Annotated[int, msgspec.Meta(ge=1, le=20, description="joint updates, which share eps3")] = 1
    largest_view: Annotated[int, msgspec.Meta(ge=2, le=20, description="attributes in a view of bits")] = 12
    synthetic_rows: Annotated[Rows | None, msgspec.Meta(description="as many as all parties have, if not said")] = None


@dataclass(frozen=True, slots=True)
class Profile:
    """What a run does where nothing else is said. Fixed constants: never fitted to the data of a run."""

    views: Views
    init: Init
    update: Update
    score: Score
    budget: str
    theta: float
    theta_frontier: float


PROFILES: Final = {
    ("rigorous", "original"): Profile("one-way", "forest", "none", "R", BY_SIZE, 3.5, 4.0),
    ("rigorous", "binary"): Profile("nocd", "mst", "joint", "I", "0.3,0,0.1,0.6", 12.0, 4.0),
    ("paper", "original"): Profile("pairs", "em", "replace", "I", "0.25,0.25,0.25,0.25", 6.0, 2.0),
    ("paper", "binary"): Profile("algorithm-2", "em", "replace", "I", "0.25,0.25,0.25,0.25", 6.0, 2.0),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What every role knows before a record is looked at."""

    domain: Domain
    rows: int
    budget: Budget
    views: tuple[Family, ...]
    edges: int
    """How many a forest may have."""
    sizes: Sizes
    degree: int
    """The network's k."""
    wide: Sizes
    wide_degree: int
    """The frontier's k'."""
    flat: bool
    """No network is worth its noise: all of epsilon goes to the tables of single attributes."""
    noise_of_a_cell: float


class DPSUBN(Protocol):
    """Publish a synthetic table of all parties' records."""

    name = "dp-subn"
    summary = "a synthetic table of all parties' records, from a Bayesian network"
    paper = "Su, Tang, Cheng, Chen, Wu 2016"
    trust = "nobody with a record; paillier: the curator colludes with no party"
    modes = ("rigorous", "paper")
    neighbours = "replace-one"
    needs_schema = True
    uses = (Updates, Initialisation)

    @message
    class Network:
        """To all: the families whose tables are counted for its parameters."""

        families: tuple[tuple[str, ...], ...]

    class Parameters(Choices):
        pass

    def __init__(self, parameters: Any, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        self.noise = choose_noise(parameters, mode=mode)
        attributes = parameters.attributes or ("binary" if mode == "paper" else "original")
        self.binary = attributes == "binary"
        profile = PROFILES[mode, attributes]
        said = {name: getattr(parameters, name) for name in Profile.__slots__}
        self.profile = Profile(**{name: getattr(profile, name) if own is None else own for name, own in said.items()})
        self.budget: Budget | None = None
        """None: it follows from the sizes of the tables, which are not known yet."""
        if self.profile.budget != BY_SIZE:
            self.budget = Budget.split(parameters.epsilon, self.profile.budget)
        check(self.profile, self.budget)
        if self.profile.update == "replace" and (mode != "paper" or parameters.aggregator != "paillier"):
            raise UsageError(
                "expected update=joint or sequential, found replace, which is as printed and needs --mode paper and "
                "aggregator=paillier"
            )

    def plan(self, domain: Domain, *, rows: int, parties: int) -> Plan:
        """Plan the run from public figures."""
        p, profile = self.parameters, self.profile
        if not domain.attributes:
            raise UsageError("expected attributes with two or more labels for attributes=binary, found none")
        inflation = parties / (parties - min(p.colluding, parties - 1)) if self.noise == "shares" else 1.0
        figures: dict[str, Any] = {"rows": rows, "inflation": inflation}
        edges = 0
        if self.budget is None:
            budget, edges = forest_budget(domain, epsilon=p.epsilon, theta=profile.theta, **figures)
        else:
            budget = self.budget
            if profile.init == "forest":
                edges = edges_worth(domain, epsilon=budget.parameters, theta=profile.theta, **figures)
        figures["attributes"] = len(domain.attributes)
        spent = budget.parameters or p.epsilon
        if set(domain.shape(domain.attributes)) == {2}:
            k = binary_degree(epsilon=spent, theta=profile.theta, **figures)
            wide = binary_degree(epsilon=budget.update / p.updates or spent, theta=profile.theta_frontier, **figures)
            k = min(max(k, 1) if self.mode == "paper" else k, MOST_PARENTS)
            most, most_wide = 2 ** (k + 1), 2 ** (min(max(k + 1, wide), MOST_PARENTS + 2) + 1)
        else:
            most = most_cells(epsilon=spent, theta=profile.theta, **figures)
            most_wide = most_cells(epsilon=budget.update / p.updates or spent, theta=profile.theta_frontier, **figures)
        sizes, wide_sizes = Sizes(domain, most), Sizes(domain, max(most, most_wide))
        flat = edges == 0 if profile.init == "forest" else sizes.degree == 0
        views = view_families(domain, views="one-way" if flat else profile.views, largest=p.largest_view)
        if flat:
            budget = Budget(p.epsilon, 0.0, 0.0, 0.0)
        scale = 2 * edges / budget.parameters if budget.parameters else 0.0
        return Plan(
            domain, rows, budget, views, edges, sizes, min(sizes.degree, MOST_PARENTS), wide_sizes,
            min(wide_sizes.degree, MOST_PARENTS + 2), flat, NOISE * scale * sqrt(2 * inflation) / rows,
        )  # fmt: skip

    def party(self, me: Party) -> None:
        p, profile = self.parameters, self.profile
        records = me.records.binary() if self.binary else me.records
        replacement = None
        with me.phase("keys"):
            sums = PartySums(me, p, noise=self.noise)
            if profile.update == "replace":
                replacement = PartyReplacement(me, domain=records.domain, exponent=p.randomness)
        plan = self.plan(records.domain, rows=sums.rows, parties=len(me.parties))
        if plan.budget.correlations:
            with me.phase("correlations"):  # 1
                self.correlations(plan).contribute(records, sums)
        if plan.flat:
            return
        if plan.budget.initialisation:
            with me.phase("initialisation"):  # 2
                eps2 = plan.budget.initialisation
                if profile.init == "forest":
                    choose_forest(
                        me, records, edges=plan.edges, epsilon=eps2, score=profile.score, noise_of_a_cell=plan.noise_of_a_cell
                    )
                else:
                    choose_parents(me, records, sizes=plan.sizes, degree=plan.degree, epsilon=eps2, score=profile.score)
        if profile.update != "none":
            with me.phase("update"):  # 3
                eps3 = plan.budget.update
                if profile.update == "joint":
                    count_jointly(me, records, sums, updates=p.updates, epsilon=eps3, weighted=self.weighted)
                elif profile.update == "sequential":
                    count_in_turn(me, records, rows=sums.rows, epsilon=eps3)
                elif replacement is not None:
                    take_turns(me, records, replacement, epsilon=eps3)
        with me.phase("parameters"):  # 4
            families = me.receive(self.Network, source=CURATOR).families
            self.of_parameters(plan, families).contribute(records, sums)

    def curator(self, desk: Curator) -> Outcome:
        p, profile = self.parameters, self.profile
        domain = Binary(desk.domain).bits if self.binary else desk.domain
        replacement = None
        with desk.phase("keys"):
            sums = CuratorSums(desk, p, noise=self.noise)
            if profile.update == "replace":
                replacement = CuratorReplacement(desk, domain=domain, rows=sums.rows)
        plan = self.plan(domain, rows=sums.rows, parties=len(desk.parties))
        known: list[Estimate] = []
        if plan.budget.correlations:
            with desk.phase("correlations"):  # 1
                known = self.correlations(plan).receive(sums)
        network = BayesianNetwork(domain, {})
        if not plan.flat:
            information = (
                correlations_of(domain, known, rows=sums.rows, averaged=self.mode == "rigorous")
                if profile.views != "one-way"
                else None
            )
            with desk.phase("initialisation"):  # 2
                if plan.budget.initialisation:
                    found = receive_structure(desk)
                    network = directed(domain, found) if profile.init == "forest" else structure_of(domain, found)
                elif information is not None:
                    root = desk.randomness("root").below(len(domain.attributes))
                    network = self.tree(plan, information, root=root)
            if profile.update != "none" and information is not None:
                with desk.phase("update"):  # 3
                    network = self.updated(desk, network, plan, information, sums=sums, replacement=replacement)
            with desk.phase("parameters"):  # 4
                families = tuple(family for family in network.maximal_families if not self.known(family))
                families = families or network.maximal_families  # no edges: what is left goes to the same tables again
                desk.broadcast(self.Network(families))
                known = [*self.worth_keeping(known), *self.of_parameters(plan, families).receive(sums)]
        with desk.phase("synthesis"):  # 5
            return self.synthesise(desk, network, known, rows=sums.rows)

    # What both sides know of a batch.

    def correlations(self, plan: Plan) -> Tables:
        return Tables(plan.domain, plan.views, plan.budget.correlations, weighted=self.weighted)

    def of_parameters(self, plan: Plan, families: Sequence[Family]) -> Tables:
        return Tables(plan.domain, tuple(families), plan.budget.parameters, weighted=self.weighted)

    @property
    def weighted(self) -> bool:
        """Whether tables share a batch's budget by their sizes; those of bits are alike, and the paper knows no such thing."""
        return self.mode == "rigorous" and not self.binary

    # What the curator makes of it.

    def tree(self, plan: Plan, information: Correlations, *, root: int) -> BayesianNetwork:
        names = plan.domain.attributes
        fits = lambda x, parents: plan.sizes.fits(names[x], [names[y] for y in parents])  # noqa: E731
        found = spanning_tree(information, root=root, fits=fits)
        return BayesianNetwork(plan.domain, {names[x]: tuple(names[y] for y in own) for x, own in found.items()})

    def updated(
        self, desk: Curator, network: BayesianNetwork, plan: Plan, information: Correlations, *, sums: CuratorSums,
        replacement: CuratorReplacement | None,
    ) -> BayesianNetwork:  # fmt: skip
        """Learn a better network from the parties' tables of frontiers."""

        def around(own: BayesianNetwork) -> BayesianNetwork:
            return self.frontier(plan, own, information)

        def learn(frontier: BayesianNetwork, counted: Sequence[Estimate]) -> BayesianNetwork:
            return select_parents(frontier, counted, sizes=plan.sizes, degree=plan.degree)

        how: dict[str, Any] = {"around": around, "learn": learn, "epsilon": plan.budget.update}
        if replacement is not None:
            return replace_in_turn(desk, network, replacement, **how)
        if self.profile.update == "sequential":
            return collect_in_turn(desk, network, rows=sums.rows, **how)
        return collect_jointly(desk, network, sums, updates=self.parameters.updates, weighted=self.weighted, **how)

    def frontier(self, plan: Plan, network: BayesianNetwork, information: Correlations) -> BayesianNetwork:
        names = plan.domain.attributes
        places = {name: at for at, name in enumerate(names)}
        fits = lambda x, parents: plan.wide.fits(names[x], [names[y] for y in parents])  # noqa: E731
        start = {places[x]: [places[y] for y in own] for x, own in network.parents.items()}
        found = search_frontier(start, information, fits=fits, degree=plan.wide_degree, extended=self.mode == "rigorous")
        return BayesianNetwork(plan.domain, {names[x]: tuple(names[y] for y in own) for x, own in found.items()})

    def known(self, family: Family) -> bool:
        """Whether a family's table was counted in phase 1 already, for itself."""
        return self.profile.views == "one-way" and len(family) == 1

    def worth_keeping(self, known: Sequence[Estimate]) -> Sequence[Estimate]:
        """Keep the tables of phase 1 where they say more than those of phase 4 do anyway."""
        return known if self.profile.views == "one-way" else ()

    def synthesise(self, desk: Curator, network: BayesianNetwork, known: Sequence[Estimate], *, rows: int) -> Outcome:
        settled = agree(known, total=rows) if self.mode == "rigorous" else known
        tables: list[Marginal] = [estimate.table for estimate in settled]
        binary = Binary(desk.domain) if self.binary else None
        generator = desk.randomness("sampling").generator()
        made = synthesise(network.fit(tables), self.parameters.synthetic_rows or rows, generator=generator, binary=binary)
        edges = sum(map(len, network.parents.values()))
        shape = f"{edges} edges, at most {network.degree} parents" if edges else "none worth its noise: one-way tables"
        return Outcome(
            synthetic=desk.domain.decode(made.codes),
            model={"parents": network.parents, "tables": [list(table.attributes) for table in tables]},
            summary={
                "network": shape,
                **({"rejected": made.rejected} if made.rejected else {}),
            },
        )

    def predict(self, public: Public) -> list[Cost]:
        """Predict what does not depend on the network that is found: keys, and the correlations."""
        if public.domain is None:
            return []
        domain = Binary(public.domain).bits if self.binary else public.domain
        plan = self.plan(domain, rows=public.rows, parties=public.parties)
        lines = predict_keys(self.parameters, public, phase="keys")
        if self.profile.update == "replace":  # which has a key of its own
            own = [line for line in lines if line.kind == "EncryptionKey"]
            twice = [replace(line, messages=2 * line.messages, payload_bytes=2 * line.payload_bytes) for line in own]
            lines = [*(line for line in lines if line not in own), *twice]
        if plan.budget.correlations:
            batch = self.correlations(plan).batch
            lines += predict_sum(self.parameters, public, noise=self.noise, phase="correlations", **batch)  # type: ignore[arg-type]
        return lines

    def warnings(self, public: Public) -> list[str]:
        said = sum_warnings(self.parameters, noise=self.noise, parties=public.parties)
        if self.profile.update == "replace" and self.budget is not None and public.parties > 1:
            claimed, more = self.parameters.epsilon, (public.parties - 1) * self.budget.update
            said.append(
                f"update=replace claims epsilon {claimed:g} for every party, but each later party's turn releases the earlier "
                f"ones' records again: towards the curator party 1 pays {claimed + more:g}, {1 + more / claimed:.3g} times "
                "as much; against another party no epsilon holds"
            )
        return said


def check(profile: Profile, budget: Budget | None) -> None:
    """Refuse choices that do not go together."""
    if budget is None:
        if (profile.views, profile.init, profile.update) != ("one-way", "forest", "none"):
            raise UsageError("expected budget=a,b,c,d, four shares of epsilon, for other phases than the default's, found none")
        return
    if profile.init != "mst" and not budget.initialisation:
        raise UsageError(f"expected a share of epsilon for init={profile.init} in budget, the second, found 0")
    if profile.init == "mst" and budget.initialisation:
        raise UsageError("expected no share of epsilon for init=mst in budget, the second: it looks at no record")
    if profile.init == "mst" and profile.views == "one-way":
        raise UsageError("expected views of pairs for init=mst, found one-way, which shows no correlations")
    if profile.update != "none" and (not budget.update or profile.views == "one-way"):
        raise UsageError(
            f"expected views of pairs and a share of epsilon for update={profile.update}, the third of budget, found none"
        )
    if profile.update == "none" and budget.update:
        raise UsageError("expected no share of epsilon for update=none in budget, the third")
    if profile.update == "none" and profile.init != "mst" and profile.views != "one-way":
        raise UsageError(f"expected views=one-way for init={profile.init} and update=none, as nobody reads the correlations")
    if not budget.correlations:
        raise UsageError("expected a share of epsilon for the correlations in budget, the first, found 0")
