"""Adaptive pairs: the laws of every protocol, plans, estimates, weights and budgets."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import sqrt
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from house_suites import SampledSuite, VariantSuite

import sottovoce
from sottovoce import UsageError
from sottovoce.curator import Curator
from sottovoce.curator.pairs import Plan, estimate_all, plan_tables
from sottovoce.curator.pairs.groups import FURTHER_HALVINGS
from sottovoce.messages import MessageError, MisuseError
from sottovoce.parties import Records
from sottovoce.parties.demo import demo_table
from sottovoce.privacy import Budget, Domain
from sottovoce.protocols.adaptive_pairs import protocol as module
from sottovoce.protocols.adaptive_pairs.estimation import FINAL_PASSES, Estimation
from sottovoce.protocols.adaptive_pairs.messages import MAX_GROUPINGS, Plans, _read, plan_message
from sottovoce.protocols.adaptive_pairs.publishing import RoundModel
from sottovoce.protocols.adaptive_pairs.rounds import Rounds
from sottovoce.protocols.adaptive_pairs.tables import (
    MAX_WEIGHT,
    MeasuredTable,
    PlannedTable,
    batch_of,
    count_tables,
    integer_weights,
)
from sottovoce.protocols.cost import Public
from sottovoce.protocols.secure_sum import SecureSums, star
from sottovoce.runs.failure import RunFailed
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job

COLUMNS = ["sex", "race", "income", "relationship"]
KEYS: dict[str, Any] = {"key_bits": 512, "insecure_test_keys": True}


class TestConformance(SampledSuite):
    protocol = "adaptive-pairs"
    parameters: ClassVar[dict[str, Any]] = {"aggregator": "masks", "rounds": 2}
    rows = 300


class TestConformanceOfPureNoise(VariantSuite):
    protocol = "adaptive-pairs"
    parties = 2
    parameters: ClassVar[dict[str, Any]] = {
        "delta": 0.0,
        "epsilon": 4.0,
        "columns": COLUMNS,
        **KEYS,
    }
    rows = 300


class TestConformanceOfOneParty(VariantSuite):
    protocol = "adaptive-pairs"
    parties = 1
    parameters: ClassVar[dict[str, Any]] = {"aggregator": "clear", "columns": COLUMNS}
    rows = 300


def domain_of(**sizes: int) -> Domain:
    return Domain({name: tuple(f"{k}" for k in range(size)) for name, size in sizes.items()})


def run(**parameters: Any) -> sottovoce.Run:
    options: dict[str, Any] = {"seed": 3, "aggregator": "clear", "judge": False, **parameters}
    return sottovoce.run("adaptive-pairs", demo_table(3000, seed=5)[COLUMNS], **options)


def many_labels() -> pd.DataFrame:
    """Make a table whose pairs have up to 900 cells, and depend on each other."""
    generator = np.random.default_rng(8)
    a = generator.integers(0, 30, 2000)
    b = (a + generator.integers(0, 12, 2000)) % 30
    return pd.DataFrame({"a": a, "b": b, "c": a // 10}).astype(str)


# ---- Budgets and weights


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("parties", [1, 3])
def test_the_rounds_cost_what_is_claimed(delta: float, parties: int) -> None:
    """The releases of each party add up to the whole budget, by the shares of the rounds."""
    done = run(delta=delta, parties=parties, epsilon=2.0, aggregator="masks")
    privacy = done.report["privacy"]
    unit = "rho" if delta else "epsilon"
    whole = Budget.of_noise(2.0, delta=delta).amount if delta else 2.0
    shares = [0.03, *(0.97 * 1.4**number / 7.104 for number in range(4))] if delta else [0.3, 0.7]
    assert done.report["chosen"]["rounds"] == len(shares)
    for party in range(1, parties + 1):
        spent = [release[unit] for release in privacy["releases"] if release["party"] == party]
        assert spent == pytest.approx([whole * share for share in shares], rel=1e-6)
    assert privacy["epsilon"]["curator"] == pytest.approx(2.0, rel=1e-6)
    assert done.synthetic is not None
    assert len(done.synthetic) == 3000


def test_who_holds_which_record_changes_nothing() -> None:
    """All parties' tables are summed, so with the same seed every split has the same rows."""
    splits = ("even", "sizes:98,1,1", "by:sex", "sizes:3,2,1+labels:sex@0.5")
    files = [
        run(parties=3, split=split, aggregator="masks").files["synthetic.csv"] for split in splits
    ]
    assert len(set(files)) == 1


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
    frame: pd.DataFrame, domain: Domain, table: PlannedTable
) -> npt.NDArray[np.float64]:
    """Count the cells of a planned table one row at a time."""
    names = table.attributes
    groupings = table.groupings or ((),) * len(names)
    frequencies = np.zeros(table.shape(domain))
    for values in frame[list(names)].itertuples(index=False):
        places = []
        for name, value, grouping in zip(names, values, groupings, strict=True):
            place = domain.labels[name].index(value)
            places.append(grouping[place] if grouping else place)
        frequencies[tuple(places)] += 1 / len(frame)
    return frequencies


