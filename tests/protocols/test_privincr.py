"""PrivIncr: the paper's examples and equations, its errata, and runs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, pairwise, permutations
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

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
from sottovoce.curator.shrinkage import SPREADS, PairPosterior
from sottovoce.launch.conformance import ProtocolConformance
from sottovoce.messages import MessageError, UsageError
from sottovoce.privacy import Domain
from sottovoce.privacy.local import DirectEncoding, OptimisedUnary
from sottovoce.protocols.local import PairTables, estimate_pairs
from sottovoce.protocols.privincr import NoIncremental, PrivIncr
from sottovoce.protocols.privincr.accumulation import Accumulated, accumulate, printed, printed_view
from sottovoce.protocols.privincr.factoring import Factor, clique_size, factorise, nested, relevant
from sottovoce.protocols.privincr.graph import Graph
from sottovoce.protocols.privincr.planning import Planning
from sottovoce.protocols.privincr.protocol import NoIncrementalParameters, PrivIncrParameters
from sottovoce.protocols.privincr.pruning import bound, relaxed
from sottovoce.protocols.survey import Answer, Question, SurveyMessages

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


class TestPrivIncr(ProtocolConformance):
    protocol = "privincr"
    parameters: ClassVar[Mapping[str, Any]] = {"rounds": 2}
    rows = 1200


class TestPrivIncrByTests(ProtocolConformance):
    protocol = "privincr"
    parameters: ClassVar[Mapping[str, Any]] = {"rounds": 2, "learning": "tests"}
    rows = 1200


class TestPrivIncrAsPrinted(ProtocolConformance):
    protocol = "privincr"
    mode = "paper"
    parameters: ClassVar[Mapping[str, Any]] = {"rounds": 2}
    rows = 1200


class TestNoIncrementalByCounts(ProtocolConformance):
    protocol = "no-incremental"
    parameters: ClassVar[Mapping[str, Any]] = {"simulate": "counts", "users": 20_000}


def test_example_5_1() -> None:
    """Figure 2: at phi = 0.3 the threshold of binary attributes is 0.045, and four edges are
    left.
    """
    kept = [
        pair
        for pair, bits in INFORMATION.items()
        if bits >= correlation_threshold(SIX, *pair, phi=0.3)
    ]
    assert correlation_threshold(SIX, "A", "B", phi=0.3) == pytest.approx(0.045)
    assert kept == ["AB", "AF", "BD", "CE"]
    tree = junction_tree(SIX, dependency_graph(SIX, [(pair[0], pair[1]) for pair in kept]))
    assert sorted("".join(own) for own in tree.cliques) == ["AB", "AF", "BD", "CE"]


def test_thresholds() -> None:
    domain = Domain(
        {
            name: tuple(map(str, range(size)))
            for name, size in zip("abcd", (16, 41, 7, 6), strict=True)
        }
    )
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
    ],
)
def test_the_bound_of_theorem_5_2(users: int, size: int, alpha: float, expected: float) -> None:
    assert bound(users, left=size, right=size, alpha=alpha) == pytest.approx(expected, abs=1e-6)


def test_the_relaxed_threshold_prunes_nothing() -> None:
    """E2: with the users of an edge after six rounds at 1.5 million it is negative for every pair
    of Adult's sizes.
    """
    assert bound(0, left=4, right=9, alpha=0.1) == 2.0  # nothing is known of log2(4) bits
    sizes = (16, 7, 16, 16, 16, 7, 14, 6, 5, 2, 16, 16, 16, 41, 2)
    domain = Domain({f"a{at}": tuple(map(str, range(size))) for at, size in enumerate(sizes)})
    pairs = list(combinations(domain.attributes, 2))
    whole = sum(map(domain.cells, pairs))
    least = [
        relaxed(domain, pair, users=int(750_000 * domain.cells(pair) / whole), phi=0.3, alpha=0.05)
        for pair in pairs
    ]
    assert whole == 17_290
    assert max(least) < -0.8
    assert (
        relaxed(domain, ("a9", "a14"), users=750_000, phi=0.3, alpha=0.05) < 0
    )  # even if all users were asked of one


def answer(
    edge: tuple[str, ...],
    values: Any,
    users: int,
    *,
    kind: Any = OptimisedUnary,
    epsilon: float = 1.0,
) -> Answer:
    """Make an answer whose estimate is `values`, nearly: supports are whole numbers."""
    asked = kind(np.size(values), epsilon=epsilon)
    p, q = float(asked.p), float(asked.q)
    support = np.rint(users * (q + (p - q) * np.asarray(values, float).reshape(-1))).astype(
        np.int64
    )
    return Answer(Question(edge, asked, users), support)


def test_accumulation_weighs_by_users() -> None:
    """E1: groups of 1000 and 3000 that say 0.2 and 0.1: 0.125, of which the printed weights make
    0.175.
    """
    domain = Domain({"x": ("0", "1"), "y": ("0", "1")})
    one, other = ([[0.2, 0.3], [0.1, 0.4]], [[0.1, 0.4], [0.3, 0.2]])
    said = accumulate({}, [answer(("x", "y"), one, 1000)])
    said = accumulate(said, [answer(("x", "y"), other, 3000)])
    both = said["x", "y"]
    assert both.question.users == 4000
    assert both.frequencies()[0] == pytest.approx(0.125, abs=2e-3)
    told = printed(domain, answer(("x", "y"), one, 1000)) + printed(
        domain, answer(("x", "y"), other, 3000)
    )
    assert told.table.values[0, 0] == pytest.approx(0.175, abs=2e-3)  # noqa: PD011 - not of pandas
    assert told.users == 4000
    # The variance: v / 4000, against (0.75^2 / 1000 + 0.25^2 / 3000) v.
    assert pytest.approx(2.333333, abs=1e-6) == (0.75**2 / 1000 + 0.25**2 / 3000) * 4000


def test_answers_to_other_questions_do_not_add_up() -> None:
    with pytest.raises(ValueError, match="answers to one question"):
        answer(("x", "y"), np.full(4, 0.25), 10) + answer(("x", "z"), np.full(4, 0.25), 10)
    with pytest.raises(ValueError, match="answers to one question"):
        answer(("x", "y"), np.full(4, 0.25), 10) + answer(
            ("x", "y"), np.full(4, 0.25), 10, kind=DirectEncoding
        )


def test_rounds_add_up_to_one() -> None:
    """Property 5.1, and equation 13: what is accumulated in rounds is what all rounds say at
    once.
    """
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


def test_views_are_weighed_by_users_and_cells() -> None:
    """C = 16 and 1, n = 4000 and 1000: 0.2 and 0.8; as printed, the other way round in n."""
    domain = Domain({"x": ("0", "1"), "y": tuple(map(str, range(16)))})
    wide, own = np.full((2, 16), 1 / 32), np.array([0.9, 0.1])
    wide[0] += 0.01
    estimates = [
        Estimate(Marginal(("x", "y"), wide), 1 / 4000),
        Estimate(Marginal(("x",), own), 1 / 1000),
    ]
    expected = 0.2 * wide.sum(axis=1) + 0.8 * own
    assert combine(estimates, ("x",)).table.values == pytest.approx(expected)  # noqa: PD011 - the same
    told = [
        Accumulated(Marginal(("x", "y"), wide), 1 / 4000, 4000),
        Accumulated(Marginal(("x",), own), 1 / 1000, 1000),
    ]
    weight = (1 / 64_000) / (1 / 64_000 + 1 / 1000)
    view = printed_view(domain, told, ("x",)).values  # noqa: PD011 - the same
    assert view == pytest.approx(weight * wide.sum(axis=1) + (1 - weight) * own)


def test_sigma() -> None:
    """Of 11 cliques and 750,000 users; the specification has 184 where this has 192, which its
    formula gives too.
    """
    variances = (3.68269438, 0.724061661, 0.0760218298, 0.00134275125)
    assert [round(clique_size(750_000 / 11, variance=own)) for own in variances] == [
        85,
        192,
        593,
        4465,
    ]


FIVE = Domain(
    {
        name: tuple(map(str, range(size)))
        for name, size in zip("ABCDE", (2, 3, 4, 5, 6), strict=True)
    }
)


def told(pairs: Mapping[str, float]) -> dict[frozenset[str], float]:
    known = dict.fromkeys(map(frozenset, combinations("ABCDE", 2)), 0.0)
    return known | {frozenset(pair): bits for pair, bits in pairs.items()}


def test_what_is_relevant() -> None:
    known = told({"AB": 0.5, "AC": 0.4, "BC": 0.45, "AD": 0.1, "BD": 0.01, "CD": 0.5})
    # C tells of A, but no more than B does of C: redundant. D is not.
    assert relevant("A", ("B", "C", "D"), domain=FIVE, information=known) == ("B", "D")
    assert relevant("E", ("B", "C"), domain=FIVE, information=known) == (
        "B",
    )  # one at least; of equal ones the smaller
    assert relevant("A", (), domain=FIVE, information=known) == ()


def test_a_clique_is_taken_apart() -> None:
    known = told({"AB": 0.5, "BC": 0.4, "CD": 0.3, "DE": 0.2})
    whole = factorise("ABCDE", ("B",), domain=FIVE, information=known, sigma=720)
    assert whole == [Factor(("A", "C", "D", "E"), ("B",))]
    parts = factorise("ABCDE", ("B",), domain=FIVE, information=known, sigma=10)
    drawn = {"B"}
    for own in parts:
        assert set(own.given) <= drawn  # what is given was drawn before
        assert not set(own.heads) & drawn
        drawn |= set(own.heads)
    assert drawn == set("ABCDE")
    assert max(FIVE.cells(tuple(own.attributes)) for own in parts) <= 30
    # All of a separator is given, nothing of it drawn.
    assert [
        own.heads for own in factorise("AB", ("A",), domain=FIVE, information=known, sigma=1)
    ] == [("B",)]
    assert factorise("A", ("A",), domain=FIVE, information=known, sigma=1) == []


def test_the_printed_algorithm_measures_nested_sets() -> None:
    """E8: a block of four heads is one table; lines 3 and 4 measure four, each by users of its
    own.
    """
    parts = nested([Factor(("A", "C", "D", "E"), ("B",))], choose=lambda heads: heads[-1])
    assert parts == [
        Factor(("A",), ("B",)),
        Factor(("C",), ("B", "A")),
        Factor(("D",), ("B", "A", "C")),
        Factor(("E",), ("B", "A", "C", "D")),
    ]


def noiseless(edge: tuple[str, ...], table: np.ndarray, users: int = 10**9) -> Answer:
    return answer(edge, table, users, epsilon=8.0)


def test_without_noise_all_tests_agree() -> None:
    """Of 10^9 users an edge at phi = 0.5 stays and one that is independent goes, whichever test."""
    domain = Domain(dict.fromkeys("abc", ("0", "1")))
    some, none = np.array([[0.4, 0.1], [0.1, 0.4]]), np.full((2, 2), 0.25)
    for test in ("chi-squared", "relaxed", "plain"):
        for as_printed in (False, True):
            graph = Graph(
                domain=domain,
                phi=0.3,
                alpha=0.05,
                base="bits",
                test=test,
                clip=False,
                as_printed=as_printed,
            )
            for last in (False, True):
                graph.accumulate([noiseless(("a", "b"), some), noiseless(("b", "c"), none)])
                assert ("a", "c") in graph.edges  # nobody was asked
                graph.prune(last=last)
            assert graph.edges == [("a", "b")]
            found = graph.information()
            assert found[frozenset("ab")] == pytest.approx(
                0.26 if test == "chi-squared" else 0.278, abs=2e-3
            )
            assert found[frozenset("ac")] == 0


def test_the_unit_of_information() -> None:
    """E3: the same edge is above the threshold in bits and below it in nats."""
    table = np.array([[0.33, 0.17], [0.17, 0.33]])  # V = 0.32, I = 0.0752 bits, 0.0521 nats
    x = association(table, np.full(2, 0.5), np.full(2, 0.5), base=1e-12, slope=0.0).x
    assert x == pytest.approx(0.1024, abs=1e-4)
    domain = Domain(dict.fromkeys("ab", ("0", "1")))
    for base, phi, kept in (("bits", 0.35, True), ("nats", 0.35, False), ("nats", 0.3, True)):
        graph = Graph(
            domain=domain,
            phi=phi,
            alpha=0.05,
            base=base,  # type: ignore[arg-type]
            test="chi-squared",
            clip=False,
            as_printed=False,
        )
        graph.accumulate([noiseless(("a", "b"), table)])
        graph.prune(last=True)
        assert bool(graph.edges) == kept, (base, phi)


def run(name: str, *, table: Any = None, **more: Any) -> Any:
    given = {"rows": 3000, "judge": False, **more} if table is None else more
    return sottovoce.run(name, "demo" if table is None else table, seed=1, **given)


def test_edges_and_users_of_rounds() -> None:
    asked = PrivIncr(PrivIncrParameters(), mode="rigorous").groups(
        SIX, list(combinations("ABCDEF", 2)), users=1000
    )
    assert sum(own.users for own in asked) == 1000
    assert {own.users for own in asked} == {66, 67}
    domain = Domain({"a": tuple("01"), "b": tuple("0123"), "c": tuple(map(str, range(64)))})
    asked = PrivIncr(PrivIncrParameters(), mode="rigorous").groups(
        domain, [("a", "b"), ("b", "c")], users=1000
    )
    assert [own.users for own in asked] == [30, 970]
    few = PrivIncr(PrivIncrParameters(), mode="rigorous").groups(
        domain, [("a", "b"), ("b", "c")], users=10
    )
    assert [own.attributes for own in few] == [("b", "c")]  # the other waits
    power = PrivIncr(PrivIncrParameters(learning="tests", groups="power"), mode="rigorous")
    assert [own.users for own in power.groups(domain, [("a", "b"), ("b", "c")], users=1000)] == [
        16,
        984,
    ]


def test_the_printed_mode_asks_by_unary_encoding() -> None:
    assert PrivIncr(PrivIncrParameters(), mode="paper").randomizer(4).name == "oue"
    assert PrivIncr(PrivIncrParameters(), mode="rigorous").randomizer(4).name == "grr"
    assert PrivIncr(PrivIncrParameters(oracle="adaptive"), mode="paper").randomizer(4).name == "grr"
    assert NoIncremental(NoIncrementalParameters(), mode="paper").test == "plain"
    assert NoIncremental(NoIncrementalParameters(), mode="rigorous").rounds == 1


def planning(domain: Domain, sets: list[tuple[str, ...]], *, epsilon: float = 1.0) -> Planning:
    return Planning(domain, sets, lambda cells: OptimisedUnary(cells, epsilon=epsilon))


def test_users_go_where_they_help_most() -> None:
    """Shares are those of the least predicted distance: moving users from any set to another makes
    it no better.
    """
    domain = Domain({"a": tuple("01"), "b": tuple("012"), "c": tuple(map(str, range(9)))})
    sets: list[tuple[str, ...]] = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c")]
    plan = planning(domain, sets)
    before: dict[tuple[str, ...], int] = {("a", "b"): 5000}
    shares = plan.share_out(before, 100_000)
    assert sum(shares.values()) == pytest.approx(100_000, rel=0.01)

    def predicted(new: Mapping[tuple[str, ...], float]) -> float:
        return plan.predict({own: int(before.get(own, 0) + new.get(own, 0)) for own in sets})

    best = predicted(shares)
    for one, other in permutations(sets, 2):
        moved = dict(shares)
        some = min(2000.0, moved.get(one, 0.0))
        moved[one] = moved.get(one, 0.0) - some
        moved[other] = moved.get(other, 0.0) + some
        assert predicted(moved) >= best * (1 - 2e-4), (one, other)
    assert best < predicted(dict.fromkeys(sets, 100000 / 6))


def shrunk(shape: tuple[int, int], *, surely_product: bool) -> PairPosterior:
    spreads = len(SPREADS)
    even = np.full((1, shape[0] * shape[1]), 0.05)
    weight = np.zeros((1, spreads))
    weight[0, 0 if surely_product else spreads - 4] = 1.0
    return PairPosterior(np.zeros(shape), np.ones(shape), weight, weight, even)


def test_what_is_surely_independent_needs_nobody() -> None:
    domain = Domain({name: tuple("0123") for name in "abcd"})
    pairs: list[tuple[str, ...]] = list(combinations("abcd", 2))
    plan = planning(domain, [*((name,) for name in "abcd"), *pairs])
    ones = {name: Marginal((name,), np.full(4, 0.25)) for name in "abcd"}
    posterior = {pair: shrunk((4, 4), surely_product=pair != ("a", "b")) for pair in pairs}
    plan.learn(PairTables(ones, {}, posterior))
    asked = dict.fromkeys(pairs, 10000)
    shares = plan.share_out(asked, 100_000)
    assert shares["a", "b"] > 5 * max(shares.get(pair, 0.0) for pair in pairs[1:])


def test_pairs_are_believed_once_each() -> None:
    """Whatever the order of the answers: every pair in the domain's order, and no other."""
    domain = Domain({name: tuple("01") for name in "abc"})
    table = np.array([[0.4, 0.1], [0.1, 0.4]])
    answers = [
        answer(("b", "c"), table, 10**6),
        answer(("a", "b"), table, 10**6),
        answer(("c",), np.full(2, 0.5), 10**6),
    ]
    known = estimate_pairs(domain, answers, generator=np.random.default_rng(1))
    assert sorted(known.pairs) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert list(known.singles) == ["a", "b", "c"]
    assert sorted(known.posteriors) == [("a", "b"), ("b", "c")]
    assert known.pairs["a", "b"].values == pytest.approx(table, abs=0.02)  # noqa: PD011 - the same


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"phi": 0.2}, "expected phi with learning=tests, found learning=adaptive"),
        ({"learning": "adaptive", "mode": "paper"}, "expected learning=tests in mode paper"),
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
        made = run("privincr", table=table, schema=schema, learning=learning, epsilon=4.0)
        assert set(made.synthetic["one"]) == {"a"}
        assert set(made.synthetic["x"]) == {"0", "1"}
    with pytest.raises(UsageError, match="one attribute of two labels or more"):
        run("privincr", table=table[["one"]], schema={"one": ["a"]})


