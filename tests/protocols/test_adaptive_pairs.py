"""Adaptive pairs: the laws of every protocol, plans, estimates, weights and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import sqrt
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import sottovoce
from sottovoce import UsageError
from sottovoce.curator import Curator, Marginal
from sottovoce.curator.pair_tables import PairTables
from sottovoce.curator.shrinkage import SPREADS, PairPosterior
from sottovoce.launch.conformance import ProtocolConformance
from sottovoce.messages import MessageError
from sottovoce.parties import Records
from sottovoce.parties.demo import demo_table
from sottovoce.privacy import Budget, Domain
from sottovoce.privacy.conversion import rho_of
from sottovoce.protocols.adaptive_pairs import protocol as module
from sottovoce.protocols.adaptive_pairs.estimation import estimate
from sottovoce.protocols.adaptive_pairs.messages import Plans, _read, plan_message
from sottovoce.protocols.adaptive_pairs.planning import plan_round, planning_of
from sottovoce.protocols.adaptive_pairs.publishing import RoundModel
from sottovoce.protocols.adaptive_pairs.tables import (
    MAX_WEIGHT,
    MeasuredTable,
    PlannedTable,
    batch_of,
    count_tables,
    integer_weights,
    precisions,
)
from sottovoce.protocols.cost import Public
from sottovoce.runs.failure import RunFailed
from sottovoce.runs.job import Job, instantiate

COLUMNS = ["sex", "race", "income", "relationship"]
KEYS: dict[str, Any] = {"key_bits": 512, "insecure_test_keys": True}


class TestConformance(ProtocolConformance):
    protocol = "adaptive-pairs"
    parameters: ClassVar[dict[str, Any]] = {"aggregator": "masks", "rounds": 2}
    rows = 300


class TestConformanceOfPureNoise(ProtocolConformance):
    protocol = "adaptive-pairs"
    parties = 2
    parameters: ClassVar[dict[str, Any]] = {
        "delta": 0.0,
        "epsilon": 4.0,
        "columns": COLUMNS,
        **KEYS,
    }
    rows = 300


class TestConformanceOfOneParty(ProtocolConformance):
    protocol = "adaptive-pairs"
    parties = 1
    parameters: ClassVar[dict[str, Any]] = {"aggregator": "clear", "columns": COLUMNS}
    rows = 300


def domain_of(**sizes: int) -> Domain:
    return Domain({name: tuple(f"{k}" for k in range(size)) for name, size in sizes.items()})


def run(**parameters: Any) -> sottovoce.Run:
    options: dict[str, Any] = {"seed": 3, "aggregator": "clear", "judge": False, **parameters}
    return sottovoce.run("adaptive-pairs", demo_table(3000, seed=5)[COLUMNS], **options)


# ---- Budgets and weights


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("parties", [1, 3])
def test_the_rounds_cost_what_is_claimed(delta: float, parties: int) -> None:
    """The releases of each party add up to the whole budget, by the shares of the rounds."""
    done = run(delta=delta, parties=parties, epsilon=2.0, aggregator="masks", first=0.4)
    privacy = done.report["privacy"]
    unit = "rho" if delta else "epsilon"
    whole = rho_of(2.0, delta=delta) if delta else 2.0
    assert done.report["chosen"]["rounds"] == (3 if delta else 2)
    for party in range(1, parties + 1):
        spent = [release[unit] for release in privacy["releases"] if release["party"] == party]
        expected = [0.4, 0.3, 0.3] if delta else [0.4, 0.6]
        assert spent == pytest.approx([whole * share for share in expected], rel=1e-6)
    assert privacy["epsilon"]["curator"] == pytest.approx(2.0, rel=1e-6)
    assert done.synthetic is not None
    assert len(done.synthetic) == 3000


def test_a_batch_costs_the_change_of_one_record() -> None:
    """Replacing a record changes table i by w_i in two cells: referee by counting."""
    domain = domain_of(a=2, b=3)
    tables = [PlannedTable(("a",), 7), PlannedTable(("a", "b"), 3)]
    batch = batch_of(domain, tables, Budget("rho", 0.5))
    assert (batch.cells, batch.weight) == (8, 7)
    frame = pd.DataFrame({"a": list("0011"), "b": list("0120")})
    counted = []
    for first in (("0", "0"), ("1", "2")):
        frame.iloc[0] = first
        counted.append(np.concatenate([*count_tables(records_of(frame, domain), tables)]))
    change = counted[0] - counted[1]
    assert np.abs(change).sum() == batch.sensitivity == 20
    assert (change**2).sum() == batch.squares == 2 * (49 + 9)
    assert counted[0].max() <= batch.weight * len(frame)


def records_of(frame: pd.DataFrame, domain: Domain) -> Records:
    from sottovoce.parties.counting import CodedTable

    codes = [
        np.array([domain.labels[name].index(value) for value in frame[name]], np.uint8)
        for name in domain.attributes
    ]
    return Records(CodedTable(codes, domain))


def frequencies_of(
    table: pd.DataFrame, domain: Domain, attributes: Sequence[str]
) -> npt.NDArray[np.float64]:
    """Count the cells of some attributes one row at a time."""
    frequencies = np.zeros(domain.shape(attributes))
    for values in table[list(attributes)].itertuples(index=False):
        places = (domain.labels[name].index(v) for name, v in zip(attributes, values, strict=True))
        frequencies[tuple(places)] += 1 / len(table)
    return frequencies


def test_weights_meet_the_shares() -> None:
    """Shares of the precision between 1/100 and 1 are met to 11 per cent, and most to far less."""
    amounts = dict(enumerate(np.geomspace(0.01, 1.0, 50).tolist()))
    weights = integer_weights(amounts)
    assert max(weights.values()) == MAX_WEIGHT
    for number, amount in amounts.items():
        assert weights[number] ** 2 / MAX_WEIGHT**2 == pytest.approx(amount, rel=0.11)
    assert integer_weights({"a": 1.0, "b": 0.0})["b"] == 1


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_follows_the_weights(monkeypatch: pytest.MonkeyPatch, delta: float) -> None:
    """Errors over their stated deviations have a mean square of 1, for singles and for pairs.

    The squares of n cells have a deviation of at most sqrt(5 / n) on average, .09 for the 600 cells
    of singles. The bound of 5 deviations fails with a chance of about 1e-6; seeds are fixed.
    """
    table = demo_table(3000, seed=5)[COLUMNS].astype(str)
    collected: list[MeasuredTable] = []

    def keep(domain: Domain, measured: Sequence[MeasuredTable], **options: Any) -> Any:
        collected.extend(measured if options["last"] else [])
        return estimate(domain, measured, **options)

    monkeypatch.setattr(module, "estimate", keep)
    squares: dict[bool, list[float]] = {True: [], False: []}
    exact_tables: dict[tuple[str, ...], npt.NDArray[np.float64]] = {}
    for seed in range(40):
        collected.clear()
        done = run(delta=delta, parties=3, seed=seed, rounds=1, epsilon=1.0)
        assert done.domain is not None
        for measured in collected:
            names = measured.table.attributes
            if names not in exact_tables:
                exact_tables[names] = frequencies_of(table, done.domain, names)
            exact = exact_tables[names]
            errors = (measured.frequencies - exact) ** 2 / measured.variance
            squares[exact.ndim == 1] += errors.reshape(-1).tolist()
    for kind in squares.values():
        assert np.mean(kind) == pytest.approx(1.0, abs=5 * sqrt(5 / len(kind)))


# ---- Plans


def test_round_one_follows_from_public_sizes() -> None:
    """All single attributes and pairs; larger tables have more weight, singles more than pairs."""
    domain = domain_of(a=2, b=3, c=9)
    for power in (1, 2):
        tables = plan_round(domain, None, measured=(), alone=1e6, power=power)
        weights = {table.attributes: table.weight for table in tables}
        names = domain.attributes
        assert list(weights) == [*((name,) for name in names), *combinations(names, 2)]
        assert weights["b", "c"] > weights["a", "c"] > weights["a", "b"]
        exponent = 1 / 3 if power == 1 else 1 / 2
        ratio = weights["b", "c"] / weights["a", "b"]
        assert ratio == pytest.approx((27 / 6) ** exponent, rel=0.03)


def measured_pair(
    pair: tuple[str, str], table: Any, *, precision: float, groupings: Any = ()
) -> MeasuredTable:
    return MeasuredTable(PlannedTable(pair, 1, groupings), np.array(table, float), 1 / precision)


def dependent(*, precision: float = 1e9) -> list[MeasuredTable]:
    """Measure three pairs; b depends on a, and c on nothing."""
    even, strong = np.full((2, 2), 0.25), np.array([[0.4, 0.1], [0.1, 0.4]])
    return [
        measured_pair(("a", "b"), strong, precision=precision),
        measured_pair(("a", "c"), even, precision=precision),
        measured_pair(("b", "c"), even, precision=precision),
    ]


def test_a_later_round_leaves_out_what_is_sure() -> None:
    """Pairs that are surely products get nothing beside one whose dependence is open."""
    domain = domain_of(a=4, b=4, c=4, d=4)
    pairs = list(combinations("abcd", 2))
    posteriors: dict[tuple[str, ...], PairPosterior] = {}
    for pair in pairs:
        weight = np.zeros((1, len(SPREADS)))
        weight[0, -4 if pair == ("a", "b") else 0] = 1.0
        even = np.full((1, 16), 0.05)
        posteriors[pair] = PairPosterior(np.zeros((4, 4)), np.ones((4, 4)), weight, weight, even)
    singles = {name: Marginal((name,), np.full(4, 0.25)) for name in "abcd"}
    beliefs = PairTables(singles, {}, posteriors)
    measured = [measured_pair((a, b), np.ones((4, 4)), precision=1e5) for a, b in pairs]
    tables = plan_round(domain, beliefs, measured=measured, alone=1e6, power=1)
    weights = {table.attributes: table.weight for table in tables}
    assert max(weights.values()) == MAX_WEIGHT
    assert weights["a", "b"] > 5 * max(weights.get(pair, 0) for pair in pairs[1:])


def test_in_epsilon_weights_share_the_root_of_the_precision() -> None:
    """Amounts have the roots' sum of the whole; no move between two tables gains much."""
    domain = domain_of(a=2, b=3, c=4)
    beliefs = estimate(domain, [], generator=np.random.default_rng(1), last=False)
    planning = planning_of(domain, beliefs)
    shares = planning.share_out({}, 1e5, least=0.0, power=2.0)
    roots = {names: sqrt(amount / 1e5) for names, amount in shares.items()}
    assert sum(roots.values()) == pytest.approx(1.0, rel=1e-6)
    best = planning.predict(shares)
    for source, target in combinations(shares, 2):
        for sign in (1, -1):
            moved = dict(roots)
            step = sign * 0.02 * min(roots[source], roots[target])
            moved[source] -= step
            moved[target] += step
            amounts = {names: 1e5 * root**2 for names, root in moved.items()}
            assert planning.predict(amounts) >= best * (1 - 1e-4)


