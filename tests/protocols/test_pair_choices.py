"""Choices of adaptive pairs: what they cost, who is asked, and what a dishonest role can do."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from house_suites import VariantSuite

import sottovoce
from sottovoce.crypto import RandomStream
from sottovoce.curator.pairs import Pair
from sottovoce.messages import MessageError
from sottovoce.parties import Records
from sottovoce.parties.counting import CodedTable
from sottovoce.privacy import Budget, Domain
from sottovoce.protocols.adaptive_pairs import choices as module
from sottovoce.protocols.adaptive_pairs.choice_messages import (
    Choices,
    read_estimates,
    write_estimates,
)
from sottovoce.protocols.adaptive_pairs.choices import (
    MAX_NOISE,
    SHARE,
    STEPS,
    ChoicePlan,
    farthest_pairs,
    mean_distances,
    read_named,
)

WHOLE = Budget.of_noise(1.0, delta=1e-9)
Numbers = npt.NDArray[np.float64]


def domain_of(attributes: int, labels: int) -> Domain:
    names = (f"a{place}" for place in range(attributes))
    return Domain({name: tuple(map(str, range(labels))) for name in names})


def records_of(codes: npt.NDArray[np.int64], domain: Domain) -> Records:
    return Records(CodedTable([column.astype(np.uint8) for column in codes.T], domain))


def hidden_table(rows: int = 6000) -> pd.DataFrame:
    """Make a table in which two attributes depend on each other label by label.

    Labels of b stand in an order that has nothing to do with that of a, so groups of neighbouring
    labels hide the dependence. Ten more attributes are independent.
    """
    generator = np.random.default_rng(3)
    a = generator.integers(0, 16, rows)
    order = np.array([0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15])
    b = np.where(generator.random(rows) < 0.9, order[a], generator.integers(0, 16, rows))
    rest = {f"c{place}": generator.integers(0, 12, rows) for place in range(10)}
    return pd.DataFrame({"a": a, "b": b, **rest}).map("{:02d}".format)


def even_tables(domain: Domain) -> dict[Pair, Numbers]:
    return {pair: np.full((5, 5), 1 / 25) for pair in combinations(domain.attributes, 2)}


# ---- Who is asked


def test_few_labels_few_records_and_pure_noise_have_no_choices() -> None:
    plan: dict[str, Any] = {"rounds": 5, "rows": 50_000, "parties": 3, "deviation": 0.1}
    assert ChoicePlan.of(domain_of(8, 5), WHOLE, **plan) is not None
    assert ChoicePlan.of(domain_of(8, 4), WHOLE, **plan) is None  # 16 cells
    assert ChoicePlan.of(domain_of(4, 5), WHOLE, **plan) is None  # six pairs
    assert ChoicePlan.of(domain_of(8, 5), Budget.pure(1.0), **plan) is None
    assert ChoicePlan.of(domain_of(8, 5), WHOLE, **{**plan, "rows": 600}) is None
    # A table of 25 cells has 10 deviations of noise.
    for deviation, has_choices in ((0.0151, True), (0.0149, False)):
        chosen = ChoicePlan.of(domain_of(8, 5), WHOLE, **{**plan, "deviation": deviation})
        assert (chosen is not None) == has_choices


def test_more_noise_means_fewer_named_pairs() -> None:
    """The number of records at which a choice's noise reaches the bound, by hand."""
    domain = domain_of(8, 5)
    counts = {}
    for rows in range(50, 20_000, 50):
        plan = ChoicePlan.of(domain, WHOLE, rounds=5, rows=3 * rows, parties=3, deviation=0.1)
        counts[rows] = plan.named if plan else 0
        if plan:
            epsilon = Budget(
                "rho", WHOLE.amount * SHARE / 4 / plan.named, of_gaussian=True
            ).of_choice
            assert 2 / epsilon * np.log(28) / rows <= MAX_NOISE
            assert plan.min_rows <= rows
    assert [*dict.fromkeys(counts.values())] == [0, 1, 4]


