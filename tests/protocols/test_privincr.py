"""PrivIncr: the paper's examples and equations, its errata, and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise, permutations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from house_suites import SampledSuite, VariantSuite

import sottovoce
from sottovoce.curator import (
    Curator,
    Marginal,
    combine,
    correlation_threshold,
    dependency_graph,
    junction_tree,
)
from sottovoce.curator.association import association
from sottovoce.curator.estimates import Estimate
from sottovoce.curator.pair_planning import Planning
from sottovoce.curator.pair_tables import PairTables, estimate_pairs
from sottovoce.curator.projections import norm_sub
from sottovoce.curator.shrinkage import SPREADS, PairPosterior
from sottovoce.messages import MessageError, UsageError
from sottovoce.privacy import Domain
from sottovoce.privacy.local import DirectEncoding, OptimisedUnary
from sottovoce.protocols.cost import Public
from sottovoce.protocols.options import Mode
from sottovoce.protocols.privincr import NoIncremental
from sottovoce.protocols.privincr.accumulation import (
    AccumulatedTable,
    CountedTable,
    accumulate,
    aggregate,
)
from sottovoce.protocols.privincr.factoring import (
    Factor,
    clique_size,
    conditions_of,
    factorise,
    nested_factors,
)
from sottovoce.protocols.privincr.graph import CorrectedGraph, PrintedGraph
from sottovoce.protocols.privincr.parameters import Base, NoIncrementalParameters
from sottovoce.protocols.privincr.planning import MIN_USERS, noise_of_users
from sottovoce.protocols.privincr.pruning import (
    bound,
    plain_threshold,
    plug_in_information,
    relaxed_threshold,
)
from sottovoce.protocols.privincr.variant import (
    PrivIncrVariant,
    by_cells,
    by_power,
    round_questions,
)
from sottovoce.protocols.survey import Answer, Question, SurveyMessages
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIX = Domain(dict.fromkeys("ABCDEF", ("0", "1")))
INFORMATION = {
    "AB": 0.0776,
    "AC": 0.0356,
    "AD": 0.0378,
    "AE": 0.0280,
    "AF": 0.0917,
    "BC": 0.0171,
    "BD": 0.0613,
    "BE": 0.0208,
    "BF": 0.0153,
    "CD": 0.0144,
    "CE": 0.0712,
    "CF": 0.0267,
    "DE": 0.0433,
    "DF": 0.0384,
    "EF": 0.0309,
}
"""Figure 2(a)."""


class TestPrivIncr(SampledSuite):
    protocol = "privincr"
    parameters: ClassVar[Mapping[str, Any]] = {"rounds": 2}
    rows = 1200


class TestPrivIncrByTests(VariantSuite):
    protocol = "privincr"
    parameters: ClassVar[Mapping[str, Any]] = {"rounds": 2, "learning": "tests"}
    rows = 1200


class TestPrivIncrAsPrinted(VariantSuite):
    protocol = "privincr"
    mode = "paper"
    parameters: ClassVar[Mapping[str, Any]] = {"rounds": 2}
    rows = 1200


class TestNoIncrementalByCounts(VariantSuite):
    protocol = "no-incremental"
    parameters: ClassVar[Mapping[str, Any]] = {"simulate": "counts", "users": 20_000}


def test_example_5_1() -> None:
    """Figure 2: at phi = 0.3 the threshold of binary attributes is 0.045; four edges are left."""
    edges = [
        (pair[0], pair[1])
        for pair, bits in INFORMATION.items()
        if bits >= correlation_threshold(SIX, *pair, phi=0.3)
    ]
    assert correlation_threshold(SIX, "A", "B", phi=0.3) == pytest.approx(0.045)
    assert edges == [("A", "B"), ("A", "F"), ("B", "D"), ("C", "E")]
    tree = junction_tree(SIX, dependency_graph(SIX, edges))
    assert sorted("".join(clique) for clique in tree.cliques) == ["AB", "AF", "BD", "CE"]


def domain_of(**sizes: int) -> Domain:
    """Make a domain of attributes with so many labels."""
    return Domain({name: tuple(map(str, range(size))) for name, size in sizes.items()})


def test_thresholds() -> None:
    domain = domain_of(a=16, b=41, c=7, d=6)
    assert correlation_threshold(domain, "a", "b", phi=0.3) == pytest.approx(0.675)
    assert correlation_threshold(domain, "c", "d", phi=0.3) == pytest.approx(0.225)


@pytest.mark.parametrize(
    ("users", "size", "alpha", "expected"),
    [
        (10**6, 2, 0.1, 0.053208),
        (10**5, 16, 0.1, 1.056772),
        (11_105, 16, 0.1, 2.731155),
        (1000, 2, 0.1, 0.934242),
        (10**5, 16, 0.05, 1.058554),
        (5, 2, 0.1, 1.0),
        (95, 16, 0.1, 4.0),
    ],
)
def test_the_bound_of_theorem_5_2(users: int, size: int, alpha: float, expected: float) -> None:
    """Of a few users it is all the information that a label may have."""
    assert bound(users, left=size, right=size, alpha=alpha) == pytest.approx(expected, abs=1e-6)


def test_the_relaxed_threshold_prunes_nothing() -> None:
    """E2: the threshold is negative for every pair of Adult's sizes.

    The users of an edge are those of six rounds at 1.5 million users.
    """
    assert bound(0, left=4, right=9, alpha=0.1) == 2.0  # nothing is known of log2(4) bits
    sizes = (16, 7, 16, 16, 16, 7, 14, 6, 5, 2, 16, 16, 16, 41, 2)
    domain = domain_of(**{f"a{number}": size for number, size in enumerate(sizes)})
    pairs = list(combinations(domain.attributes, 2))
    cells = sum(map(domain.cells, pairs))
    thresholds = [
        relaxed_threshold(
            domain,
            pair,
            users=int(750_000 * domain.cells(pair) / cells),
            phi=0.3,
            alpha=0.05,
        )
        for pair in pairs
    ]
    assert cells == 17_290
    assert max(thresholds) < -0.8
    # Not even if all users were asked about one pair.
    assert relaxed_threshold(domain, ("a9", "a14"), users=750_000, phi=0.3, alpha=0.05) < 0


def answer(
    edge: tuple[str, ...],
    values: Any,
    users: int,
    *,
    kind: Any = OptimisedUnary,
    epsilon: float = 1.0,
) -> Answer:
    """Make an answer whose estimate is `values`, nearly: supports are whole numbers."""
    randomizer = kind(np.size(values), epsilon=epsilon)
    p, q = float(randomizer.p), float(randomizer.q)
    frequencies = np.asarray(values, float).reshape(-1)
    support = np.rint(users * (q + (p - q) * frequencies)).astype(np.int64)
    return Answer(Question(edge, randomizer, users), support)


def test_accumulation_weighs_by_users() -> None:
    """E1: groups of 1000 and 3000 users whose shares are 0.2 and 0.1 give 0.125.

    The printed weights give 0.175.
    """
    domain = domain_of(x=2, y=2)
    first = answer(("x", "y"), [[0.2, 0.3], [0.1, 0.4]], 1000)
    second = answer(("x", "y"), [[0.1, 0.4], [0.3, 0.2]], 3000)
    both = accumulate(accumulate({}, [first]), [second])["x", "y"]
    assert both.question.users == 4000
    assert both.frequencies()[0] == pytest.approx(0.125, abs=2e-3)
    printed = AccumulatedTable.of(domain, first) + AccumulatedTable.of(domain, second)
    assert printed.table.values[0, 0] == pytest.approx(0.175, abs=2e-3)  # noqa: PD011 - not of pandas
    assert printed.users == 4000
    # The variance: v / 4000, against (0.75^2 / 1000 + 0.25^2 / 3000) v.
    assert pytest.approx(2.333333, abs=1e-6) == (0.75**2 / 1000 + 0.25**2 / 3000) * 4000


def test_answers_to_other_questions_do_not_add_up() -> None:
    even = np.full(4, 0.25)
    with pytest.raises(ValueError, match="answers to one question"):
        answer(("x", "y"), even, 10) + answer(("x", "z"), even, 10)
    with pytest.raises(ValueError, match="answers to one question"):
        answer(("x", "y"), even, 10) + answer(("x", "y"), even, 10, kind=DirectEncoding)


def test_rounds_add_up_to_one() -> None:
    """Property 5.1, and equation 13: rounds accumulate to what one round of all users tells."""
    generator = np.random.default_rng(1)
    parts = [
        answer(("x", "y"), generator.dirichlet(np.ones(6)), users) for users in (100, 700, 50, 3000)
    ]
    rounds = parts[0]
    for part in parts[1:]:
        rounds = rounds + part
    weights = np.array([part.question.users for part in parts]) / 3850
    expected = sum(weight * part.frequencies() for weight, part in zip(weights, parts, strict=True))
    assert rounds.frequencies() == pytest.approx(expected)


def test_counts_of_rounds_add_up() -> None:
    """Equation 5: rounds tell what one round of all users tells; views add up their counts."""
    domain = domain_of(x=2, y=3, z=4)
    generator = np.random.default_rng(2)
    rounds = [answer(("x", "y"), generator.dirichlet(np.ones(6)), n) for n in (100, 700, 3000)]
    table = CountedTable.of(domain, rounds[0])
    together = rounds[0]
    for more in rounds[1:]:
        table, together = table + CountedTable.of(domain, more), together + more
    assert type(table) is CountedTable
    assert table.users == 3800
    assert table.table.values.ravel() == pytest.approx(together.frequencies())  # noqa: PD011 - ours
    other = CountedTable.of(domain, answer(("x", "z"), generator.dirichlet(np.ones(8)), 1200))
    counts = sum(
        part.users * part.table.project(("x",)).values  # noqa: PD011 - ours
        for part in (table, other)
    )
    view = aggregate(domain, [table, other], ("x",)).values  # noqa: PD011 - ours
    assert view == pytest.approx(counts / 5000)


def test_views_are_weighed_by_users_and_cells() -> None:
    """With C = 16 and 1, n = 4000 and 1000 the weights are 0.2 and 0.8.

    As printed, they go the other way round with n.
    """
    domain = domain_of(x=2, y=16)
    joint, single = np.full((2, 16), 1 / 32), np.array([0.9, 0.1])
    joint[0] += 0.01
    estimates = [
        Estimate(Marginal(("x", "y"), joint), 1 / 4000),
        Estimate(Marginal(("x",), single), 1 / 1000),
    ]
    expected = 0.2 * joint.sum(axis=1) + 0.8 * single
    assert combine(estimates, ("x",)).table.values == pytest.approx(expected)  # noqa: PD011 - the same
    tables = [
        AccumulatedTable(Marginal(("x", "y"), joint), 1 / 4000, 4000),
        AccumulatedTable(Marginal(("x",), single), 1 / 1000, 1000),
    ]
    weight = (1 / 64_000) / (1 / 64_000 + 1 / 1000)
    view = aggregate(domain, tables, ("x",)).values  # noqa: PD011 - the same
    assert view == pytest.approx(weight * joint.sum(axis=1) + (1 - weight) * single)


def test_sigma() -> None:
    """Sigma of 11 cliques and 750,000 users.

    At epsilon 2 the specification has 184; its own formula gives 192, as here.
    """
    variances = (3.68269438, 0.724061661, 0.0760218298, 0.00134275125)
    sizes = [round(clique_size(750_000 / 11, variance=variance)) for variance in variances]
    assert sizes == [85, 192, 593, 4465]


FIVE = domain_of(A=2, B=3, C=4, D=5, E=6)


def information_of(pairs: Mapping[str, float]) -> dict[frozenset[str], float]:
    """Make the information of all pairs of FIVE; it is 0 where `pairs` has none."""
    nothing = dict.fromkeys(map(frozenset, combinations("ABCDE", 2)), 0.0)
    return nothing | {frozenset(pair): bits for pair, bits in pairs.items()}


def test_what_is_relevant() -> None:
    information = information_of(
        {"AB": 0.5, "AC": 0.4, "BC": 0.45, "AD": 0.1, "BD": 0.01, "CD": 0.5}
    )

    def conditions(head: str, *others: str) -> tuple[str, ...]:
        return conditions_of(head, others, domain=FIVE, information=information)

    # C tells of A, but no more than B tells of C: it is redundant. D is not.
    assert conditions("A", "B", "C", "D") == ("B", "D")
    assert conditions("E", "B", "C") == ("B",)  # at least one; of equal ones the smaller
    assert conditions("A") == ()


def test_a_clique_is_taken_apart() -> None:
    information = information_of({"AB": 0.5, "BC": 0.4, "CD": 0.3, "DE": 0.2})

    def factors(clique: str, separator: str, *, sigma: float) -> list[Factor]:
        return factorise(clique, separator, domain=FIVE, information=information, sigma=sigma)

    assert factors("ABCDE", "B", sigma=720) == [Factor(("A", "C", "D", "E"), ("B",))]
    parts = factors("ABCDE", "B", sigma=10)
    drawn = {"B"}
    for factor in parts:
        assert set(factor.given) <= drawn  # what is given was drawn before
        assert not set(factor.heads) & drawn
        drawn |= set(factor.heads)
    assert drawn == set("ABCDE")
    assert max(FIVE.cells(tuple(factor.attributes)) for factor in parts) <= 30
    # A separator is given and never drawn.
    assert [factor.heads for factor in factors("AB", "A", sigma=1)] == [("B",)]
    assert factors("A", "A", sigma=1) == []


def test_the_printed_algorithm_measures_nested_sets() -> None:
    """E8: a block of four heads is one table; lines 3 and 4 measure four, each by own users."""
    block = Factor(("A", "C", "D", "E"), ("B",))
    assert nested_factors([block], choose=lambda heads: heads[-1]) == [
        Factor(("A",), ("B",)),
        Factor(("C",), ("B", "A")),
        Factor(("D",), ("B", "A", "C")),
        Factor(("E",), ("B", "A", "C", "D")),
    ]


def noiseless(edge: tuple[str, ...], table: NDArray[np.float64]) -> Answer:
    """Make an answer of so many users that it has hardly any noise."""
    return answer(edge, table, 10**9, epsilon=8.0)


def graphs(domain: Domain) -> dict[str, CorrectedGraph | PrintedGraph]:
    """Make a graph for each test of edges."""
    return {
        "chi-squared": CorrectedGraph(domain=domain, phi=0.3, alpha=0.05, base="bits"),
        **{
            threshold.__name__: PrintedGraph(
                domain=domain, phi=0.3, alpha=0.05, threshold=threshold, project=norm_sub
            )
            for threshold in (plain_threshold, relaxed_threshold)
        },
    }


def test_an_edge_whose_information_is_its_threshold_stays() -> None:
    """An edge is removed if its information is below the threshold, and not where it is equal."""
    edge, table = ("a", "b"), np.array([[0.4, 0.1], [0.2, 0.3]])
    limits: list[float] = []
    graph = PrintedGraph(
        domain=domain_of(a=2, b=2),
        phi=0.3,
        alpha=0.05,
        threshold=lambda *_, **__: limits[-1],
        project=norm_sub,
    )
    graph.accumulate([noiseless(edge, table)])
    information = plug_in_information(graph.table(edge).values, edge)
    for toward, stays in ((information, True), (1.0, False), (0.0, True)):
        limits.append(float(np.nextafter(information, toward)))
        assert graph.is_above(edge) == stays


@pytest.mark.parametrize("test", ["chi-squared", "plain_threshold", "relaxed_threshold"])
def test_without_noise_all_tests_agree(test: str) -> None:
    """With 10^9 users an edge at phi = 0.5 stays and an independent pair goes."""
    graph = graphs(domain_of(a=2, b=2, c=2))[test]
    dependent, independent = np.array([[0.4, 0.1], [0.1, 0.4]]), np.full((2, 2), 0.25)
    for last in (False, True):
        graph.accumulate([noiseless(("a", "b"), dependent), noiseless(("b", "c"), independent)])
        assert ("a", "c") in graph.edges  # nobody was asked
        graph.prune(last=last)
    assert graph.edges == [("a", "b")]
    information = graph.information()
    assert information[frozenset("ab")] == pytest.approx(
        0.26 if test == "chi-squared" else 0.278, abs=2e-3
    )
    assert information[frozenset("ac")] == 0


def test_the_unit_of_information() -> None:
    """E3: the same edge is above the threshold in bits and below it in nats."""
    table = np.array([[0.33, 0.17], [0.17, 0.33]])  # V = 0.32, I = 0.0752 bits, 0.0521 nats
    x = association(table, np.full(2, 0.5), np.full(2, 0.5), base=1e-12, slope=0.0).x
    assert x == pytest.approx(0.1024, abs=1e-4)

    def keeps(base: Base, *, phi: float) -> bool:
        graph = CorrectedGraph(domain=domain_of(a=2, b=2), phi=phi, alpha=0.05, base=base)
        graph.accumulate([noiseless(("a", "b"), table)])
        graph.prune(last=True)
        return bool(graph.edges)

    assert keeps("bits", phi=0.35)
    assert not keeps("nats", phi=0.35)
    assert keeps("nats", phi=0.3)


def run(name: str, *, table: pd.DataFrame | None = None, **more: Any) -> sottovoce.Run:
    if table is not None:
        return sottovoce.run(name, table, seed=1, **more)
    return sottovoce.run(name, "demo", seed=1, **{"rows": 3000, "judge": False, **more})


def test_edges_and_users_of_rounds() -> None:
    def users_of(
        domain: Domain, edges: Sequence[tuple[str, ...]], users: int, weight: Any = by_cells
    ) -> dict[tuple[str, ...], int]:
        weights = {edge: weight(domain, edge) for edge in edges}
        questions = round_questions(
            domain,
            weights,
            users=users,
            randomizer=lambda cells: OptimisedUnary(cells, epsilon=1.0),
        )
        return {question.attributes: question.users for question in questions}

    even = users_of(SIX, list(combinations("ABCDEF", 2)), 1000)
    assert sum(even.values()) == 1000
    assert set(even.values()) == {66, 67}
    domain, edges = domain_of(a=2, b=4, c=64), [("a", "b"), ("b", "c")]
    assert users_of(domain, edges, 1000) == {("a", "b"): 30, ("b", "c"): 970}
    assert users_of(domain, edges, 10) == {("b", "c"): 10}  # the other edge waits
    assert users_of(domain, edges, 1000, by_power) == {("a", "b"): 16, ("b", "c"): 984}


def instance(name: str, *, mode: Mode = "rigorous", **parameters: Any) -> PrivIncrVariant:
    protocol = instantiate(Job(protocol=name, mode=mode, parameters=parameters))
    assert isinstance(protocol, PrivIncrVariant)
    return protocol


def test_a_variant_is_a_class() -> None:
    def variant(name: str, *, mode: Mode = "rigorous", **parameters: Any) -> str:
        return type(instance(name, mode=mode, **parameters)).__name__

    assert variant("privincr") == variant("privincr", learning="adaptive") == "PrivIncr"
    assert variant("privincr", learning="tests") == "CorrectedPrivIncr"
    assert variant("privincr", mode="paper") == "PrintedPrivIncr"
    assert variant("privincr", mode="paper", learning="tests") == "PrintedPrivIncr"
    assert variant("privincr", mode="paper", accumulation="frequencies") == "PrintedPrivIncr"
    assert variant("privincr", mode="paper", accumulation="counts") == "CountingPrivIncr"
    assert variant("no-incremental", mode="paper", accumulation="counts") == "CountingNoIncremental"
    assert variant("no-incremental") == "NoIncremental"
    assert variant("no-incremental", mode="paper") == "PrintedNoIncremental"


PUBLIC = Public(parties=1, rows=100, key_bits=2048, domain=None)


def test_the_report_shows_what_was_left_open() -> None:
    corrected = {
        "test": "chi-squared",
        "projection": "norm-sub",
        "accumulation": "counts",
        "cliques": "all",
    }
    printed = {
        "test": "relaxed",
        "projection": "norm-mul",
        "accumulation": "frequencies",
        "cliques": "large",
    }
    assert instance("privincr").chosen(PUBLIC) == {"learning": "adaptive", **corrected}
    assert instance("privincr", learning="tests").chosen(PUBLIC) == corrected
    assert instance("privincr", mode="paper").chosen(PUBLIC) == {"learning": "tests", **printed}
    assert instance("privincr", mode="paper", test="plain", cliques="all").chosen(PUBLIC) == {
        "learning": "tests",
        "projection": "norm-mul",
        "accumulation": "frequencies",
    }
    counting = instance("privincr", mode="paper", accumulation="counts").chosen(PUBLIC)
    assert counting == {
        "learning": "tests",
        "test": "relaxed",
        "projection": "norm-mul",
        "cliques": "large",
    }
    assert instance("no-incremental").chosen(PUBLIC) == corrected
    assert instance("no-incremental", mode="paper").chosen(PUBLIC) == {**printed, "test": "plain"}


def test_the_printed_mode_asks_by_unary_encoding() -> None:
    assert instance("privincr", mode="paper").randomizer(4).name == "oue"
    assert instance("privincr").randomizer(4).name == "grr"
    assert instance("privincr", mode="paper", oracle="adaptive").randomizer(4).name == "grr"


def test_the_baseline_has_one_round() -> None:
    """Its parameters are its own: learning=tests and rounds=1, as a report shows."""
    assert NoIncremental.Parameters is NoIncrementalParameters
    result = run("no-incremental", simulate="counts", users=20_000)
    parameters = result.report["parameters"]
    assert (parameters["learning"], parameters["rounds"]) == ("tests", 1)
    phases = [phase["name"] for phase in result.report["phases"]]
    assert phases[:3] == ["users", "round 1", "cliques"]


def planning(domain: Domain, sets: list[tuple[str, ...]], *, epsilon: float = 1.0) -> Planning:
    law = noise_of_users(lambda cells: OptimisedUnary(cells, epsilon=epsilon))
    return Planning(domain, sets, law)


def test_users_go_where_they_help_most() -> None:
    """Moving users from any set to another makes the predicted distance no smaller."""
    domain = domain_of(a=2, b=3, c=9)
    sets: list[tuple[str, ...]] = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c")]
    plan = planning(domain, sets)
    before: dict[tuple[str, ...], int] = {("a", "b"): 5000}
    shares = plan.share_out(before, 100_000, least=MIN_USERS)
    assert sum(shares.values()) == pytest.approx(100_000, rel=0.01)

    def predicted(new: Mapping[tuple[str, ...], float]) -> float:
        return plan.predict(
            {names: int(before.get(names, 0) + new.get(names, 0)) for names in sets}
        )

    best = predicted(shares)
    for source, target in permutations(sets, 2):
        moved = dict(shares)
        users = min(2000.0, moved.get(source, 0.0))
        moved[source] = moved.get(source, 0.0) - users
        moved[target] = moved.get(target, 0.0) + users
        assert predicted(moved) >= best * (1 - 2e-4), (source, target)
    assert best < predicted(dict.fromkeys(sets, 100000 / 6))


def test_tables_of_cliques_share_the_users_with_the_least_error() -> None:
    """The error of a table is its cells by the root of its users; the referee is a grid.

    Two pairs of equal attributes, with 4 cells and with 64, are two cliques.
    """
    labels = np.random.default_rng(3).integers(0, [2, 8], (2000, 2)).astype(str)
    table = pd.DataFrame(labels[:, [0, 0, 1, 1]], columns=list("abcd"))
    asked = sottovoce.run(
        "privincr",
        table,
        learning="tests",
        rounds=1,
        epsilon=6.0,
        simulate="counts",
        users=20_000,
        synthetic_rows=100,
        seed=1,
        judge=False,
    ).model["cliques"]
    assert [set(names) for names in asked["asked"]] == [{"a", "b"}, {"c", "d"}]
    first, second = asked["users"]
    grid = np.arange(1, first + second)
    best = grid[np.argmin(4 / np.sqrt(grid) + 64 / np.sqrt(first + second - grid))]
    assert abs(first - best) <= 1


def posterior(shape: tuple[int, int], *, surely_product: bool) -> PairPosterior:
    spreads = len(SPREADS)
    even = np.full((1, shape[0] * shape[1]), 0.05)
    weight = np.zeros((1, spreads))
    weight[0, 0 if surely_product else spreads - 4] = 1.0
    return PairPosterior(np.zeros(shape), np.ones(shape), weight, weight, even)


def test_what_is_surely_independent_needs_nobody() -> None:
    domain = domain_of(a=4, b=4, c=4, d=4)
    pairs: list[tuple[str, ...]] = list(combinations("abcd", 2))
    plan = planning(domain, [*((name,) for name in "abcd"), *pairs])
    singles = {name: Marginal((name,), np.full(4, 0.25)) for name in "abcd"}
    posteriors = {pair: posterior((4, 4), surely_product=pair != ("a", "b")) for pair in pairs}
    plan.learn(PairTables(singles, {}, posteriors))
    shares = plan.share_out(dict.fromkeys(pairs, 10000), 100_000, least=MIN_USERS)
    assert shares["a", "b"] > 5 * max(shares.get(pair, 0.0) for pair in pairs[1:])


def test_pairs_are_estimated_once_each() -> None:
    """Every pair comes once and in the domain's order, whatever the order of the answers."""
    domain = domain_of(a=2, b=2, c=2)
    table = np.array([[0.4, 0.1], [0.1, 0.4]])
    answers = [
        answer(("b", "c"), table, 10**6),
        answer(("a", "b"), table, 10**6),
        answer(("c",), np.full(2, 0.5), 10**6),
    ]
    noisy = [each.noisy(domain) for each in answers]
    tables = estimate_pairs(domain, noisy, generator=np.random.default_rng(1))
    assert sorted(tables.pairs) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert list(tables.singles) == ["a", "b", "c"]
    assert sorted(tables.posteriors) == [("a", "b"), ("b", "c")]
    assert tables.pairs["a", "b"].values == pytest.approx(table, abs=0.02)  # noqa: PD011 - the same


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"phi": 0.2}, "expected phi=0.2 with learning=tests or mode=paper, found learning=adapt"),
        ({"test": "plain"}, "expected test=plain with mode=paper, found learning=adaptive"),
        ({"learning": "adaptive", "mode": "paper"}, "expected learning=tests in mode paper"),
        ({"learning": "tests", "test": "plain"}, "test=plain with mode=paper, found learning=te"),
        ({"learning": "tests", "projection": "norm-mul"}, "projection=norm-mul with mode=paper"),
        ({"learning": "tests", "cliques": "large"}, "expected cliques=large with mode=paper"),
        ({"mode": "paper", "test": "chi-squared"}, "test=chi-squared with learning=tests"),
        ({"mode": "paper", "groups": "power"}, "expected groups=power with learning=tests"),
        (
            {"learning": "tests", "accumulation": "frequencies"},
            "expected accumulation=frequencies with mode=paper, found learning=tests",
        ),
        ({"accumulation": "counts"}, "accumulation=counts with learning=tests or mode=paper"),
        (
            {"mode": "paper", "test": "plain", "base": "nats"},
            "expected base=nats with learning=tests, found mode=paper, which does not use it",
        ),
        ({"mode": "paper", "base": "nats"}, "expected base=nats with learning=tests"),
        ({"rounds": 101}, "rounds"),
        (
            {"rows": 10, "learning": "tests"},
            "at least a user for each of 15 tables of cliques, found 5",
        ),
        ({"graph_users": 1.0, "learning": "tests"}, "graph_users"),
    ],
)
def test_what_cannot_be(more: dict[str, Any], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        sottovoce.run("privincr", "demo", seed=1, **({"rows": 500} | more))


def test_one_label_and_one_attribute() -> None:
    table = pd.DataFrame({"x": ["0", "1", "1", "0"] * 200, "one": ["a"] * 800})
    schema = {"x": ["0", "1"], "one": ["a"]}
    for learning in ("adaptive", "tests"):
        result = run("privincr", table=table, schema=schema, learning=learning, epsilon=4.0)
        assert result.synthetic is not None
        assert set(result.synthetic["one"]) == {"a"}
        assert set(result.synthetic["x"]) == {"0", "1"}
    with pytest.raises(UsageError, match="one attribute of two labels or more"):
        run("privincr", table=table[["one"]], schema={"one": ["a"]})


@pytest.mark.parametrize(
    ("name", "more"),
    [("privincr", {}), ("privincr", {"learning": "tests"}), ("no-incremental", {"mode": "paper"})],
)
def test_few_users_are_enough_or_refused(name: str, more: dict[str, Any]) -> None:
    """A handful of users is enough for a table, or one line says that they are too few."""
    table = pd.DataFrame(
        {"x": ["0", "1"] * 20, "y": ["0", "0", "1", "2"] * 10, "z": ["a", "b", "b", "a"] * 10}
    )
    schema = {"x": ["0", "1"], "y": ["0", "1", "2"], "z": ["a", "b"]}
    for users in (1, 2, 5, 12, 40):
        try:
            result = run(name, table=table.iloc[:users], schema=schema, parties=1, **more)
        except UsageError as error:
            assert "expected at least a user for each" in str(error)
        else:
            assert result.synthetic is not None
            assert len(result.synthetic) == users
    result = run(name, table=table[["x"]], schema={"x": ["0", "1"]}, **more)
    assert result.synthetic is not None
    assert set(result.synthetic["x"]) <= {"0", "1"}


@pytest.mark.parametrize("learning", ["adaptive", "tests"])
def test_reports_and_counts_have_one_law(learning: str) -> None:
    """The numbers differ, but of 30,000 users the distances are alike.

    Nobody is asked twice.
    """
    distances = []
    for simulate in ("reports", "counts"):
        result = run(
            "privincr", learning=learning, simulate=simulate, users=30_000, epsilon=4.0, judge=True
        )
        distances.append(result.judgement["utility"]["tvd"]["2"])
        releases = result.report["privacy"]["releases"]
        places = sorted({tuple(release["users"]) for release in releases})
        assert all(before[1] == after[0] for before, after in pairwise(places))
        assert (places[0][0], places[-1][1]) == (0, 30_000)
        assert result.report["privacy"]["epsilon"]["curator"] == pytest.approx(4.0)
        assert result.report["communication"]["users"]["reports"] == 30_000
    assert distances[0] == pytest.approx(distances[1], abs=0.02)


def test_who_is_asked_does_not_depend_on_the_cohorts() -> None:
    alone, three = (run("privincr", parties=parties, epsilon=4.0) for parties in (1, 3))
    assert alone.synthetic is not None
    assert three.synthetic is not None
    pd.testing.assert_frame_equal(alone.synthetic, three.synthetic)
    assert alone.model == three.model


def test_a_cohort_asks_nobody_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cohorts count places: a plan for more users than remain ends the run."""
    broadcast, plans = Curator.broadcast, []

    def forged(desk: Curator, message: Any, **more: Any) -> None:
        if isinstance(message, SurveyMessages.Plan):
            plans.append(message)
            if len(plans) == 3:
                message = SurveyMessages.Plan(
                    message.questions, message.randomizers, message.sizes * 2
                )
        broadcast(desk, message, **more)

    monkeypatch.setattr(Curator, "broadcast", forged)
    with pytest.raises(
        MessageError,
        match="malformed Plan from the curator: expected groups of 1 to 1050 users together",
    ):
        run("privincr", epsilon=4.0)