def test_weights_meet_the_shares() -> None:
    """Shares of the precision between 1/100 and 1 are met to 11 per cent, and most to far less."""
    amounts = dict(enumerate(np.geomspace(0.01, 1.0, 50).tolist()))
    weights = integer_weights(amounts, power=1)
    assert max(weights.values()) == MAX_WEIGHT
    for number, amount in amounts.items():
        assert weights[number] ** 2 / MAX_WEIGHT**2 == pytest.approx(amount, rel=0.11)
    assert integer_weights({"a": 1.0, "b": 0.0}, power=1)["b"] == 1


def test_weights_of_laplace_noise_are_in_lowest_terms() -> None:
    """A table alone has the weight 1: with 100, two parties would learn 63 instead of 2.3."""
    assert integer_weights({"a": 3.0}, power=2) == {"a": 1}
    assert integer_weights({"a": 3.0, "b": 3.0, "c": 0.75}, power=2) == {"a": 2, "b": 2, "c": 1}
    assert integer_weights({"a": 3.0}, power=1) == {"a": MAX_WEIGHT}
    run = sottovoce.run(columns="sex", parties=3, rows=300, seed=1, judge=False)
    assert 2 < run.reported.report.privacy.coalitions["2_parties"] < 2.5


@pytest.mark.usefixtures("few_weighted_rows")
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_follows_the_weights(monkeypatch: pytest.MonkeyPatch, delta: float) -> None:
    """Errors over their stated deviations have a mean square of 1, for all kinds of tables.

    The squares of n cells have a deviation of at most sqrt(5 / n) on average. The bound of 6
    deviations fails with a chance of about 1e-8 for independent cells; seeds are fixed.
    """
    table = many_labels()
    collected: list[MeasuredTable] = []
    learn = Estimation.learn

    def keep(self: Estimation, measured: Sequence[MeasuredTable]) -> None:
        collected.extend(measured)
        learn(self, measured)

    monkeypatch.setattr(Estimation, "learn", keep)
    squares: dict[str, list[float]] = {"single": [], "pair": [], "groups": []}
    for seed in range(30):
        collected.clear()
        done = sottovoce.run(
            "adaptive-pairs",
            table,
            aggregator="clear",
            judge=False,
            delta=delta,
            parties=3,
            seed=seed,
            rounds=2,
            epsilon=(1.0, 4.0, 16.0)[seed % 3],
        )
        assert done.domain is not None
        for measured in collected:
            exact = frequencies_of(table, done.domain, measured.table)
            errors = (measured.frequencies - exact) ** 2 / measured.variance
            grouped = any(measured.table.groupings)
            kind = "groups" if grouped else "single" if exact.ndim == 1 else "pair"
            squares[kind] += errors.reshape(-1).tolist()
    for values in squares.values():
        assert len(values) > 20
        assert np.mean(values) == pytest.approx(1.0, abs=6 * sqrt(5 / len(values)))


# ---- Plans


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_round_one_follows_from_public_sizes(delta: float) -> None:
    """All single attributes; larger ones have more weight."""
    protocol = instantiate(Job(protocol="adaptive-pairs", parameters={"delta": delta}))
    assert isinstance(protocol, module.AdaptivePairs)
    tables = protocol.rounds(domain_of(a=2, b=3, c=24), rows=100, parties=3).first_tables()
    weights = {table.attributes: table.weight for table in tables}
    assert list(weights) == [("a",), ("b",), ("c",)]
    exponent = 1 / 3 if delta else 1 / 2
    assert weights["c",] / weights["b",] == pytest.approx(8**exponent, rel=0.03)


