"""FLAIM and AugFLAIM: the rules of every protocol, their budget, their scores and their tables."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from house_suites import SampledSuite, VariantSuite

import sottovoce
from sottovoce.curator import Estimate, Marginal
from sottovoce.curator.graphical_model import model_of
from sottovoce.messages import MessageError, Where
from sottovoce.privacy import Budget, Domain
from sottovoce.protocols.aim.workload import distances, workload_of
from sottovoce.protocols.flaim.choosing import measurable, shares_of, unlikeness
from sottovoce.protocols.flaim.messages import Messages, read_measured, read_shares
from sottovoce.protocols.flaim.parameters import FLAIMParameters
from sottovoce.protocols.flaim.plan import RoundPlan
from sottovoce.protocols.flaim.tables import counts_of_party

PROTOCOLS = ["flaim", "aug-flaim"]


class TestFLAIM(SampledSuite):
    protocol = "flaim"
    parameters: ClassVar[Mapping[str, Any]] = {"aggregator": "masks", "rounds": 4}
    rows = 300


class TestAugFLAIM(VariantSuite):
    protocol = "aug-flaim"
    parameters: ClassVar[Mapping[str, Any]] = {"aggregator": "masks", "rounds": 4}
    rows = 300


class TestAugFLAIMOfOneHolder(VariantSuite):
    protocol = "aug-flaim"
    parties = 1
    parameters: ClassVar[Mapping[str, Any]] = {"aggregator": "clear", "rounds": 3}
    rows = 300


DOMAIN = Domain({"a": ("0", "1"), "b": ("0", "1", "2"), "c": ("0", "1"), "d": ("0",)})
WORKLOAD = workload_of(DOMAIN, max_cells=100)
FAMILIES = [*WORKLOAD.weights]
WHERE = Where(rank=1, protocol="flaim", phase="rounds", step=1)


def tables_of(codes: np.ndarray) -> dict[tuple[str, ...], np.ndarray]:
    """Count all candidates of records with codes of a, b and c."""
    tables = {}
    for family in FAMILIES:
        columns = codes[:, ["abc".index(name) for name in family]]
        places = np.ravel_multi_index(tuple(columns.T), DOMAIN.shape(family))
        tables[family] = np.bincount(places, minlength=DOMAIN.cells(family))
    return tables


def any_codes(generator: np.random.Generator, rows: int) -> np.ndarray:
    return generator.integers(0, [2, 3, 2], (rows, 3))


def any_shares(generator: np.random.Generator) -> dict[str, np.ndarray]:
    return {name: generator.dirichlet(np.ones(DOMAIN.cells((name,)))) for name in "abc"}


# ---- The budget


@pytest.mark.parametrize("rounds", [1, 2, 10, 33])
@pytest.mark.parametrize("remeasures", [False, True])
def test_the_parts_of_a_run_add_up_to_its_budget(rounds: int, remeasures: bool) -> None:
    """Every table has the same noise, and a record pays for its own tables and choices alone."""
    whole = Budget("rho", 0.02)
    plan = RoundPlan.of(DOMAIN, FLAIMParameters(rounds=rounds), whole=whole, remeasures=remeasures)
    batches = [plan.batch(number, (("a", "b"), ("c",))) for number in range(1, rounds + 1)]
    spent = plan.singles.batch.rho or 0
    spent += sum(batch.rho or 0 for batch in batches) + rounds * plan.choice.amount
    assert spent == pytest.approx(whole.amount)
    deviations = {round(batch.deviation, 9) for batch in (plan.singles.batch, *batches)}
    assert len(deviations) == 1
    assert plan.tables_until(rounds) == 3 + rounds + (3 * (rounds - 1) if remeasures else 0)
    assert plan.cells_allowed(rounds) == plan.max_cells
    # In every round a model may have the share of the cells that tables have of their budget.
    counted = np.cumsum([batch.rho or 0 for batch in (plan.singles.batch, *batches)])
    allowed = [plan.cells_allowed(number) / plan.max_cells for number in range(rounds + 1)]
    assert allowed == pytest.approx((counted / counted[-1]).tolist())


def test_without_pairs_single_attributes_take_the_whole_budget() -> None:
    domain = Domain({"a": ("0", "1"), "d": ("0",)})
    whole = Budget("rho", 0.02)
    plan = RoundPlan.of(domain, FLAIMParameters(), whole=whole, remeasures=True)
    assert not plan.has_pairs
    assert plan.singles.batch.rho == whole.amount


@pytest.mark.parametrize("remeasures", [False, True])
def test_a_record_is_in_one_chosen_table_however_many_are_summed(remeasures: bool) -> None:
    """For neighbours of every kind, the batch's sensitivity bounds the change, and is reached."""
    plan = RoundPlan.of(
        DOMAIN, FLAIMParameters(rounds=3), whole=Budget("rho", 0.1), remeasures=remeasures
    )
    measured = (("a", "b"), ("b", "c"), ("a",))
    singles = plan.singles_in(1)
    assert singles == ((("a",), ("b",), ("c",)) if remeasures else ())
    batch = plan.batch(1, measured)
    generator = np.random.default_rng(3)
    largest = 0
    for _ in range(300):
        codes = any_codes(generator, 4)
        other = codes.copy()
        other[0] = any_codes(generator, 1)
        for own in measured:
            before, after = (
                np.concatenate([*counts_of_party(tables_of(rows), singles, measured, choice=own)])
                for rows in (codes, other)
            )
            assert len(before) == batch.cells
            change = before - after
            assert np.abs(change).sum() <= batch.sensitivity
            largest = max(largest, int((change**2).sum()))
    assert largest == batch.squares


