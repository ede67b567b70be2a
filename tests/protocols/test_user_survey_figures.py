"""Figures of CALM, PrivIncr and surveys of users, each by a loop, by hand or by enumeration."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import e, exp, log, log2, pi, prod, sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.curator import (
    Marginal,
    correlation_threshold,
    dependency_graph,
    junction_tree,
    pair_planning,
)
from sottovoce.curator.association import association
from sottovoce.curator.pair_planning import Planning
from sottovoce.curator.pair_rows import pair_tree
from sottovoce.curator.pair_tables import PairTables, estimate_pairs
from sottovoce.curator.shrinkage import SPREADS, PairPosterior, shrink
from sottovoce.messages import MessageError, UsageError
from sottovoce.parties.demo import demo_table
from sottovoce.privacy import Domain
from sottovoce.privacy.local import DirectEncoding, OptimisedUnary
from sottovoce.protocols.calm import design as calm
from sottovoce.protocols.calm.covering import cover
from sottovoce.protocols.calm.design import (
    Cover,
    covers,
    design,
    noise_error,
    predicted_error,
    printed_design,
)
from sottovoce.protocols.local import Interval, publishing
from sottovoce.protocols.local.publishing import check_marginals, user_counts
from sottovoce.protocols.privincr import cliques, no_privacy
from sottovoce.protocols.privincr.factoring import Factor, clique_size, conditions_of, factorise
from sottovoce.protocols.privincr.graph import CorrectedGraph, PrintedGraph
from sottovoce.protocols.privincr.parameters import PrivIncrParameters, refuse_foreign
from sottovoce.protocols.privincr.planning import MIN_USERS, candidate_sets, noise_of_users
from sottovoce.protocols.privincr.pruning import (
    bound,
    is_proven,
    is_worth_asking,
    plain_threshold,
    relaxed_threshold,
)
from sottovoce.protocols.privincr.variant import (
    askable,
    by_cells,
    by_power,
    round_questions,
)
from sottovoce.protocols.survey import Answer, Question
from sottovoce.protocols.survey.questions import questions_by_weight
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job

HALF = sqrt(2 / pi) / 2
TOO_MANY = r"marginals with fewer combinations of labels, found \w+ with .*--drop \w+, or"


def domain_of(*sizes: int) -> Domain:
    names = "abcdefgh"
    return Domain(
        {name: tuple(map(str, range(size))) for name, size in zip(names, sizes, strict=False)}
    )


def oue(cells: int) -> OptimisedUnary:
    return OptimisedUnary(cells, epsilon=1.0)


def answer(attributes: tuple[str, ...], values: Any, users: int, *, epsilon: float = 3.0) -> Answer:
    """Make an answer whose estimate is `values`, up to the rounding of counts."""
    frequencies = np.asarray(values, float).reshape(-1)
    randomizer = OptimisedUnary(frequencies.size, epsilon=epsilon)
    p, q = float(randomizer.p), float(randomizer.q)
    support = np.rint(users * (q + (p - q) * frequencies)).astype(np.int64)
    return Answer(Question(attributes, randomizer, users), support)


# ---- CALM's covers


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("of", [1, 2, 3])
def test_a_cover_is_of_all_sets_within_its_bounds(seed: int, of: int) -> None:
    """Every set is covered, bounds hold but for sets that stand alone, and no set is needless."""
    generator = np.random.default_rng(seed)
    domain = domain_of(*generator.integers(1, 6, 6).tolist())
    most, cells = int(generator.integers(of, 6)), int(generator.integers(2, 200))
    sets = cover(domain, of=of, most=most, cells=cells)
    for part in combinations(domain.attributes, of):
        assert any(set(part) <= set(names) for names in sets)
    for names in sets:
        assert list(names) == sorted(names)
        assert len(names) <= most
        assert len(names) == of or domain.cells(names) <= cells
    # The largest set of `of` attributes is the first seed.
    assert prod(sorted(domain.shape(domain.attributes))[-of:]) <= domain.cells(sets[0])
    covered: set[frozenset[str]] = set()
    for names in sets:
        new = {frozenset(part) for part in combinations(names, of)} - covered
        assert new
        covered |= new


def test_a_cover_by_hand() -> None:
    """Of equal seeds the last is taken; an attribute with fewer labels covers more for its size.

    With 2, 2, 4 and 3 labels the seed is c, d. a and b cover two pairs each for log 2.
    """
    domain = domain_of(2, 2, 4, 3)
    assert cover(domain, of=2, most=3, cells=24) == [("a", "c", "d"), ("a", "b", "c"), ("b", "d")]
    assert cover(domain, of=2, most=4, cells=48) == [("a", "b", "c", "d")]
    assert cover(domain, of=2, most=2, cells=0)[0] == ("c", "d")
    assert cover(domain_of(2, 2, 2), of=1, most=1, cells=2) == [("c",), ("b",), ("a",)]
    assert cover(domain_of(3, 2, 2), of=2, most=2, cells=9)[:2] == [("a", "c"), ("a", "b")]
    # e covers as many pairs as a and b, and has fewer labels.
    wide = domain_of(4, 4, 4, 8, 2)
    assert cover(wide, of=2, most=3, cells=128)[0] == ("c", "d", "e")


def test_attributes_of_one_label_join_no_set() -> None:
    """They are covered as seeds, to which others may be added."""
    sets = cover(domain_of(2, 1, 2), of=2, most=3, cells=100)
    assert sets == [("a", "c"), ("a", "b", "c")]


def test_the_error_of_noise_by_hand() -> None:
    """Each set's table has the squared error (L g + 1) m / N, and so have the tables within it.

    g is the smaller of 4 e^eps and L - 2 + e^eps over (e^eps - 1)^2.
    """
    domain = domain_of(2, 3, 5, 2)
    sets: list[tuple[str, ...]] = [("a", "b"), ("b", "c", "d"), ("c", "d")]
    epsilon, users = 1.5, 1_000_000

    def squared(cells: int) -> float:
        g = min(4 * exp(epsilon), cells - 2 + exp(epsilon)) / (exp(epsilon) - 1) ** 2
        return (cells * g + 1) * 3 / users

    both = 1 / (1 / squared(30) + 1 / squared(10))
    errors = {("a", "b"): squared(6), ("b", "c"): squared(30), ("c", "d"): both}
    for target, error in errors.items():
        found = noise_error(domain, sets, users=users, epsilon=epsilon, targets=[target])
        assert found == pytest.approx((2 * domain.cells(target) / pi * error) ** 0.5 / 2)
    absent = noise_error(domain, sets, users=users, epsilon=epsilon, targets=[("a", "c")])
    assert absent == 1.0
    assert noise_error(domain, sets, users=3, epsilon=0.1, targets=[("a", "b")]) == 1.0
    assert noise_error(domain, sets, users=users, epsilon=1000.0, targets=[("a", "b")]) > 0.0


@pytest.mark.parametrize("ways", [1, 2, 3])
@pytest.mark.parametrize("users", [300, 20_000, 10**6])
@pytest.mark.parametrize("theta", [1e-4, 1e-2])
@pytest.mark.parametrize("epsilon", [1.0, 6.0])
def test_the_printed_design_by_hand(ways: int, users: int, theta: float, epsilon: float) -> None:
    """No cover of the family has less noise; t goes down until sets are few, at last to 1."""
    domain = domain_of(2, 3, 4, 2, 3)
    expected: list[tuple[str, ...]] = [(name,) for name in "abcde"]
    for of in range(ways, 1, -1):
        targets = list(combinations("abcde", of))
        family = [cover(domain, of=of, most=of, cells=0)]
        for most in range(of + 1, 7):
            family += [cover(domain, of=of, most=most, cells=2**power) for power in range(6, 13)]
        errors = [
            noise_error(domain, sets, users=users, epsilon=epsilon, targets=targets)
            for sets in family
        ]
        best = family[errors.index(min(errors))]
        if len(best) <= theta * users:
            expected = best
            break
    found = printed_design(
        domain, users=users, epsilon=epsilon, ways=ways, theta=theta, most=0, cells=0
    )
    assert found == expected


def test_the_covers_to_choose_from() -> None:
    """Pairs, and sets of three or four with 64 to 4,096 cells; equal covers count once."""
    domain = domain_of(4, 4, 8, 8, 16)
    expected: list[tuple[tuple[str, ...], ...]] = [tuple(cover(domain, of=2, most=2, cells=0))]
    for most in (3, 4):
        for cells in (64, 128, 256, 512, 1024, 2048, 4096):
            sets = tuple(cover(domain, of=2, most=most, cells=cells))
            if sets not in expected:
                expected.append(sets)
    found = covers(domain)
    assert [tuple(choice.sets) for choice in found] == expected
    assert (found[0].most, found[0].cells) == (2, 0)
    assert all(len(names) <= choice.most for choice in found for names in choice.sets)
    assert covers(domain_of(4)) == []


def precision_by_hand(
    domain: Domain, sets: Sequence[tuple[str, ...]], target: tuple[str, ...]
) -> float:
    """Add up 1 / variance of a cell of `target` over the sets, for one user shared evenly."""
    total = 0.0
    for names in sets:
        if not set(target) <= set(names):
            continue
        cells, size = domain.cells(names), domain.cells(target)
        base = oue(cells).variance()
        slope = oue(cells).variance(frequency=1.0) - base + 1
        total += 1 / len(sets) / (cells // size * base + slope / size)
    return total


def error_by_hand(domain: Domain, ones: dict[str, float], pairs: dict[Any, float]) -> float:
    """Average over pairs and dependences the root of the squared errors."""
    distances = []
    for rho in (0.02, 0.05, 0.1, 0.2):
        for left, right in combinations(domain.attributes, 2):
            squares = [(HALF * domain.cells((name,))) ** 2 / ones[name] for name in (left, right)]
            noise = HALF * domain.cells((left, right)) / sqrt(max(pairs[left, right], 1e-100))
            distances.append(sqrt(sum(squares) + 1 / (1 / rho**2 + 1 / noise**2)))
    return float(np.mean(distances))


def test_the_precisions_of_sets_by_hand() -> None:
    domain = domain_of(2, 3, 4)
    sets: list[tuple[str, ...]] = [("a", "b"), ("a", "b", "c"), ("c",)]
    ones, pairs = calm._precisions(domain, sets, oue)
    for index, name in enumerate(domain.attributes):
        assert ones[index] == pytest.approx(precision_by_hand(domain, sets, (name,)))
    for left, right in combinations(range(3), 2):
        target = (domain.attributes[left], domain.attributes[right])
        assert pairs[left, right] == pytest.approx(precision_by_hand(domain, sets, target))


def test_the_predicted_error_by_hand() -> None:
    domain = domain_of(2, 3, 4)
    ones = {"a": 900.0, "b": 400.0, "c": 2500.0}
    pairs = {("a", "b"): 1000.0, ("a", "c"): 0.0, ("b", "c"): 300.0}
    table = np.zeros((3, 3))
    table[0, 1], table[1, 2] = 1000.0, 300.0
    found = predicted_error(domain, ones=np.array([900.0, 400.0, 2500.0]), pairs=table)
    assert found == pytest.approx(error_by_hand(domain, ones, pairs))


@pytest.mark.parametrize("sizes", [(3, 4, 2, 5), (2, 2, 2, 2), (16, 12, 3, 7), (50, 3, 2), (6, 5)])
@pytest.mark.parametrize("users", [200, 1000, 10**4, 20_000, 300_000, 10**6, 10**8])
def test_the_design_has_the_least_predicted_error(users: int, sizes: tuple[int, ...]) -> None:
    """Enumerate all covers with all shares; single attributes must be better by a tenth."""
    domain = domain_of(*sizes)
    singles = [(name,) for name in domain.attributes]
    shares = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
    of_singles = {name: precision_by_hand(domain, singles, (name,)) for name in domain.attributes}
    alone = error_by_hand(
        domain,
        {name: users * of_singles[name] for name in domain.attributes},
        dict.fromkeys(combinations(domain.attributes, 2), 0.0),
    )
    least, best = alone * 1.1, (Cover(1, 0, []), 1.0)
    for choice in covers(domain):
        if len(choice.sets) + len(singles) > users // 50:
            continue
        for share in shares:
            ones = {
                name: users
                * (
                    share * of_singles[name]
                    + (1 - share) * precision_by_hand(domain, choice.sets, (name,))
                )
                for name in domain.attributes
            }
            pairs = {
                pair: users * (1 - share) * precision_by_hand(domain, choice.sets, pair)
                for pair in combinations(domain.attributes, 2)
            }
            error = error_by_hand(domain, ones, pairs)
            if error < least * (1 - 1e-12):
                least, best = error, (choice, share)
    found = design(domain, users=users, randomizer=oue)
    assert (found.most, found.cells, found.single_share) == (best[0].most, best[0].cells, best[1])
    expected: dict[tuple[str, ...], float] = dict.fromkeys(singles, best[1] / len(singles))
    for names in best[0].sets:
        expected[names] = expected.get(names, 0.0) + (1 - best[1]) / len(best[0].sets)
    assert found.weights == pytest.approx(expected)


# ---- Published marginals


def test_the_cells_of_all_marginals_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = domain_of(2, 3, 4, 5)
    for ways in (1, 2, 3, 4):
        cells = sum(domain.cells(names) for names in combinations(domain.attributes, ways))
        monkeypatch.setattr(publishing, "MAX_CELLS", cells)
        check_marginals(domain, ways)
        monkeypatch.setattr(publishing, "MAX_CELLS", cells - 1)
        with pytest.raises(UsageError, match=TOO_MANY):
            check_marginals(domain, ways)


@pytest.mark.parametrize(
    ("sizes", "is_refused"), [((5, 4310, 4630), False), ((9, 3964, 5025), True)]
)
def test_twenty_million_cells_are_the_most(sizes: tuple[int, ...], is_refused: bool) -> None:
    """Their pairs have 20,000,000 and 20,000,001 cells."""
    domain = domain_of(*sizes)
    cells = sum(domain.cells(pair) for pair in combinations("abc", 2))
    assert cells == 20_000_000 + is_refused
    if is_refused:
        with pytest.raises(UsageError, match=TOO_MANY):
            check_marginals(domain, 2)
    else:
        check_marginals(domain, 2)


def test_counts_are_rounded_to_a_thousandth() -> None:
    table = Marginal(("a",), np.array([1 / 3, 2 / 3]))
    counts = user_counts(domain_of(2), [table], [Interval.unknown(2)], users=1000)
    assert counts.numbers["count"].tolist() == [333.333, 666.667]


def test_intervals_are_rounded_outwards_and_contain_what_is_published() -> None:
    table = Marginal(("a",), np.array([0.25, 0.75]))
    ends = Interval(np.array([0.12345, 0.8]), np.array([0.2, 0.87654]))
    counts = user_counts(domain_of(2), [table], [ends], users=7)
    assert counts.numbers["count"].tolist() == [1.75, 5.25]
    assert counts.numbers["low"].tolist() == [0.864, 5.25]  # .86415, and 5.6 is above the count
    assert counts.numbers["high"].tolist() == [1.75, 6.136]  # 1.4 is below the count, and 6.13578


def test_users_are_shared_over_questions_by_weight() -> None:
    weights: dict[tuple[str, ...], float] = {("a",): 1.0, ("b",): 3.0}
    questions = questions_by_weight(8, weights, lambda _: oue(2))
    assert [(q.attributes, q.users) for q in questions] == [(("a",), 2), (("b",), 6)]
    assert [q.users for q in questions_by_weight(2, {("a",): 1, ("b",): 1}, lambda _: oue(2))] == [
        1,
        1,
    ]
    with pytest.raises(UsageError, match="at least a user for each of 2 questions, found 1"):
        questions_by_weight(1, {("a",): 1, ("b",): 1}, lambda _: oue(2))


@pytest.mark.parametrize("kind", [OptimisedUnary, DirectEncoding])
def test_the_noise_of_an_answer_by_hand(kind: Any) -> None:
    """The choice of users adds f (1 - f) to a cell, and 1 to the sum of all cells."""
    domain = domain_of(2, 3)
    randomizer = kind(6, epsilon=1.0)
    made = Answer(Question(("a", "b"), randomizer, 500), np.arange(6) * 20)
    noisy, estimate = made.noisy(domain), made.estimate(domain)
    base = randomizer.variance()
    slope = randomizer.variance(frequency=1.0) - base + 1
    assert (noisy.base, noisy.slope) == pytest.approx((base / 500, slope / 500))
    assert estimate.variance == pytest.approx((randomizer.total_variance + 1) / (6 * 500))
    both = made + Answer(Question(("a", "b"), randomizer, 100), np.ones(6, np.int64))
    assert both.question.users == 600
    assert both.support.tolist() == (np.arange(6) * 20 + 1).tolist()


# ---- PrivIncr's planning


def planned(domain: Domain, sets: Sequence[tuple[str, ...]]) -> Planning:
    return Planning(domain, sets, noise_of_users(oue))


SETS: list[tuple[str, ...]] = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("a", "b", "c")]


def distance_by_hand(domain: Domain, groups: dict[tuple[str, ...], int]) -> float:
    """Predict the distance where nothing is known: margins, and dependences even in logarithms."""

    def precision(target: tuple[str, ...]) -> float:
        total = 0.0
        for names, users in groups.items():
            if set(target) <= set(names):
                cells, size = domain.cells(names), domain.cells(target)
                base = oue(cells).variance()
                slope = oue(cells).variance(frequency=1.0) - base + 1
                total += users / (cells / size * base + slope / size)
        return total

    distances = []
    for left, right in combinations(domain.attributes, 2):
        squares = [
            (HALF * domain.cells((name,))) ** 2 / precision((name,)) for name in (left, right)
        ]
        spread = max(precision((left, right)), 0.1)
        cells = domain.cells((left, right))
        dependence = np.mean(
            [1 / sqrt(1 / rho**2 + spread / (HALF * cells) ** 2) for rho in (0.02, 0.05, 0.1, 0.2)]
        )
        distances.append(sqrt(sum(squares) + float(dependence) ** 2))
    return float(np.mean(distances))


@pytest.mark.parametrize(
    "groups",
    [
        {("a",): 5000, ("b",): 7000, ("c",): 1000},
        {("a",): 500, ("a", "b"): 9000, ("a", "b", "c"): 40_000},
        {("a", "b", "c"): 10**7},
        {("a",): 3, ("b",): 2, ("c",): 5},
    ],
)
def test_the_predicted_distance_by_hand(groups: dict[tuple[str, ...], int]) -> None:
    """The curves are tabulated and interpolated, which costs less than half a per cent."""
    domain = domain_of(2, 3, 4)
    found = planned(domain, SETS).predict(groups)
    assert found == pytest.approx(distance_by_hand(domain, groups), rel=5e-3)


@pytest.mark.parametrize("seed", range(4))
def test_the_gain_is_the_derivative_of_the_distance(seed: int) -> None:
    """One user more of a set lowers the sum of distances by its gain."""
    generator = np.random.default_rng(seed)
    plan = planned(domain_of(2, 3, 4), SETS)
    users = generator.uniform(1000, 50_000, len(SETS))
    gain = plan._gain(users)
    for column in range(len(SETS)):
        step = np.zeros(len(SETS))
        step[column] = 1.0
        before = plan._predict(users - step).distance.sum()
        after = plan._predict(users + step).distance.sum()
        assert gain[column] == pytest.approx((before - after) / 2, rel=2e-2)


def test_users_are_shared_out_where_the_distance_is_least() -> None:
    """No move of users from one set to another lowers the distance by much."""
    domain = domain_of(2, 3, 4)
    plan = planned(domain, SETS)
    before: dict[tuple[str, ...], int] = {("a",): 3000, ("b",): 100}
    shares = plan.share_out(before, 60_000, least=MIN_USERS)
    assert min(shares.values()) >= 50
    assert sum(shares.values()) == pytest.approx(60_000, rel=0.01)
    groups = {names: before.get(names, 0) + round(shares.get(names, 0)) for names in SETS}
    least = plan.predict(groups)
    for source in shares:
        for target in SETS:
            moved = dict(groups)
            size = min(1500, int(shares[source]))
            moved[source] -= size
            moved[target] += size
            assert plan.predict(moved) >= least * (1 - 2e-3)
    # Where every set would get fewer than 50, the largest stays.
    assert plan.share_out({}, 20, least=MIN_USERS)


def test_a_set_has_at_least_fifty_users() -> None:
    """The set with the fewest users is kept from 50 users on."""
    plan = planned(domain_of(2, 3, 4), SETS)

    def fewest(users: int) -> tuple[float, int]:
        shares = plan.share_out({}, users, least=0)
        kept = {names: size for names, size in shares.items() if size > 1}
        return min(kept.values()), len(kept)

    low, high = 200, 20_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fewest(middle)[0] < 50 else (low, middle)
    assert fewest(low)[0] < 50 <= fewest(high)[0] < 51
    assert len(plan.share_out({}, high, least=MIN_USERS)) == fewest(high)[1]
    assert len(plan.share_out({}, low, least=MIN_USERS)) < fewest(low)[1]


def test_candidates_are_singles_pairs_and_covers() -> None:
    domain = domain_of(2, 3, 4)
    extra = Cover(3, 24, [("a", "b", "c"), ("a", "b")])
    expected = [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    assert list(candidate_sets(domain, [extra])) == expected


@pytest.mark.parametrize("kind", [OptimisedUnary, DirectEncoding])
def test_the_noise_of_a_user_by_hand(kind: Any) -> None:
    randomizer = kind(6, epsilon=1.0)
    base, slope = noise_of_users(lambda _: randomizer)(1)
    assert base == randomizer.variance()
    assert slope == pytest.approx(randomizer.variance(frequency=1.0) - base + 1)
    assert slope >= 0


def posterior_of(weight: Any, likelihood: Any, even: Any) -> PairPosterior:
    shape = np.zeros((2, 2))
    return PairPosterior(shape, shape, np.array(weight), np.array(likelihood), np.array(even))


def test_the_curve_of_a_pair_by_hand() -> None:
    """One centre of four cells; a spread of its own likelihood and one of all pairs'.

    A cell is off by half of E|x|, with x of variance t u / (t prec + u).
    """
    even = np.array([[0.16, 0.09, 0.24, 0.21]])
    weight, alone = np.zeros((1, len(SPREADS))), np.zeros((1, len(SPREADS)))
    weight[0, 0], weight[0, 10] = 0.4, 0.6
    alone[0, 12], alone[0, 25] = 0.03, 0.01
    far = HALF * np.sqrt(SPREADS[25] * even).sum()
    shares = {10: 0.3, 12: 0.375, 25: 0.125}
    if far > 1:
        shares = {10: 0.3, 12: 0.5}
    base, slope = 3.0, 2.0
    found = pair_planning._curve(posterior_of(weight, alone, even), base, slope)
    for index in (0, 30, 60, 100):
        precision = pair_planning.GRID[index]
        distance = 0.0
        for column, share in shares.items():
            for m in even[0]:
                t, u = SPREADS[column] * m, (base + slope * m) / (base + slope / 4)
                distance += share * HALF * sqrt(t * u / (t * precision + u))
        assert found[index] == pytest.approx(log(max(distance, 1e-12)))


def test_a_spread_beyond_all_distances_does_not_count_alone() -> None:
    """A table of many even cells with the largest spread would be off by more than 1."""
    even = np.full((1, 400), 0.0025)
    weight, alone = np.zeros((1, len(SPREADS))), np.zeros((1, len(SPREADS)))
    weight[0, 10] = 1.0
    alone[0, 25], alone[0, 12] = 1.0, 1.0
    assert HALF * np.sqrt(SPREADS[25] * even).sum() > 1 > HALF * np.sqrt(SPREADS[12] * even).sum()
    found = pair_planning._curve(posterior_of(weight, alone, even), 3.0, 2.0)
    u = (3.0 + 2.0 * 0.0025) / (3.0 + 2.0 / 400)
    expected = 0.0
    for column, share in ((10, 0.5), (12, 0.5)):
        t = SPREADS[column] * 0.0025
        expected += share * 400 * HALF * sqrt(t * u / (t * pair_planning.GRID[50] + u))
    assert found[50] == pytest.approx(log(expected))


def test_uneven_margins_are_learned() -> None:
    """An attribute whose share is nearly 1 has less noise than an even one."""
    domain = domain_of(2, 3)
    plan = planned(domain, [("a",), ("b",), ("a", "b")])
    shares = {"a": np.array([0.99, 0.01]), "b": np.full(3, 1 / 3)}
    singles = {name: Marginal((name,), values) for name, values in shares.items()}
    plan.learn(PairTables(singles, {("a", "b"): singles["a"] * singles["b"]}, {}))
    for place, (name, size) in enumerate((("a", 2), ("b", 3))):
        base, slope = noise_of_users(oue)(size)
        deviations = [sqrt(base + slope * f * (1 - f)) for f in shares[name]]
        expected = sum(deviations) / (size * sqrt(base + slope / size))
        assert plan._uneven[place] == pytest.approx(expected)


# ---- PrivIncr's cliques, thresholds, factors and parameters


def test_tables_of_cliques_and_of_rounds_agree() -> None:
    """A pair of the rounds adds to its clique's own table; pairs within a clique are kept.

    Of a pair that no clique has only single attributes are kept.
    """
    domain = domain_of(2, 2, 2, 2)
    generator = np.random.default_rng(1)
    joint = generator.dirichlet(np.full(16, 3.0)).reshape(2, 2, 2, 2)
    whole = Marginal(("a", "b", "c", "d"), joint)

    def exact(*names: str, users: int = 10**7) -> Answer:
        return answer(names, whole.project(names).values, users)

    questions = [exact("a", "b", "c"), exact("c", "d")]
    pairs: list[tuple[str, ...]] = [("c", "d"), ("a", "b"), ("a", "d")]
    rounds = {pair: exact(*pair) for pair in pairs}
    tables = cliques.agreed_tables(domain, questions, rounds)
    found = [table.attributes for table in tables]
    assert found == [("a", "b", "c"), ("c", "d"), ("a", "b"), ("a",), ("d",)]
    for table in tables:
        assert table.distance(whole.project(table.attributes)) < 0.005
        assert table.total == pytest.approx(1.0)
    # A wrong table of few users gives way to the same pair's many users in the rounds.
    wrong = answer(("c", "d"), [[0.25, 0.25], [0.25, 0.25]], 1000)
    mended = cliques.agreed_tables(domain, [wrong], {("c", "d"): exact("c", "d")})
    assert mended[0].distance(whole.project(("c", "d"))) < 0.005


def test_each_clique_has_its_users() -> None:
    domain = domain_of(2, 3, 4)
    sets: list[tuple[str, ...]] = [("b", "c"), ("a",), ("a", "b")]
    options: dict[str, Any] = {"weight": float, "randomizer": oue}
    questions = cliques.clique_questions(domain, sets, users=200, **options)
    assert [(q.attributes, q.users) for q in questions] == [
        (("a",), 20),
        (("a", "b"), 60),
        (("b", "c"), 120),
    ]
    assert [q.randomizer.cells for q in questions] == [2, 6, 12]
    assert cliques.clique_questions(domain, [], users=5, **options) == []
    even: dict[str, Any] = {**options, "weight": lambda _: 1.0}
    assert [q.users for q in cliques.clique_questions(domain, sets, users=3, **even)] == [1, 1, 1]
    with pytest.raises(UsageError, match="at least a user for each of 3 tables"):
        cliques.clique_questions(domain, sets, users=2, **even)


def test_sets_of_factors() -> None:
    domain = domain_of(2, 3, 1, 2)
    factors = [
        Factor(("d",), ("a",)),
        Factor(("a",), ("b",)),
        Factor(("c",), ()),
        Factor(("a",), ("d",)),
    ]
    assert cliques.sets_of(domain, factors) == [("a", "b"), ("a", "d")]
    nested: list[tuple[str, ...]] = [("a",), ("a", "b"), ("b", "d"), ("a", "b", "d"), ("c",)]
    assert cliques.largest_sets(nested) == [("a", "b", "d"), ("c",)]
    assert [table.attributes for table in cliques.trivial_tables(domain)] == [("c",)]
    tables = [
        Marginal.uniform(domain, names) for names in (("a", "b", "d"), ("a", "b"), ("a", "d"))
    ]
    steps = cliques.sampling_steps([Factor(("b",), ("a",)), Factor(("d",), ("a", "b"))], tables)
    assert [step.table.attributes for step in steps] == [("a", "b"), ("a", "b", "d")]
    assert [(step.heads, step.parents) for step in steps] == [
        (("b",), ("a",)),
        (("d",), ("a", "b")),
    ]


def test_the_size_of_a_clique_by_hand() -> None:
    """At sigma cells the mean noise of a table is a quarter in total variation."""
    users, variance = 5000.0, 0.7
    sigma = clique_size(users, variance=variance)
    assert sigma / 2 * sqrt(2 / pi) * sqrt(variance / users) == pytest.approx(0.25)


ABCD = domain_of(2, 2, 2, 2)


def bits_of(**values: float) -> dict[frozenset[str], float]:
    zero = dict.fromkeys(map(frozenset, combinations("abcd", 2)), 0.0)
    return zero | {frozenset(pair): value for pair, value in values.items()}


def test_conditions_by_hand() -> None:
    """c adds 0.5 - 0.1 after b; d adds 0.3 - (0.2 + 0.5) / 2, which is below 0."""
    information = bits_of(ab=0.9, ac=0.5, ad=0.3, bc=0.1, bd=0.2, cd=0.5)
    found = conditions_of("a", "bcd", domain=ABCD, information=information)
    assert found == ("b", "c")
    # The first condition is taken whatever it is worth; of equals the smaller table, then place.
    assert conditions_of("a", "bcd", domain=ABCD, information=bits_of()) == ("b",)
    sizes = domain_of(2, 3, 2, 2)
    assert conditions_of("a", "bcd", domain=sizes, information=bits_of()) == ("c",)
    # 64 * 64 cells are allowed, and 64 * 64 * 2 are not.
    wide = domain_of(64, 64, 2, 2)
    strong = bits_of(ab=0.9, ac=0.8, ad=0.1)
    assert conditions_of("a", "bcd", domain=wide, information=strong) == ("b",)
    exact = domain_of(64, 32, 2, 2)
    assert conditions_of("a", "bcd", domain=exact, information=strong) == ("b", "c")


@pytest.mark.parametrize("sigma", [2.0, 4.0, 7.9, 8.0, 16.0])
def test_a_clique_is_taken_apart_down_to_sigma(sigma: float) -> None:
    """Heads are removed until the rest fits into sigma cells, or is a pair."""
    information = bits_of(ab=0.9, bc=0.8, cd=0.7)
    factors = factorise("abcd", ("a",), domain=ABCD, information=information, sigma=sigma)
    removed = 0 if sigma >= 16 else 1 if sigma >= 8 else 2
    assert len(factors) == removed + 1
    assert len(factors[0].attributes) == 4 - removed
    drawn = {"a"}
    for factor in factors:
        assert set(factor.given) <= drawn
        drawn |= set(factor.heads)
    assert drawn == set("abcd")
    assert sorted(head for factor in factors for head in factor.heads) == ["b", "c", "d"]
    assert factors[0].given == ("a",)


def test_a_pair_is_not_taken_apart() -> None:
    """Two attributes stay together, however noisy their table is."""
    (factor,) = factorise("ab", (), domain=ABCD, information=bits_of(ab=0.5), sigma=1.0)
    assert (factor.heads, factor.given) == (("a", "b"), ())


def test_the_bound_of_theorem_5_2_ends_at_the_entropy() -> None:
    """With hardly any users nothing is known of log2 of the fewer labels."""
    assert bound(0, left=4, right=2, alpha=0.1) == 1.0
    assert bound(1, left=8, right=4, alpha=0.1) == 2.0
    left = bound(10**5, left=3, right=7, alpha=0.1)
    assert left == bound(10**5, left=7, right=3, alpha=0.1)
    # By hand: eta^2 = 2 / n * ln((2^21 - 2) / alpha).
    eta = sqrt(2 / 10**5 * log((2**21 - 2) / 0.1))
    h = eta / 2
    entropy = -h * log2(h) - (1 - h) * log2(1 - h)
    assert left == pytest.approx(h * log2(20 * 2 * 6) + 3 * entropy)


def test_thresholds_by_hand() -> None:
    """Equation 18 is equation 15 less the bound with 2 alpha."""
    domain = domain_of(3, 7)
    options: dict[str, Any] = {"users": 10**6, "phi": 0.4, "alpha": 0.05}
    plain = plain_threshold(domain, ("a", "b"), **options)
    assert plain == pytest.approx(2 * 0.16 / 2)
    relaxed = relaxed_threshold(domain, ("a", "b"), **options)
    assert relaxed == pytest.approx(plain - bound(10**6, left=3, right=7, alpha=0.1))


@pytest.mark.parametrize(("base", "unit"), [("bits", log(2)), ("nats", 1.0)])
def test_edges_are_tested_against_their_thresholds(base: Any, unit: float) -> None:
    """While rounds are to come against 3/4 of X, in the end against X, shared by all pairs."""
    domain = domain_of(3, 2, 4, 2)
    tau = correlation_threshold(domain, "a", "b", phi=0.3)
    asked: list[tuple[str, float, float]] = []
    measured: Any = SimpleNamespace(
        below=lambda x, *, alpha: asked.append(("below", x, alpha)),
        above=lambda x, *, alpha: asked.append(("above", x, alpha)),
    )
    options: dict[str, Any] = {"phi": 0.3, "alpha": 0.06, "base": base}
    assert is_worth_asking(measured, domain, ("a", "b"), **options)
    is_proven(measured, domain, ("a", "b"), **options)
    assert [kind for kind, _, _ in asked] == ["below", "above"]
    assert [x for _, x, _ in asked] == pytest.approx([0.75 * 2 * tau * unit, 2 * tau * unit])
    assert [alpha for _, _, alpha in asked] == pytest.approx([0.06, 0.01])


def test_a_graph_keeps_edges_that_were_not_asked() -> None:
    domain = domain_of(2, 2, 2)
    strong = answer(("a", "b"), [[0.35, 0.15], [0.15, 0.35]], 10**6)
    weak = answer(("a", "c"), [[0.25, 0.25], [0.25, 0.25]], 10**6)
    printed = PrintedGraph(
        domain=domain,
        phi=0.3,
        alpha=0.05,
        threshold=plain_threshold,
        project=lambda values: values,
    )
    corrected = CorrectedGraph(domain=domain, phi=0.3, alpha=0.05, base="bits")
    for graph in (printed, corrected):
        graph.accumulate([strong, weak])
        bits = graph.information()
        assert bits[frozenset("ab")] == pytest.approx(
            1 + 0.7 * log2(0.7) + 0.3 * log2(0.3), rel=0.06
        )
        assert bits[frozenset("ac")] == pytest.approx(0.0, abs=0.001)
        assert bits[frozenset("bc")] == 0.0
        graph.prune(last=False)
        assert graph.edges == [("a", "b"), ("b", "c")]
        graph.prune(last=True)
        assert graph.pairs == [("a", "b")]
    assert printed.covers(("a", "b"))
    assert printed.covers(("c",))
    assert not printed.covers(("b", "c"))


def test_an_association_without_noise_is_found() -> None:
    """The referee of the last test: the measure is about twice the information in nats."""
    joint = np.array([[0.3, 0.2], [0.2, 0.3]])
    measured = association(
        joint, joint.sum(axis=1), joint.sum(axis=0), base=1e-12, slope=1e-12, multinomial=None
    )
    nats = sum(p * log(p / 0.25) for p in joint.reshape(-1))
    assert measured.bits == pytest.approx(nats / log(2), rel=0.05)


def test_users_of_a_round() -> None:
    domain = domain_of(2, 3, 4)
    weights: dict[tuple[str, ...], float] = {("b", "c"): 6.0, ("a",): 1.0, ("a", "b"): 3.0}
    questions = round_questions(domain, weights, users=100, randomizer=oue)
    assert [(q.attributes, q.users) for q in questions] == [
        (("a",), 10),
        (("a", "b"), 30),
        (("b", "c"), 60),
    ]
    few = round_questions(domain, {("a",): 1.0, ("b",): 9.0}, users=1, randomizer=oue)
    assert [(q.attributes, q.users) for q in few] == [(("b",), 1)]
    assert round_questions(domain, weights, users=0, randomizer=oue) == []
    assert round_questions(domain, {}, users=9, randomizer=oue) == []
    assert by_cells(domain, ("b", "c")) == 12
    assert by_power(domain, ("b", "c")) == pytest.approx(12**1.5 / 2)
    assert askable(domain_of(2, 1, 3)).attributes == ("a", "c")
    with pytest.raises(UsageError, match="at least one attribute of two labels"):
        askable(domain_of(1, 1))


@pytest.mark.parametrize(
    ("parameters", "variant", "is_refused"),
    [
        ({}, "learning=adaptive", False),
        ({}, "learning=tests", False),
        ({}, "mode=paper", False),
        ({"phi": 0.4}, "learning=adaptive", True),
        ({"phi": 0.4}, "learning=tests", False),
        ({"alpha": 0.1}, "learning=adaptive", True),
        ({"graph_users": 0.4}, "learning=adaptive", True),
        ({"graph_users": 0.4}, "mode=paper", False),
        ({"base": "nats"}, "mode=paper", True),
        ({"base": "nats"}, "learning=tests", False),
        ({"test": "plain"}, "learning=tests", True),
        ({"test": "chi-squared"}, "mode=paper", True),
        ({"projection": "norm-mul"}, "learning=tests", True),
        ({"cliques": "large"}, "learning=tests", True),
        ({"groups": "power"}, "mode=paper", True),
        ({"groups": "power"}, "learning=tests", False),
    ],
)
def test_defaults_belong_to_all_variants(
    parameters: dict[str, Any], variant: Any, is_refused: bool
) -> None:
    given = PrivIncrParameters(**parameters)
    if is_refused:
        with pytest.raises(UsageError, match=r"which does not use it"):
            refuse_foreign(given, variant=variant)
    else:
        refuse_foreign(given, variant=variant)


@pytest.mark.parametrize(
    ("name", "mode", "parameters", "rounds"),
    [
        ("privincr", "rigorous", {}, 3),
        ("privincr", "rigorous", {"rounds": 2}, 2),
        ("privincr", "rigorous", {"learning": "tests"}, 6),
        ("privincr", "rigorous", {"learning": "tests", "rounds": 4}, 4),
        ("privincr", "paper", {}, 6),
        ("privincr", "paper", {"rounds": 4}, 4),
        ("no-incremental", "rigorous", {}, 1),
    ],
)
def test_the_rounds_of_a_variant(
    name: str, mode: Any, parameters: dict[str, Any], rounds: int
) -> None:
    job = Job(protocol=name, mode=mode, parameters=parameters, parties=2)
    made: Any = instantiate(job)
    assert made.rounds == rounds


@pytest.mark.parametrize("choice", ["large", "all"])
def test_small_cliques_come_from_the_rounds_as_printed(choice: str) -> None:
    """Cliques of one or two attributes are not measured again, unless all are."""
    parameters = {"cliques": choice}
    made: Any = instantiate(
        Job(protocol="privincr", mode="paper", parameters=parameters, parties=2)
    )
    graph = PrintedGraph(
        domain=ABCD, phi=0.3, alpha=0.05, threshold=plain_threshold, project=lambda values: values
    )
    graph.accumulate([answer(("a", "b"), [[0.4, 0.1], [0.1, 0.4]], 1000)])
    assert made.is_small(("a", "b"), graph) == (choice == "large")
    assert made.is_small(("a",), graph) == (choice == "large")
    assert not made.is_small(("c",), graph)
    assert not made.is_small(("a", "b", "c"), graph)


@pytest.mark.parametrize("learning", ["adaptive", "tests", "paper"])
def test_a_run_publishes_what_it_asked(learning: str) -> None:
    """Every round has a line, its users add up, and pairs are those of the sets asked."""
    table = demo_table(3000, seed=2)[["sex", "relationship", "income"]]
    options: dict[str, Any] = {"mode": "paper"} if learning == "paper" else {"learning": learning}
    result = sottovoce.run(
        "privincr", table, rounds=2, epsilon=6.0, seed=1, judge=False, synthetic_rows=500, **options
    )
    rounds = result.model["rounds"]
    assert len(rounds) == 2
    asked_users = sum(sum(line["users"]) for line in rounds)
    assert asked_users == (3000 if learning == "adaptive" else 1500)
    for line in rounds:
        assert len(line["asked"]) == len(line["users"])
        if learning == "adaptive":
            within = {tuple(pair) for names in line["asked"] for pair in combinations(names, 2)}
            assert {tuple(edge) for edge in line["edges"]} == within
    if learning != "adaptive":
        assert set(map(tuple, rounds[1]["asked"])) == set(map(tuple, rounds[0]["edges"]))
        assert result.model["cliques"]["asked"] or learning == "paper"
        assert rounds[-1]["edges"]
    for line in result.report["communication"]["predicted"]:
        assert line["messages"] == line["measured_messages"]


# ---- The ceiling without privacy


@pytest.mark.parametrize(
    ("cells", "match"),
    [
        ([1, 2, 3, 4, 2, 8], ""),
        ([0, 0, 0, 1, 0, 1], ""),
        ([1, 2, 3, 4, 2], "expected 6 counts of party 1"),
        ([1, 2, 3, 4, 2, 8, 0], "expected 6 counts of party 1"),
        ([1, 2, 3, 4, 2, 9], "tables of one number of records"),
        ([-1, 4, 3, 4, 2, 8], "tables of one number of records"),
        ([0, 0, 0, 0, 0, 0], "tables of one number of records"),
    ],
)
def test_exact_tables_at_their_boundaries(cells: list[int], match: str) -> None:
    sent = no_privacy.NoPrivJTree.Counts(np.array(cells, np.int64))
    desk: Any = SimpleNamespace(
        domain=domain_of(2, 2), gather_answers=lambda _: {1: sent}, where=None
    )
    sets = [("a", "b"), ("a",)]
    if match:
        with pytest.raises(MessageError, match=match):
            no_privacy.gather_tables(desk, sets)
    else:
        tables = no_privacy.gather_tables(desk, sets)
        assert tables["a", "b"].values.reshape(-1).tolist() == cells[:4]  # noqa: PD011
        assert tables["a",].values.tolist() == cells[4:]  # noqa: PD011
    none = no_privacy.NoPrivJTree.Counts(np.zeros(0, np.int64))
    empty: Any = SimpleNamespace(
        domain=domain_of(2), gather_answers=lambda _: {1: none}, where=None
    )
    assert no_privacy.gather_tables(empty, []) == {}


def test_exact_cliques_have_a_bounded_size() -> None:
    """The bound is 2^24 cells of a clique, and of all pairs together."""
    for size, is_refused in ((1 << 12, False), ((1 << 12) + 1, True)):
        domain = domain_of(1 << 12, size)
        with_small_clique = domain_of(1 << 12, size, 2)
        graph = dependency_graph(with_small_clique, [("a", "b")])
        tree = junction_tree(with_small_clique, graph)
        assert len(tree.cliques) == 2
        if is_refused:
            with pytest.raises(
                UsageError,
                match=r"cliques with fewer .* found b with 4,097 and a with 4,096.*phi= above 0.3",
            ):
                no_privacy.check_size(tree, phi=0.3)
            with pytest.raises(
                UsageError, match=r"pairs of attributes with fewer .* --drop b, .* --schema"
            ):
                no_privacy.pairs_of(domain)
        else:
            no_privacy.check_size(tree, phi=0.3)
            assert no_privacy.pairs_of(domain) == [("a", "b")]


def test_the_exact_tree_is_predicted() -> None:
    table = demo_table(300, seed=2)[["sex", "relationship", "income"]]
    result = sottovoce.run("no-priv-jtree", table, parties=2, seed=1, judge=False)
    lines = result.report["communication"]["predicted"]
    assert {(line["phase"], line["kind"]) for line in lines} == {
        ("pairs", "Counts"),
        ("cliques", "Counts"),
        ("cliques", "Cliques"),
    }
    for line in lines:
        assert line["payload_bytes"] == line["measured_payload_bytes"]


@pytest.mark.parametrize(("base", "unit"), [("bits", 2.0), ("nats", e)])
def test_the_exact_graph_by_hand(base: str, unit: float) -> None:
    """An edge is kept from I = phi^2 / 2 on, for binary attributes, in the given unit."""
    counts = np.array([[32, 18], [18, 32]])
    codes = [(i, j) for i in range(2) for j in range(2) for _ in range(int(counts[i, j]))]
    table = pd.DataFrame(codes, columns=["a", "b"]).astype(str)
    information = sum(c / 100 * log(c / 25, unit) for c in counts.reshape(-1).tolist())
    for factor, edges in ((0.999, 1), (1.001, 0)):
        phi = sqrt(2 * information) * factor
        result = sottovoce.run(
            "no-priv-jtree", table, parties=1, seed=1, phi=phi, base=base, judge=False
        )
        assert len(result.model["edges"]) == edges


def test_centres_of_a_pair_are_distributions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each centre mixes the product of margins with latent classes, so it sums to 1."""
    seen: list[Any] = []
    original = shrink

    def recorded(pairs: Any, centres: Any) -> Any:
        seen.append(centres)
        return original(pairs, centres)

    monkeypatch.setattr("sottovoce.curator.pair_tables.shrink", recorded)
    joint = np.array([[0.35, 0.15], [0.15, 0.35]])
    answers = [answer(("a", "b"), joint, 10**5), answer(("b", "c"), joint, 10**5)]
    noisy = [each.noisy(domain_of(2, 2, 2)) for each in answers]
    tables = estimate_pairs(domain_of(2, 2, 2), noisy, generator=np.random.default_rng(1), passes=1)
    first, second = seen
    for centres in (*first.values(), *second.values()):
        for centre in centres:
            assert centre.sum() == pytest.approx(1.0)
    product = np.outer(tables.singles["a"].values, tables.singles["b"].values)
    for centre, half, most, nearly in second.values():
        classes = 2 * half - centre
        assert most == pytest.approx(0.1 * centre + 0.9 * classes)
        assert nearly == pytest.approx(0.01 * centre + 0.99 * classes)
    assert second["a", "b"][0] == pytest.approx(product)
    assert tables.pairs["a", "b"].values == pytest.approx(joint, abs=0.02)  # noqa: PD011