def test_after_one_round_pairs_are_products() -> None:
    """No pair was planned or measured, and the estimate has the tables of all of them."""
    domain = domain_of(a=2, b=3, c=4)
    estimation = Estimation(domain, generator=np.random.default_rng(1))
    shares = {"a": [0.25, 0.75], "b": [0.5, 0.3, 0.2], "c": [0.1, 0.2, 0.3, 0.4]}
    estimation.learn(
        [
            MeasuredTable(PlannedTable((name,), 1), np.array(share), 1e-12)
            for name, share in shares.items()
        ]
    )
    tables = estimation.estimate().tables
    assert {*tables} == {*combinations("abc", 2)}
    for (x, y), table in tables.items():
        assert np.asarray(table.values) == pytest.approx(np.outer(shares[x], shares[y]), abs=1e-6)


def learnt(domain: Domain, correlated: float, *, precision: float) -> Estimation:
    """Measure even attributes a to d of six labels, of which a and b depend on each other."""
    estimation = Estimation(domain, generator=np.random.default_rng(1))
    even = np.full(6, 1 / 6)
    estimation.learn(
        [MeasuredTable(PlannedTable((name,), 1), even, 1e-9) for name in domain.attributes]
    )
    estimation.plan(table_precision=precision, power=1)
    dependent = (1 - correlated) * np.full((6, 6), 1 / 36) + correlated * np.eye(6) / 6
    tables = []
    for pair in combinations(domain.attributes, 2):
        values = dependent if pair == ("a", "b") else np.full((6, 6), 1 / 36)
        tables.append(MeasuredTable(PlannedTable(pair, 1), values, 1 / precision))
        estimation._levels[pair, ()] = 1
    estimation.learn(tables)
    return estimation


def test_a_later_round_leaves_out_what_is_sure() -> None:
    """Pairs that are surely products get little beside one whose dependence is open."""
    domain = domain_of(a=6, b=6, c=6, d=6)
    estimation = learnt(domain, 0.5, precision=1e6)
    tables = estimation.plan(table_precision=1e6, power=1)
    weights = {table.attributes: table.weight for table in tables if len(table.attributes) == 2}
    assert max(weights, key=lambda pair: weights[pair]) == ("a", "b")
    assert estimation.predicted is not None
    assert 0 < estimation.predicted < 0.01