def good_plan() -> Plans.Plan:
    tables = [
        PlannedTable(("sex",), 5),
        PlannedTable(("race", "income"), 100, ((0, 1, 1, 0, 2), ())),
    ]
    return plan_message(demo_domain(), tables)


def demo_domain() -> Domain:
    domain = run(rounds=1).domain
    assert domain is not None
    return domain.project(COLUMNS)


def test_a_plan_comes_back_as_it_was() -> None:
    domain = demo_domain()
    tables = [
        PlannedTable(("sex",), 5),
        PlannedTable(("race", "income"), 100, ((0, 1, 1, 0, 2), ())),
    ]
    assert _read(domain, plan_message(domain, tables)) == tables
    assert RoundModel.of(tables).planned() == tables
    assert RoundModel.of(tables[:1]).groupings == ()


BAD_PLANS: dict[str, dict[str, Any]] = {
    "numbers of attributes below 4": {"attributes": [0, 1, 4]},
    "in the domain's order": {"attributes": [0, 2, 1]},
    "different attributes": {"attributes": [0, 1, 1]},
    "weights of 1 to 100": {"weights": [0, 5]},
    "found 5 to 101": {"weights": [5, 101]},
    "a length for each": {"lengths": [1]},
    "3 attributes and groupings": {"attributes": [0, 1]},
    "tables of 1 to 3 attributes": {"lengths": [3, 0]},
    "numbers of groupings up to 1": {"groupings": [0, 2, 0]},
    "a group for each of the 5 labels of race": {"groups": [[0, 1, 1]]},
    "without a gap": {"groups": [[0, 2, 2, 0, 0]]},
    "a group for each label": {"groups": [[]]},
    "different tables": {
        "weights": [1, 2],
        "lengths": [1, 1],
        "attributes": [0, 0],
        "groupings": [0, 0],
    },
    "found 0 for 0": {"weights": [], "lengths": [], "attributes": [], "groupings": []},
}