def test_weak_pairs_are_no_edges() -> None:
    """An edge has a thousandth of a bit at least; four edges are tried for each attribute."""
    domain = domain_of(2, 2, 2)
    singles = {name: Marginal.uniform(domain, (name,)) for name in "abc"}

    def pair(left: str, right: str, shift: float) -> Marginal:
        even = np.full((2, 2), 0.25)
        return Marginal((left, right), even + shift * np.array([[1, -1], [-1, 1]]))

    def bits(shift: float) -> float:
        cells = [0.25 + shift, 0.25 - shift] * 2
        return sum(p * log2(4 * p) for p in cells)

    weak = next(s for s in np.arange(0.001, 0.1, 0.0001).tolist() if bits(s) > 1e-3)
    for shift, edges in ((weak - 0.0002, 1), (weak, 2)):
        pairs: dict[tuple[str, ...], Marginal] = {
            ("a", "b"): pair("a", "b", 0.2),
            ("a", "c"): pair("a", "c", 0.0),
            ("b", "c"): pair("b", "c", shift),
        }
        tree, _ = pair_tree(domain, pairs, singles)
        assert sum(len(clique) - 1 for clique in tree.cliques) == edges


@pytest.mark.parametrize("sizes", [(64, 64), (65, 64), (2, 2)])
def test_a_pair_of_any_size_may_be_an_edge(sizes: tuple[int, int]) -> None:
    """A clique has 4,096 cells at most, or as many as the pair that is added."""
    domain = domain_of(*sizes)
    joint = np.full(sizes, 0.5 / (sizes[0] * sizes[1]))
    joint[0, 0] += 0.25
    joint[1, 1] += 0.25
    whole = Marginal(("a", "b"), joint)
    pairs: dict[tuple[str, ...], Marginal] = {("a", "b"): whole}
    tree, _ = pair_tree(domain, pairs, {name: whole.project((name,)) for name in "ab"})
    assert [set(clique) for clique in tree.cliques] == [{"a", "b"}]


def test_larger_cliques_are_bounded() -> None:
    """16 * 16 * 16 cells are allowed, and 17 * 16 * 16 are not."""
    for first, edges in ((16, 3), (17, 2)):
        domain = domain_of(first, 16, 16)
        joint = np.full((first, 16, 16), 1.0)
        for index in range(16):
            joint[index, index, index] += 500.0
        whole = Marginal(("a", "b", "c"), joint / joint.sum())
        pairs: dict[tuple[str, ...], Marginal] = {
            pair: whole.project(pair) for pair in combinations("abc", 2)
        }
        tree, _ = pair_tree(domain, pairs, {name: whole.project((name,)) for name in "abc"})
        assert max(map(len, tree.cliques)) == edges