def test_a_plan_rests_on_what_earlier_rounds_have_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first plan has no pairs to estimate; only the second one must discount paths itself."""
    planned: list[tuple[bool, bool]] = []

    def plan(*arguments: Any, **options: Any) -> Plan:
        planned.append((arguments[2] is None, options["discount_paths"]))
        return plan_tables(*arguments, **options)

    passes: list[tuple[int, bool]] = []

    def estimate(*arguments: Any, **options: Any) -> Any:
        passes.append((options["passes"], options["published"]))
        return estimate_all(*arguments, **options)

    monkeypatch.setattr("sottovoce.protocols.adaptive_pairs.estimation.plan_tables", plan)
    monkeypatch.setattr("sottovoce.protocols.adaptive_pairs.estimation.estimate_all", estimate)
    estimation = learnt(domain_of(a=6, b=6, c=6, d=6), 0.5, precision=1e6)
    for _ in range(2):
        estimation.plan(table_precision=1e6, power=1)
    estimation.estimate()
    assert planned == [(True, False), (False, True), (False, False)]
    # For a plan models are fitted once.
    assert passes == [(1, False), (1, False), (FINAL_PASSES, True)]


@pytest.mark.parametrize("power", [1, 2])
def test_tables_of_less_than_half_a_step_of_weight_are_left_out(power: int) -> None:
    """Shares are made from the weights that they get beside a table of weight 100."""
    weights = {"a": 100.0, "b": 0.2, "c": 0.51, "d": 1.4, "e": 0.49, "f": 2.6}
    shares = {name: (weight / 100) ** (2 / power) for name, weight in weights.items()}
    estimation = Estimation(
        domain_of(**dict.fromkeys("abcdef", 2)), generator=np.random.default_rng(1)
    )
    tables = estimation._planned(Plan(shares, {}, 0.1), power=power)
    assert {table.attributes[0]: table.weight for table in tables} == {
        "a": 100,
        "c": 1,
        "d": 1,
        "f": 3,
    }


@pytest.mark.parametrize("power", [1, 2])
def test_a_plan_spends_the_whole_round(power: int) -> None:
    """In rho squares of weights share the precision, in epsilon the weights share its root."""
    domain = domain_of(a=4, b=4, c=4, d=4)
    estimation = Estimation(domain, generator=np.random.default_rng(1))
    even = np.full(4, 0.25)
    estimation.learn([MeasuredTable(PlannedTable((name,), 1), even, 1e-5) for name in "abcd"])
    tables = estimation.plan(table_precision=1e5, power=power)
    # All amounts are equal. With Laplace noise (power 2) weights are in lowest terms.
    assert {table.weight for table in tables} == {MAX_WEIGHT if power == 1 else 1}
    assert estimation.predicted is not None
    rich = Estimation(domain, generator=np.random.default_rng(1))
    rich.learn([MeasuredTable(PlannedTable((name,), 1), even, 1e-5) for name in "abcd"])
    rich.plan(table_precision=1e7, power=power)
    assert rich.predicted is not None
    assert rich.predicted < estimation.predicted


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
    "at most 3 groupings of race": {
        "weights": [1] * 4,
        "lengths": [1] * 4,
        "attributes": [1] * 4,
        "groupings": [1, 2, 3, 4],
        "groups": [[0, 1, 2, 3, 0], [0, 1, 2, 2, 0], [0, 1, 1, 1, 0], [0, 0, 0, 0, 1]],
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


@pytest.mark.parametrize("field", ["weights", "lengths", "attributes", "groupings", "groups"])
def test_a_plan_has_lists_and_no_other_arrays(field: str) -> None:
    """The message is refused before anything of it is read, on either side of the wire."""
    good = good_plan()
    names = ("weights", "lengths", "attributes", "groupings", "groups")
    fields = {name: getattr(good, name) for name in names}
    for bad in (np.zeros((1, 1), np.uint8), np.array(1, np.uint8)):
        cast = bad.astype(np.uint16 if field in ("attributes", "groupings", "groups") else np.uint8)
        with pytest.raises(MisuseError, match=r"array of shape \(any\), found"):
            Plans.Plan(**fields | {field: (cast,) if field == "groups" else cast})


def test_a_curator_plans_no_more_groupings_than_parties_take() -> None:
    assert 1 + len(FURTHER_HALVINGS) <= MAX_GROUPINGS


def forge_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the curator send party 1 another plan than the others; all figures are the same."""
    broadcast = Curator.broadcast
    income_by_sex = [PlannedTable(("sex", "income"), 100)]
    income_by_race = [PlannedTable(("race", "income"), 100, ((0, 0, 0, 1, 1), ()))]

    def forged(desk: Curator, message: Any, **options: Any) -> None:
        if not isinstance(message, Plans.Plan):
            return broadcast(desk, message, **options)
        for party in desk.parties:
            tables = income_by_sex if party == 1 else income_by_race
            desk.send(plan_message(desk.domain, tables), to=party)
        return None

    monkeypatch.setattr(Curator, "broadcast", forged)
    monkeypatch.setattr(Estimation, "plan", lambda *_, **__: income_by_sex)