@pytest.mark.parametrize("match", BAD_PLANS)
def test_a_bad_plan_is_refused_in_one_line(match: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {
        "weights": np.uint8,
        "lengths": np.uint8,
        "attributes": np.uint16,
        "groupings": np.uint16,
    }
    good = good_plan()
    fields = {name: getattr(good, name) for name in (*kinds, "groups")}
    for name, value in BAD_PLANS[match].items():
        fields[name] = (
            tuple(np.array(groups, np.uint16) for groups in value)
            if name == "groups"
            else np.array(value, kinds[name])
        )
    bad = Plans.Plan(**fields)
    broadcast = Curator.broadcast

    def forged(desk: Curator, message: Any, **options: Any) -> None:
        broadcast(desk, bad if isinstance(message, Plans.Plan) else message, **options)

    monkeypatch.setattr(Curator, "broadcast", forged)
    with pytest.raises((RunFailed, MessageError), match=match) as caught:
        run(parties=2)
    assert "\n" not in str(caught.value).strip()


def test_a_plan_of_too_many_cells_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Round 1 is refused before any message, and a later plan by the parties."""
    monkeypatch.setattr("sottovoce.protocols.adaptive_pairs.messages.MAX_CELLS", 20)
    with pytest.raises(UsageError, match=r"at most 20 cells in a round, found .* --drop"):
        run(parties=2)


# ---- Groups


def test_parties_count_groups() -> None:
    domain = domain_of(a=3, b=2)
    frame = pd.DataFrame({"a": list("0012210"), "b": list("0110101")})
    grouped = PlannedTable(("a", "b"), 4, ((1, 0, 1), ()))
    alone = PlannedTable(("a",), 1, ((0, 0, 0),))
    plain = PlannedTable(("a", "b"), 1)
    records = records_of(frame, domain)
    pairs, singles, whole = count_tables(records, [grouped, alone, plain])
    exact = whole.reshape(3, 2)
    assert pairs.reshape(2, 2).tolist() == [
        (4 * exact[1]).tolist(),
        (4 * (exact[0] + exact[2])).tolist(),
    ]
    assert singles.tolist() == [7]
    assert grouped.shape(domain) == (2, 2)
    assert records.domain == domain


def test_grouped_tables_travel_and_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose second round counts groups; the model and the forecast have them."""
    grouping = (0, 1, 1, 1, 0, 1)
    collected: list[MeasuredTable] = []

    def planned(domain: Domain, beliefs: Any, **options: Any) -> list[PlannedTable]:
        if beliefs is None:
            return plan_round(domain, beliefs, **options)
        groups = grouping[: domain.cells(("relationship",))]
        return [PlannedTable(("income", "relationship"), 3, ((), groups))]

    def keep(domain: Domain, measured: Sequence[MeasuredTable], **options: Any) -> Any:
        collected.extend(measured[-1:] if options["last"] else [])
        return estimate(domain, measured, **options)

    monkeypatch.setattr(module, "plan_round", planned)
    monkeypatch.setattr(module, "estimate", keep)
    done = run(parties=2, rounds=2, epsilon=1000.0)
    (measured,) = collected
    frame = demo_table(3000, seed=5)[COLUMNS].astype(str)
    assert done.domain is not None
    labels = done.domain.labels["relationship"]
    group = frame["relationship"].map(lambda value: grouping[labels.index(value)])
    exact = pd.crosstab(frame["income"], group).reindex(done.domain.labels["income"]) / 3000
    assert measured.frequencies == pytest.approx(exact.to_numpy(), abs=0.01)
    assert done.model["rounds"][1]["groupings"] == [[[], list(grouping[: len(labels)])]]
    for line in done.report["communication"]["predicted"]:
        assert line["payload_bytes"] == line["measured_payload_bytes"]


def test_a_table_of_groups_is_spread_by_the_margins() -> None:
    """Of a pair measured in groups alone: exact groups, and within them the product of margins."""
    domain = domain_of(a=3, b=2)
    single = MeasuredTable(PlannedTable(("a",), 1), np.array([0.2, 0.3, 0.5]), 1e-12)
    other = MeasuredTable(PlannedTable(("b",), 1), np.array([0.6, 0.4]), 1e-12)
    # b's labels are swapped: group 0 is label 1 with .4 of the rows.
    groups = measured_pair(
        ("a", "b"), [[0.05, 0.45], [0.35, 0.15]], precision=1e12, groupings=((0, 0, 1), (1, 0))
    )
    tables = estimate(
        domain, [single, other, groups], generator=np.random.default_rng(1), last=True
    )
    table = tables.pairs["a", "b"].values  # noqa: PD011 - no frame
    expected = np.array([[0.45 * 0.4, 0.05 * 0.4], [0.45 * 0.6, 0.05 * 0.6], [0.15, 0.35]])
    assert table == pytest.approx(expected, abs=1e-4)


# ---- Estimates


def test_margins_are_weighted_by_their_precision() -> None:
    """The margin of a is the mean of its own table and of its pair's, by inverse variance."""
    domain = domain_of(a=2, b=4)
    single = MeasuredTable(PlannedTable(("a",), 1), np.array([0.3, 0.7]), 1e-4)
    pair = measured_pair(("a", "b"), np.outer([0.4, 0.6], [0.1, 0.2, 0.3, 0.4]), precision=1e5)
    tables = estimate(domain, [single, pair], generator=np.random.default_rng(1), last=False)
    own, other = 1 / 1e-4, 1 / (4 * 1e-5)
    expected = (0.3 * own + 0.4 * other) / (own + other)
    assert tables.singles["a"].values[0] == pytest.approx(expected)  # noqa: PD011 - no frame


@pytest.mark.parametrize(("precision", "share"), [(1e10, 1.0), (1e-4, 0.0)])
def test_a_pair_is_believed_as_far_as_its_noise_allows(precision: float, share: float) -> None:
    """Without noise the estimate is what was measured; with nothing but noise, the product."""
    domain = domain_of(a=2, b=2, c=2)
    singles = [
        MeasuredTable(PlannedTable((name,), 1), np.array([0.5, 0.5]), 1e-12) for name in "abc"
    ]
    measured = [*singles, *dependent(precision=precision)]
    tables = estimate(domain, measured, generator=np.random.default_rng(1), last=True)
    expected = 0.25 + share * 0.15 * np.array([[1, -1], [-1, 1]])
    assert tables.pairs["a", "b"].values == pytest.approx(expected, abs=0.01)  # noqa: PD011


def test_the_same_table_twice_counts_twice() -> None:
    tables = [measured_pair(("a", "b"), np.full((2, 2), 0.25), precision=100.0)] * 2
    assert precisions(tables) == {("a", "b"): 200.0}


# ---- Runs


def test_attributes_without_dependence_are_named() -> None:
    """Independent attributes are listed in the summary, and others are not."""
    generator = np.random.default_rng(4)
    a = generator.integers(0, 3, 4000)
    table = pd.DataFrame(
        {"a": a, "b": (a + (generator.random(4000) < 0.1)) % 3, "c": generator.integers(0, 2, 4000)}
    ).astype(str)
    done = sottovoce.run(
        "adaptive-pairs", table, aggregator="clear", seed=1, epsilon=4.0, judge=False
    )
    summary = done.report["outcome"]
    assert summary["no dependence learnt of"] == "c"
    assert 0 < float(summary["predicted distance of a pair"]) < 0.05


@pytest.mark.parametrize("columns", [["sex"], ["sex", "one"]])
def test_few_attributes(columns: list[str]) -> None:
    """A single attribute has no pairs; an attribute of one label is not counted."""
    table = demo_table(500, seed=5)[["sex"]].assign(one="x")[columns]
    done = sottovoce.run(
        "adaptive-pairs", table, aggregator="clear", seed=1, judge=False, synthetic_rows=70
    )
    assert done.synthetic is not None
    assert done.synthetic.shape == (70, len(columns))
    assert all(tables["tables"] == [["sex"]] for tables in done.model["rounds"])


def test_without_an_attribute_of_two_labels_nothing_is_run() -> None:
    with pytest.raises(UsageError, match="two labels or more, found none"):
        sottovoce.run("adaptive-pairs", pd.DataFrame({"one": ["x"] * 9}), aggregator="clear")


def test_the_law_with_less_noise_is_taken() -> None:
    """Many tables have Gaussian noise, and one table has Laplace noise."""
    protocol: Any = instantiate(Job(protocol="adaptive-pairs", parameters={"epsilon": 0.5}))
    for sizes, unit, rounds in (((3,) * 8, "rho", 3), ((2,), "epsilon", 2)):
        domain = domain_of(**{f"a{place}": size for place, size in enumerate(sizes)})
        public = Public(parties=3, rows=5000, key_bits=2048, domain=domain)
        assert protocol.unit_of_budget(public) == unit
        assert protocol.chosen(public)["rounds"] == rounds


def test_more_than_single_attributes_is_learnt() -> None:
    """At a fair epsilon the pairs are much nearer than those of independent attributes."""
    generator = np.random.default_rng(4)
    hidden = generator.random(5000) < 0.5
    table = pd.DataFrame(
        {name: (hidden ^ (generator.random(5000) < 0.2)).astype(int) for name in "abcdef"}
    ).astype(str)
    distances = {}
    for name in ("adaptive-pairs", "one-way"):
        done = sottovoce.run(name, table, aggregator="clear", seed=2, epsilon=1.0)
        assert done.judgement is not None
        distances[name] = done.judgement["utility"]["tvd"]["2"]
    assert distances["adaptive-pairs"] < 0.25 * distances["one-way"]