@pytest.mark.parametrize(
    ("name", "more"),
    [("privincr", {}), ("privincr", {"learning": "tests"}), ("no-incremental", {"mode": "paper"})],
)
def test_few_users_are_enough_or_told(name: str, more: dict[str, Any]) -> None:
    """Of a handful of users something is user_counts, or it is said in a line that they are too
    few.
    """
    table = pd.DataFrame(
        {"x": ["0", "1"] * 20, "y": ["0", "0", "1", "2"] * 10, "z": ["a", "b", "b", "a"] * 10}
    )
    schema = {"x": ["0", "1"], "y": ["0", "1", "2"], "z": ["a", "b"]}
    for users in (1, 2, 5, 12, 40):
        try:
            made = run(name, table=table.iloc[:users], schema=schema, parties=1, **more)
        except UsageError as error:
            assert "expected at least a user for each" in str(error)
        else:
            assert len(made.synthetic) == users
    made = run(name, table=table[["x"]], schema={"x": ["0", "1"]}, **more)
    assert set(made.synthetic["x"]) <= {"0", "1"}


@pytest.mark.parametrize("learning", ["adaptive", "tests"])
def test_reports_and_counts_have_one_law(learning: str) -> None:
    """Not the same numbers, but of 30,000 users the distances are alike, and nobody is asked
    twice.
    """
    found = []
    for simulate in ("reports", "counts"):
        made = run(
            "privincr", learning=learning, simulate=simulate, users=30_000, epsilon=4.0, judge=True
        )
        found.append(made.judgement["utility"]["tvd"]["2"])
        places = sorted({tuple(own["users"]) for own in made.report["privacy"]["releases"]})
        assert all(one[1] == other[0] for one, other in pairwise(places))
        assert (places[0][0], places[-1][1]) == (0, 30_000)
        assert made.report["privacy"]["epsilon"]["curator"] == pytest.approx(4.0)
        assert made.report["communication"]["users"]["reports"] == 30_000
    assert found[0] == pytest.approx(found[1], abs=0.02)