# ---- Scores


def test_scores_change_by_no_more_than_their_sensitivity_and_reach_it() -> None:
    """Records are replaced in random tables: FLAIM's score moves by 2, and AugFLAIM's by 4."""
    generator = np.random.default_rng(5)
    naive = augmented = 0.0
    for _ in range(3000):
        rows = int(generator.integers(1, 6))
        codes = any_codes(generator, rows)
        other = codes.copy()
        other[0] = any_codes(generator, 1)
        shares = any_shares(generator)
        model = model_of(
            DOMAIN,
            {
                pair: 3 * generator.normal(size=DOMAIN.shape(pair))
                for pair in (("a", "b"), ("b", "c"))
            },
        )
        near, far = (
            (
                distances(tables, model, FAMILIES, rows=rows),
                unlikeness(tables, shares, FAMILIES, rows=rows),
            )
            for tables in map(tables_of, (codes, other))
        )
        naive = max(naive, float(np.abs(near[0] - far[0]).max()))
        augmented = max(augmented, float(np.abs((near[0] - near[1]) - (far[0] - far[1])).max()))
    assert 1.9 < naive <= 2 + 1e-9
    assert 2.5 < augmented <= 4 + 1e-9


@pytest.mark.parametrize("rows", [1, 5, 200])
def test_f1_a_record_moves_a_share_by_nearly_twice_what_the_public_code_takes(rows: int) -> None:
    """Counts are divided by their sum there, and an added record changes all of them.

    All records have label 0, the added one has label 1. The distance from a model in which all have
    label 0 goes from 0 to 2 / (n + 1), and the code takes 1 / n.
    """
    model = np.array([1.0, 0.0])
    before = np.array([rows, 0]) / rows
    after = np.array([rows, 1]) / (rows + 1)
    change = np.abs(after - model).sum() - np.abs(before - model).sum()
    assert change == pytest.approx(2 / (rows + 1))
    assert change * rows == pytest.approx(2 * rows / (rows + 1))  # 1, 1.67, 1.99 times the code's


def test_unlikeness_is_the_mean_distance_of_single_attributes() -> None:
    tables = tables_of(np.array([[0, 0, 0], [0, 1, 0], [0, 2, 1], [1, 2, 1]]))
    shares = {"a": np.array([0.5, 0.5]), "b": np.full(3, 1 / 3), "c": np.array([0.5, 0.5])}
    values = dict(zip(FAMILIES, unlikeness(tables, shares, FAMILIES, rows=4), strict=True))
    assert values[("a",)] == pytest.approx(2)  # 3 and 1, not 2 and 2
    assert values[("b",)] == pytest.approx(2 * 1 / 3 + 2 / 3)
    assert values[("c",)] == pytest.approx(0)
    assert values[("a", "b")] == pytest.approx((2 + 4 / 3) / 2)


# ---- The tables of a round


def test_tables_that_together_would_make_the_model_too_large_are_left_out() -> None:
    """Those of most rows come first, and the first is always measured."""
    domain = Domain({name: tuple("012") for name in "abcd"})
    singles = [(name,) for name in "abcd"]
    chosen = {1: ("a", "b"), 2: ("b", "c"), 3: ("b", "c"), 4: ("a", "c"), 5: ("b", "c")}
    rows = [10, 20, 30, 60, 0]
    settings: dict[str, Any] = {"rows": rows, "terms": singles}
    everything = measurable(domain, chosen, **settings, max_cells=1000)
    assert everything == [("a", "c"), ("b", "c"), ("a", "b")]  # 60, 50 and 10 rows
    assert measurable(domain, chosen, **settings, max_cells=21) == everything[:2]
    assert measurable(domain, chosen, **settings, max_cells=1) == everything[:1]
    # What the model has already costs nothing.
    again = measurable(domain, {1: ("a",), 2: ("b",)}, rows=[1, 2], terms=singles, max_cells=12)
    assert again == [("b",), ("a",)]


@pytest.mark.parametrize(
    ("tables", "match"),
    [
        (((0, 1), (0, 1)), "expected different tables, found 2 of which 1 are different"),
        (((3,),), "expected an attribute or a pair of the workload"),
        (((0, 1, 2),), "expected an attribute or a pair of the workload"),
    ],
)
def test_only_different_tables_of_the_workload_are_counted(
    tables: tuple[tuple[int, ...], ...], match: str
) -> None:
    right = Messages.Measured(((0, 1), (2,)))
    assert read_measured(right, WORKLOAD, where=WHERE) == (("a", "b"), ("c",))
    with pytest.raises(MessageError, match=match):
        read_measured(Messages.Measured(tables), WORKLOAD, where=WHERE)