@pytest.mark.parametrize(
    ("rounds", "asked"), [(1, None), (3, None), (4, (3,)), (5, (3, 4)), (8, (6, 7))]
)
def test_the_last_rounds_but_one_have_choices(rounds: int, asked: tuple[int, ...] | None) -> None:
    plan = ChoicePlan.of(
        domain_of(8, 5), WHOLE, rounds=rounds, rows=50_000, parties=1, deviation=0.1
    )
    assert (plan and plan.rounds) == asked


def test_small_parties_are_not_asked() -> None:
    plan = ChoicePlan.of(domain_of(8, 5), WHOLE, rounds=5, rows=50_000, parties=3, deviation=0.1)
    assert plan is not None
    rows = [plan.min_rows, plan.min_rows - 1, -1, 9 * plan.min_rows]
    assert plan.parties_in(3, rows) == [1, 4]
    assert plan.parties_in(2, rows) == plan.parties_in(5, rows) == []


# ---- What an answer costs


def test_a_replaced_record_changes_each_distance_by_at_most_one() -> None:
    """Referee: every replacement of one record of a small table, with estimates of any kind."""
    domain, generator = domain_of(3, 3), np.random.default_rng(1)
    pairs = [*combinations(domain.attributes, 2)]
    codes = generator.integers(0, 3, (5, 3))
    others = np.array(np.unravel_index(np.arange(27), (3, 3, 3))).T
    most = 0.0
    for trial in range(8):
        raw = {pair: generator.random((3, 3)) ** (4 * trial) for pair in pairs}
        tables: dict[Pair, Numbers] = {
            pair: table / max(table.sum(), 1e-300) for pair, table in raw.items()
        }
        before = module._distances(records_of(codes, domain), tables)
        for row in range(len(codes)):
            for values in others:
                changed = codes.copy()
                changed[row] = values
                after = module._distances(records_of(changed, domain), tables)
                most = max(most, float(np.abs(after - before).max()))
    assert 0.9 < most <= 1 + 1e-9


def test_the_answer_of_a_party_has_the_farthest_pairs() -> None:
    """With a large budget the exact ones: referee by counting."""
    domain, generator = domain_of(6, 5), np.random.default_rng(2)
    codes = generator.integers(0, 5, (4000, 6))
    codes[:, 1], codes[:, 3] = codes[:, 0], np.where(codes[:, 5] < 2, codes[:, 2], codes[:, 3])
    tables: dict[Pair, Numbers] = {
        pair: np.full((5, 5), 1 / 25) for pair in combinations(domain.attributes, 2)
    }
    plan = ChoicePlan((3,), Budget("rho", 20.0), named=4, min_rows=1)
    spent = []

    def release(mechanism: Any) -> Any:
        spent.append(mechanism.loss.rho)
        return mechanism.draw(RandomStream(bytes([len(spent)] * 32)))

    answer = farthest_pairs(records_of(codes, domain), tables, plan, release=release)
    assert sum(spent) == pytest.approx(20.0)
    assert len(spent) == 5
    named = read_named(answer, plan, tables, rows=4000)
    assert [*named][:2] == [("a0", "a1"), ("a2", "a3")]
    joint = np.zeros((5, 5))
    np.add.at(joint, (codes[:, 0], codes[:, 1]), 1 / 4000)
    assert named["a0", "a1"] ** 0.5 == pytest.approx(np.abs(joint - 1 / 25).sum() / 2, abs=0.005)
    assert named["a2", "a3"] ** 0.5 == pytest.approx(0.32, abs=0.03)


def test_distances_have_the_noise_that_they_pay_for() -> None:
    """Half of the budget buys distances of a change of 1 each, and 17 sixteenths with rounding.

    The mean square of 400 errors over their variance is within .35 of 1 but with a chance of 1e-6.
    """
    domain = domain_of(4, 5)
    codes = np.random.default_rng(2).integers(0, 5, (4000, 4))
    records = records_of(codes, domain)
    tables: dict[Pair, Numbers] = {
        pair: np.full((5, 5), 1 / 25) for pair in combinations(domain.attributes, 2)
    }
    exact = np.rint(STEPS * module._distances(records, tables))
    plan = ChoicePlan((3,), Budget("rho", 1e-3), named=4, min_rows=1)
    stream, errors = RandomStream(b"s" * 32), list[float]()
    for _ in range(100):
        answer = farthest_pairs(records, tables, plan, release=lambda noisy: noisy.draw(stream))
        errors += (answer.distances - exact[answer.pairs]).tolist()
    variance = (17 * 2) ** 2 / (2 * 5e-4)
    assert np.mean(np.square(errors)) / variance == pytest.approx(1, abs=0.35)