def test_who_is_asked_does_not_depend_on_the_cohorts() -> None:
    one, three = (run("privincr", parties=parties, epsilon=4.0) for parties in (1, 3))
    pd.testing.assert_frame_equal(one.synthetic, three.synthetic)
    assert one.model == three.model


def test_a_cohort_asks_nobody_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places are counted by the cohorts: a plan for more users than are left ends the run."""
    broadcast, plans = Curator.broadcast, []

    def forged(desk: Curator, said: Any, **more: Any) -> None:
        if isinstance(said, SurveyMessages.Plan):
            plans.append(said)
            if len(plans) == 3:
                said = SurveyMessages.Plan(said.questions, said.randomizers, said.sizes * 2)
        broadcast(desk, said, **more)

    monkeypatch.setattr(Curator, "broadcast", forged)
    with pytest.raises(
        MessageError,
        match="malformed Plan from the curator: expected groups of 1 to 1050 users together",
    ):
        run("privincr", epsilon=4.0)


def test_the_baseline_has_one_round() -> None:
    """Its parameters are its own: learning=tests and rounds=1, as a report shows."""
    assert NoIncremental.Parameters is NoIncrementalParameters
    made = run("no-incremental", simulate="counts", users=20_000)
    assert (made.report["parameters"]["learning"], made.report["parameters"]["rounds"]) == (
        "tests",
        1,
    )
    assert [own["name"] for own in made.report["phases"]][:3] == ["users", "round 1", "cliques"]