@pytest.mark.parametrize("shares", [np.zeros(6), np.zeros(8), np.array([np.nan] * 7)])
def test_malformed_shares_are_refused(shares: np.ndarray) -> None:
    right = read_shares(np.arange(7.0), WORKLOAD, where=WHERE)
    assert {name: len(values) for name, values in right.items()} == {"a": 2, "b": 3, "c": 2}
    with pytest.raises(MessageError, match="expected the shares of 7 labels"):
        read_shares(shares, WORKLOAD, where=WHERE)


def test_shares_of_nothing_are_none() -> None:
    assert shares_of([], rows=0).size == 0


@pytest.mark.parametrize(("rows", "shares"), [(0, [3.0, -1.0]), (1, [3.0, -1.0]), (2, [1.5, -0.5])])
def test_shares_of_few_rows_are_numbers(rows: int, shares: list[float]) -> None:
    """Where nobody has a record there is noise alone, and it is divided by 1."""
    noisy = [Estimate(Marginal(("a",), np.array([3.0, -1.0])), 1.0)]
    assert shares_of(noisy, rows=rows).tolist() == shares


# ---- Runs


def correlated(rows: int) -> pd.DataFrame:
    """A chain of four attributes, and one that stands alone."""
    generator = np.random.default_rng(5)
    columns = {"a": generator.integers(0, 3, rows)}
    for name, before in (("b", "a"), ("c", "b"), ("d", "c")):
        noise = generator.random(rows) < 0.1
        columns[name] = np.where(noise, generator.integers(0, 3, rows), columns[before])
    columns["e"] = generator.integers(0, 2, rows)
    return pd.DataFrame(columns).astype(str)


SCHEMA = {**{name: ["0", "1", "2"] for name in "abcd"}, "e": ["0", "1"]}


def distance(first: pd.DataFrame, second: pd.DataFrame, pair: tuple[str, ...]) -> float:
    shares = [table.groupby([*pair]).size() / len(table) for table in (first, second)]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum()) / 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_with_little_noise_all_pairs_are_right(protocol: str) -> None:
    """Parties are alike, so a table of one of them is that of all, but for its sampling error."""
    table = correlated(6000)
    run = sottovoce.run(
        protocol,
        table,
        schema=SCHEMA,
        parties=3,
        epsilon=100.0,
        aggregator="masks",
        seed=1,
        judge=False,
    )
    assert run.synthetic is not None
    assert len(run.synthetic) == len(table)
    for pair in combinations("abcde", 2):
        # A table of 2,000 rows and 9 cells is about .02 from that of 6,000.
        assert distance(table, run.synthetic, pair) < 0.05, pair
    assert run.model is not None
    assert len(run.model["rounds"]) == 10
    for entry in run.model["rounds"]:
        assert [choice["party"] for choice in entry["choices"]] == [1, 2, 3]
        chosen = {tuple(choice["attributes"]) for choice in entry["choices"]}
        assert {*map(tuple, entry["measured"])} == chosen
        if protocol == "aug-flaim":  # single attributes are measured in every round anyway
            assert {len(family) for family in chosen} == {2}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_everything_sent_is_predicted(protocol: str) -> None:
    run = sottovoce.run(
        protocol,
        correlated(900),
        schema=SCHEMA,
        parties=3,
        rounds=3,
        aggregator="masks",
        seed=2,
        judge=False,
    )
    lines = run.report["communication"]["predicted"]
    assert {"Model", "Chosen", "Measured"} <= {line["kind"] for line in lines}
    for line in lines:
        assert line["messages"] == line["measured_messages"], line
        assert line["payload_bytes"] == line["measured_payload_bytes"], line


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_forecast_of_many_parties_has_a_choice_of_each(protocol: str) -> None:
    """What few parties chose in a play says how long a choice is, and not how many there are."""
    plan = sottovoce.plan(
        protocol,
        parties=30,
        rows=900,
        columns=["sex", "income", "race"],
        rounds=3,
        aggregator="masks",
        method="predicted",
        seed=2,
    )
    [chosen] = [line for line in plan.forecast.lines if line.kind == "Chosen"]
    [model] = [line for line in plan.forecast.lines if line.kind == "Model"]
    assert chosen.messages == model.messages == 30 * 3


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_record_pays_the_whole_budget_and_no_more(protocol: str) -> None:
    """Every view has the whole rho: tables are in nobody's view but with full noise.

    The Gaussian loss of tables and choices together implies a little less than the claim.
    """
    run = sottovoce.run(
        protocol,
        correlated(900),
        schema=SCHEMA,
        parties=4,
        rounds=5,
        epsilon=0.7,
        aggregator="masks",
        seed=2,
        judge=False,
    )
    privacy, whole = run.report["privacy"], Budget.of(0.7, delta=1e-9).amount
    assert set(privacy["epsilon"]) == {"public", "curator", "other_party"}
    for view, loss in privacy["epsilon"].items():
        assert privacy["rho"][view] == pytest.approx(whole, rel=1e-6), view
        assert 0.96 * 0.7 < loss < 0.7