@pytest.mark.parametrize("parties", [1, 3])
def test_sums_and_choices_cost_the_whole_budget(parties: int) -> None:
    done = sottovoce.run(
        "adaptive-pairs",
        hidden_table(),
        parties=parties,
        epsilon=1.0,
        aggregator="masks",
        seed=1,
        labels=True,
    )
    privacy, of_choices = done.reported.report.privacy, SHARE * WHOLE.amount
    assert privacy.epsilon["curator"] == pytest.approx(1.0, rel=1e-6)
    for party in range(1, parties + 1):
        mine = [entry for entry in privacy.releases if entry.party == party]
        choices = [entry for entry in mine if entry.mechanism == "exponential"]
        distances = [entry for entry in mine if entry.mechanism == "discrete-gaussian"]
        sums = [entry for entry in mine if entry.mechanism == "multi-party-gaussian"]
        assert [len(choices), len(distances), len(sums)] == [8, 2, 5]
        assert {entry.phase for entry in choices + distances} == {"round 3", "round 4"}
        # rho of a choice is 2 / pi of its Gaussian loss.
        assert sum(entry.rho for entry in choices) == pytest.approx(of_choices / np.pi)
        assert sum(entry.rho for entry in distances) == pytest.approx(of_choices / 2, rel=1e-6)
        assert sum(entry.rho for entry in sums) == pytest.approx((1 - SHARE) * WHOLE.amount)
    for line in done.report["communication"]["predicted"]:
        assert line["payload_bytes"] == line["measured_payload_bytes"]
    assert done.report["communication"]["rounds"] == 12
    assert ["a", "b"] in [
        list(pair) for entry in done.model["rounds"] for pair in entry.get("named", ())
    ]
    named = {tuple(pair) for entry in done.model["rounds"] for pair in entry.get("named", ())}
    assert done.report["outcome"]["pairs named by parties"] == len(named)