@pytest.mark.parametrize("aggregator", ["masks", "paillier"])
@pytest.mark.parametrize("unchecked", ["nobody", "curator", "curator and parties"])
def test_different_plans_for_different_parties_give_no_sum(
    aggregator: str, unchecked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Digests name who differs, and where nobody compares them masks do not cancel."""
    forge_plans(monkeypatch)

    def take(desk: Curator, *_: object, **__: object) -> None:
        desk.gather(SecureSums.Agreement)
        if unchecked == "curator":
            time.sleep(2)  # until parties have compared theirs

    if unchecked != "nobody":
        monkeypatch.setattr(star, "take_agreements", take)
    if unchecked == "curator and parties":
        monkeypatch.setattr(
            star,
            "require_agreement",
            lambda me, circle, **_: me.receive(SecureSums.Agreement, source=circle.before(me.rank)),
        )
    expected = {
        "nobody": "sent them different things",
        "curator": r"party \d has received the same as party \d",
        "curator and parties": "masks .*cancel",
    }[unchecked]
    with pytest.raises((RunFailed, MessageError), match=expected):
        run(
            parties=3,
            aggregator=aggregator,
            epsilon=50.0,
            noise="gaussian",
            rounds=2,
            **(KEYS if aggregator == "paillier" else {}),
        )


def test_pairs_of_too_many_cells_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal comes before any message, and names the attributes with the most labels."""
    labels = demo_table(3000, seed=5)[COLUMNS].nunique()
    cells = (int(labels.sum()) ** 2 - int((labels**2).sum())) // 2
    bound = "sottovoce.protocols.adaptive_pairs.rounds.MAX_PAIR_CELLS"
    monkeypatch.setattr(bound, cells - 1)
    with pytest.raises(
        UsageError, match=r"found relationship with 6, race with 5 .*: .*--drop relationship, or"
    ):
        run(parties=2)
    monkeypatch.setattr(bound, cells)
    assert run(parties=2, rounds=1).synthetic is not None


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


def test_names_of_groups_are_no_attributes_names() -> None:
    """Attributes whose names look like those that a party gives to its groups are counted."""
    domain = domain_of(**{"a": 3, "a 0": 2, "a 0'": 2})
    frame = pd.DataFrame({"a": list("0012210"), "a 0": list("0110101"), "a 0'": list("0000011")})
    tables = [PlannedTable(("a", "a 0"), 1, ((1, 0, 1), ())), PlannedTable(("a 0'",), 1)]
    pairs, single = count_tables(records_of(frame, domain), tables)
    assert pairs.tolist() == [1, 1, 2, 3]
    assert single.tolist() == [5, 2]


def test_grouped_tables_travel() -> None:
    """A run counts groups; the model and the forecast have them."""
    done = sottovoce.run(
        "adaptive-pairs", many_labels(), parties=2, aggregator="clear", seed=4, epsilon=0.5
    )
    groupings = [plan.get("groupings", []) for plan in done.model["rounds"]]
    assert any(any(map(any, tables)) for tables in groupings)
    assert done.domain is not None
    labels = done.domain.labels
    for plan in done.model["rounds"]:
        for names, table in zip(plan["tables"], plan.get("groupings", []), strict=False):
            for name, grouping in zip(names, table, strict=False):
                # Nothing is sent for an attribute whose labels all stand by themselves.
                assert len({*grouping}) < len(labels[name])
    for line in done.report["communication"]["predicted"]:
        assert line["payload_bytes"] == line["measured_payload_bytes"]


# ---- Runs


@pytest.mark.parametrize(("most", "named"), [(12, "c"), (1, "c"), (0, " and 1 more")])
def test_attributes_without_dependence_are_named(
    most: int, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Independent attributes are listed in the summary up to a number, and others are not."""
    monkeypatch.setattr("sottovoce.protocols.adaptive_pairs.publishing.MAX_NAMES", most)
    generator = np.random.default_rng(4)
    a = generator.integers(0, 3, 4000)
    table = pd.DataFrame(
        {"a": a, "b": (a + (generator.random(4000) < 0.1)) % 3, "c": generator.integers(0, 2, 4000)}
    ).astype(str)
    done = sottovoce.run(
        "adaptive-pairs", table, aggregator="clear", seed=1, epsilon=4.0, judge=False
    )
    summary = done.report["outcome"]
    assert summary["no dependence learnt of"] == named
    assert done.model is not None
    pairs = [[len(table) for table in plan["tables"]].count(2) for plan in done.model["rounds"]]
    assert pairs[0] == 0 < max(pairs)
    assert summary["pairs measured"] == f"{', '.join(map(str, pairs))} (of 3, by round)"
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
    assert {*done.report["outcome"]} >= {"pairs measured", "cliques"}
    assert "no dependence learnt of" not in done.report["outcome"]  # there is none to learn


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_where_noise_hides_everything_single_attributes_are_measured(delta: float) -> None:
    """With 20 rows nothing is predicted to gain; the budget is spent all the same."""
    done = sottovoce.run(
        "adaptive-pairs",
        demo_table(20, seed=5)[COLUMNS],
        aggregator="masks",
        seed=1,
        epsilon=0.05,
        delta=delta,
        judge=False,
    )
    assert all(plan["tables"] for plan in done.model["rounds"])
    assert done.report["privacy"]["epsilon"]["curator"] == pytest.approx(0.05, rel=1e-6)


def test_without_an_attribute_of_two_labels_nothing_is_run() -> None:
    with pytest.raises(UsageError, match="two labels or more, found none"):
        sottovoce.run("adaptive-pairs", pd.DataFrame({"one": ["x"] * 9}), aggregator="clear")


def test_the_law_with_less_noise_is_taken() -> None:
    """Many tables have Gaussian noise, and one table has Laplace noise."""
    protocol: Any = instantiate(Job(protocol="adaptive-pairs", parameters={"epsilon": 0.5}))
    for sizes, unit, rounds in (((3,) * 8, "rho", 5), ((2,), "epsilon", 1)):
        domain = domain_of(**{f"a{place}": size for place, size in enumerate(sizes)})
        public = Public(parties=3, rows=5000, key_bits=2048, domain=domain)
        assert protocol.unit_of_budget(public) == unit
        assert protocol.chosen(public)["rounds"] == rounds


@pytest.mark.parametrize("budget", [Budget.pure(0.1), Budget("rho", 0.001)])
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_rounds_share_the_whole_budget(budget: Budget, count: int) -> None:
    """A single round has all of it, and of more rounds each later one has the same growth."""
    rounds = Rounds(
        domain_of(a=2, b=3),
        budget,
        count=count,
        rows=1000,
        parties=4,
        colluding=1,
        noise="shares",
    )
    shares = rounds.shares
    assert len(shares) == count
    assert sum(shares) == pytest.approx(1)
    later = np.array(shares[1:])
    assert np.ptp(later[1:] / later[:-1]) < 1e-9 if count > 3 else min(shares) > 0
    assert sum(rounds.budget_of(number + 1).amount for number in range(count)) == pytest.approx(
        budget.amount
    )


@pytest.mark.parametrize("budget", [Budget.pure(0.1), Budget("rho", 0.001)])
def test_precision_grows_with_a_power_of_the_share(budget: Budget) -> None:
    """A tenth of a round's budget buys the precision of a round that has a tenth of it."""
    parts = {}
    for share in (1.0, 0.1):
        rounds = Rounds(
            domain_of(a=2, b=3),
            budget.share(share),
            count=1,
            rows=1000,
            parties=4,
            colluding=1,
            noise="shares",
        )
        parts[share] = rounds.table_precision(1)
    assert parts[0.1] / parts[1.0] == pytest.approx(0.1**rounds.power, rel=1e-3)


@pytest.mark.parametrize(("attributes", "tables"), [(1, 1), (3, 6), (9, 45), (10, 50), (20, 100)])
def test_the_noise_of_a_usual_round_by_hand(attributes: int, tables: int) -> None:
    """All attributes and all pairs, of more than nine attributes four pairs each, count alike.

    A table changes by 2 in L1 and by the root of 2 in L2, and the noise is wide beside 1.
    """
    domain = domain_of(**{f"a{place}": 3 for place in range(attributes)})
    cases = [
        (Budget.pure(0.1), 2 * (2 * tables / 0.1) ** 2),
        (Budget("rho", 0.001), tables / 0.001),
    ]
    for budget, variance in cases:
        rounds = Rounds(
            domain,
            budget,
            count=3,
            rows=1000,
            parties=4,
            colluding=1,
            noise="shares",
        )
        assert rounds.typical_deviation() == pytest.approx(sqrt(4 / 3 * variance), rel=1e-3)
        of_one = 1000**2 / (4 / 3 * variance / tables**rounds.power)  # per table, in shares
        assert replace(rounds, count=1).table_precision(1) == pytest.approx(of_one, rel=1e-3)


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