@pytest.mark.parametrize("epsilon", [0.5, 1.5])
def test_choices_find_what_groups_hide(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pair's table is much nearer to the real one than without them."""
    table = hidden_table()
    exact = pd.crosstab(table["a"], table["b"], normalize="all")
    distances = {}
    for most in (MAX_NOISE, 0.0):
        if not most:
            monkeypatch.setattr(ChoicePlan, "of", lambda *_, **__: None)
        done = sottovoce.run(
            "adaptive-pairs",
            table,
            parties=3,
            epsilon=epsilon,
            aggregator="masks",
            seed=1,
            labels=True,
        )
        assert done.synthetic is not None
        rows = pd.crosstab(done.synthetic["a"], done.synthetic["b"], normalize="all")
        rows = rows.reindex(index=exact.index, columns=exact.columns, fill_value=0)
        distances[most] = float(np.abs((rows - exact).to_numpy()).sum()) / 2
    assert distances[MAX_NOISE] < 0.7 * distances[0.0]


def test_distances_of_several_parties_count_by_their_records() -> None:
    """Squares are averaged before what is below 0 is cut off."""
    first: Pair = ("a", "b")
    second: Pair = ("a", "c")
    named: list[tuple[int, dict[Pair, float]]] = [
        (300, {first: 0.05, second: -0.02}),
        (100, {first: -0.11, second: 0.01}),
    ]
    assert mean_distances(named) == {first: pytest.approx(0.01**0.5), second: 0.0}
    assert mean_distances([]) == {}


def test_a_plan_where_every_pair_was_named() -> None:
    """Then there is nothing to share the budget with."""
    generator = np.random.default_rng(1)
    a = generator.integers(0, 60, 20_000)
    columns = {}
    for place in range(5):
        order = generator.permutation(60)
        noise = generator.random(20_000) < 0.1
        columns[f"c{place}"] = np.where(noise, generator.integers(0, 60, 20_000), order[a])
    done = sottovoce.run(
        "adaptive-pairs",
        pd.DataFrame(columns).map("{:02d}".format),
        parties=12,
        epsilon=0.5,
        aggregator="masks",
        seed=1,
        labels=True,
        judge=False,
    )
    assert [len(entry.get("named", ())) for entry in done.model["rounds"]][2] == 10


class TestConformanceWithChoices(VariantSuite):
    protocol = "adaptive-pairs"
    parties = 2
    parameters: ClassVar[dict[str, Any]] = {"aggregator": "masks", "epsilon": 4.0}
    rows = 900


# ---- Messages


PAIRS: list[Pair] = [("a0", "a1"), ("a0", "a2"), ("a1", "a2")]
TABLES: dict[Pair, Numbers] = {pair: np.full((3, 3), 1 / 9) for pair in PAIRS}


def party_with(message: object) -> Any:
    return SimpleNamespace(
        receive=lambda *_, **__: message,
        where=SimpleNamespace(),
        records=SimpleNamespace(domain=domain_of(3, 3)),
    )


def test_estimates_come_back_as_they_were() -> None:
    message = write_estimates(domain_of(3, 3), TABLES)
    read = read_estimates(party_with(message), max_cells=27)
    assert [*read] == PAIRS
    for pair in PAIRS:
        assert read[pair] == pytest.approx(TABLES[pair], abs=1e-7)
    assert read_estimates(party_with(write_estimates(domain_of(3, 3), {})), max_cells=0) == {}


BAD_ESTIMATES: dict[str, tuple[list[int], list[float]]] = {
    "two attributes of 3": ([0, 1, 2], [1 / 9] * 9),
    "two attributes of 3 ": ([0, 3], [1 / 9] * 9),
    "different pairs": ([1, 0], [1 / 9] * 9),
    "different pairs ": ([1, 1], [1 / 9] * 9),
    "different pairs  ": ([0, 1, 0, 1], [1 / 9] * 18),
    "each of 9 cells": ([0, 1], [1 / 9] * 8),
    "at most 20": ([0, 1, 0, 2, 1, 2], [1 / 9] * 27),
    "that add up to 1": ([0, 1], [1 / 8] * 9),
    "at least 0": ([0, 1], [-1 / 9, 2 / 9, *[1 / 9] * 7]),
    "found others": ([0, 1], [float("nan"), *[1 / 9] * 8]),
}


@pytest.mark.parametrize("match", BAD_ESTIMATES)
def test_a_party_refuses_malformed_estimates(match: str) -> None:
    attributes, shares = BAD_ESTIMATES[match]
    message = Choices.Estimates(np.array(attributes, np.uint16), np.array(shares, np.float32))
    with pytest.raises(MessageError, match=match.strip()):
        read_estimates(party_with(message), max_cells=20)


@pytest.mark.parametrize(
    ("pairs", "distances"),
    [
        ([0], [5]),
        ([0, 0], [5, 5]),
        ([0, 3], [5, 5]),
        ([0, 1, 2], [5, 5, 5]),
        ([0, 1], [5]),
        ([], []),
    ],
)
def test_the_curator_refuses_a_malformed_answer(pairs: list[int], distances: list[int]) -> None:
    plan = ChoicePlan((3,), Budget("rho", 1.0), named=2, min_rows=1)
    answer = Choices.Named(np.array(pairs, np.uint32), np.array(distances, np.int64))
    with pytest.raises(MessageError, match="as many as a party is to name"):
        read_named(answer, plan, TABLES, rows=10)
    good = Choices.Named(np.array([0, 2], np.uint32), np.array([-400, 400], np.int64))
    named = read_named(good, plan, TABLES, rows=100)
    chance = 9 * np.sqrt(1 / 9 * 8 / 9) / np.sqrt(2 * np.pi * 100)
    noise = 17 * 2 / 16 / 100  # half of the budget is a rho of .5, and two distances change
    assert named[PAIRS[0]] == pytest.approx(-(chance**2) - noise**2)
    assert named[PAIRS[2]] == pytest.approx(0.25**2 - chance**2 - noise**2)
    few = replace(plan, named=4)
    assert len(read_named(answer_of_all(), few, TABLES, rows=10)) == 3


def answer_of_all() -> Choices.Named:
    return Choices.Named(np.arange(3, dtype=np.uint32), np.full(3, 99, np.int64))
