"""Private schemas: the laws of every protocol, what is learnt, and a run that learns its schema."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from house_suites import SampledSuite

import sottovoce
from sottovoce import UsageError
from sottovoce.parties import Bins, Categories, Records, Schema
from sottovoce.privacy.conversion import epsilon_at
from sottovoce.privacy.loss import Loss
from sottovoce.protocols.one_way import OneWay
from sottovoce.runs.identities import write_identity

ROWS = 6000
PLAN = {"*": "private", "grade": {"categories": ["a", "b"], "other": "c"}}


def people(rows: int = ROWS, *, seed: int = 4) -> pd.DataFrame:
    """Make a table of numbers, texts, absent values, and a text that one person alone has."""
    generator = np.random.default_rng(seed)
    town = generator.choice(["Bath", "York", "?"], p=[0.5, 0.3, 0.2], size=rows).astype(object)
    town[17] = "Nowhere"
    return pd.DataFrame(
        {
            "height": generator.normal(170, 10, rows).round(1),
            "wealth": np.where(
                generator.random(rows) < 0.5, 0, generator.lognormal(8, 1, rows)
            ).round(),
            "town": town,
            "grade": generator.choice(["a", "b", "z"], size=rows),
        }
    )


def learn(table: Any, **options: Any) -> Schema:
    settings = {"seed": 1, "aggregator": "masks", "judge": False, "epsilon": 8.0, **options}
    schema = sottovoce.run("private-schema", table, **settings).record.schema
    assert schema is not None
    return schema


class TestConformance(SampledSuite):
    protocol = "private-schema"
    parameters: ClassVar[dict[str, Any]] = {"aggregator": "masks", "epsilon": 4.0}


@pytest.mark.parametrize("parties", [1, 3])
def test_what_is_learnt(parties: int) -> None:
    table = people()
    rules = learn(table, parties=parties, schema=PLAN).attributes
    assert list(rules) == ["height", "wealth", "town", "grade"]
    height, wealth, town, grade = rules.values()
    assert isinstance(height, Bins)
    assert isinstance(wealth, Bins)
    shares = np.arange(1, len(height.edges) - 1) / (len(height.edges) - 1)
    ranks = np.searchsorted(np.sort(table["height"]), height.edges[1:-1], side="right") / ROWS
    assert np.abs(ranks - shares).max() < 0.05
    assert 0.0 in wealth.edges
    assert town == Categories(categories=("Bath", "York"), other="(other)", missing="category")
    assert grade == Categories(categories=("a", "b"), other="c")


def test_bins_have_as_many_rows_though_half_the_parties_were_lost_in_between() -> None:
    """The first counts are of twice as many rows as the finer ones, and all are fitted together."""
    table = people()
    dying = [f"party {party} dies after 10 messages" for party in (3, 4)]
    options: dict[str, Any] = {"seed": 1, "aggregator": "masks", "judge": False, "epsilon": 8.0}
    lossy: dict[str, Any] = {"parties": 4, "on_loss": "continue", "min_parties": 2, "fault": dying}
    run = sottovoce.run("private-schema", table, schema=PLAN, **options, **lossy)
    assert [loss.batches_with for loss in run.record.losses] == [1, 1]
    assert run.record.schema is not None
    height = run.record.schema.attributes["height"]
    assert isinstance(height, Bins)
    shares = np.arange(1, len(height.edges) - 1) / (len(height.edges) - 1)
    ranks = np.searchsorted(np.sort(table["height"]), height.edges[1:-1], side="right") / ROWS
    assert np.abs(ranks - shares).max() < 0.05


def test_a_rare_text_and_an_identifier_are_in_no_message(tmp_path: Any) -> None:
    """Thresholds at this epsilon are above 100, so what few people have never passes."""
    table = people().assign(name=[f"person {number}" for number in range(ROWS)])
    run = sottovoce.run(
        "private-schema", table, parties=2, seed=1, aggregator="masks", judge=False, epsilon=4.0
    )
    everything = b"".join(run.files.values()).decode()
    assert "Nowhere" not in everything
    assert "person 7" not in everything
    assert run.record.schema is not None
    assert run.record.schema.attributes["name"] == Categories(categories=(), other="(other)")


@pytest.mark.parametrize("protocol", ["one-way", "noisy-marginals"])
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_a_run_that_learns_its_schema_spends_its_epsilon_once(protocol: str, share: float) -> None:
    run = sottovoce.run(
        protocol,
        people(),
        schema=PLAN,
        schema_share=share,
        epsilon=4.0,
        seed=1,
        aggregator="masks",
    )
    privacy = run.report["privacy"]
    assert privacy["claimed_epsilon"] == 4.0
    # What texts leave of delta makes the epsilon of a run in rho a little smaller.
    assert 3.9 < privacy["epsilon"]["public"] <= 4.0 * (1 + 1e-9)
    assert 0 < privacy["delta"] <= run.report["parameters"]["delta"]
    spent = [release for release in run.record.releases if release.party == 1]
    learnt = [release.loss for release in spent if release.phase == "schema"]
    assert 1 < len(learnt) < len(spent)
    whole, part = (
        Loss(
            sum(loss.epsilon for loss in losses),
            sum(loss.rho for loss in losses),
            sum(loss.delta for loss in losses),
        )
        for losses in ([release.loss for release in spent], learnt)
    )
    measure = "epsilon" if np.isfinite(whole.epsilon) else "rho"
    assert getattr(part, measure) == pytest.approx(share * getattr(whole, measure), rel=1e-6)
    assert epsilon_at(whole, delta=1e-9) <= 4.0 * (1 + 1e-9)
    assert next(iter(run.report["outcome"])) == "schema learnt"
    assert not any("inferred" in warning for warning in run.report["warnings"])
    schema = json.loads(run.files["schema.json"])
    assert list(schema) == ["height", "wealth", "town", "grade"]
    assert run.judgement["utility"]["tvd"]["2"] < 0.5


@pytest.mark.parametrize("epsilon", [4.0, 10.0])
@pytest.mark.parametrize("protocol", ["one-way", "adaptive-pairs"])
def test_a_schema_and_sums_that_alone_have_a_larger_budget_keep_epsilon(
    protocol: str, epsilon: float
) -> None:
    """The noise of the schema is narrow, so that no Gaussian loss is known of it."""
    table = pd.DataFrame(np.random.default_rng(1).normal(size=(1500, 4)), columns=[*"abcd"])
    options: dict[str, Any] = {"seed": 1, "aggregator": "masks", "judge": False}
    run = sottovoce.run(
        protocol, table, schema={"*": "private"}, epsilon=epsilon, noise="gaussian", **options
    )
    assert 0.9 * epsilon < run.report["privacy"]["epsilon"]["public"] <= epsilon * (1 + 1e-9)


def test_the_schema_that_a_run_leaves_is_one_to_give() -> None:
    run = sottovoce.run("private-schema", people(), seed=1, aggregator="masks", epsilon=8.0)
    schema = json.loads(run.files["schema.json"])
    again = sottovoce.run("one-way", people(seed=9), schema=schema, seed=1, aggregator="masks")
    assert again.record.schema == run.record.schema


def test_columns_that_noise_hides_get_one_bin() -> None:
    run = sottovoce.run(
        "private-schema", people(60), seed=1, aggregator="masks", epsilon=0.01, judge=False
    )
    assert run.record.schema is not None
    unknown = run.report["outcome"]["range unknown"].split(", ")
    assert unknown
    assert all(len(run.record.schema.attributes[name].labels) == 1 for name in unknown)


@pytest.mark.parametrize(
    ("protocol", "options", "message"),
    [
        ("head-count", {"schema": "private"}, "needs no schema"),
        ("calm", {"schema": "private"}, "expected --schema private with secure sums"),
        ("one-way", {"schema": "private", "mode": "paper"}, "in mode rigorous"),
        ("one-way", {"schema": {"height": ["x"]}, "schema_share": 0.2}, "say --schema private"),
        ("private-schema", {"schema": {"height": ["x"]}}, "with something to learn"),
        ("private-schema", {"delta": 0}, "expected a delta above 0 to learn 'height'"),
        ("private-schema", {"schema": {"weight": "private"}}, "expected columns of .* 'weight'"),
        ("one-way", {"schema": PLAN | {"grade": ["a", "b"]}}, "a category of grade"),
    ],
)
def test_mistakes_are_one_clear_line(protocol: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sottovoce.run(protocol, people(200), seed=1, **options)


def test_numbers_alone_need_no_delta() -> None:
    plan = {"height": {"private": "numbers", "bins": 4}}
    run = sottovoce.run(
        "private-schema", people(), schema=plan, delta=0, epsilon=2.0, seed=1, aggregator="masks"
    )
    assert run.record.schema is not None
    assert len(run.record.schema.attributes["height"].labels) == 4
    assert run.report["privacy"]["delta"] == 0


def test_parties_with_other_columns_are_named() -> None:
    tables = [people(50), people(50).rename(columns={"town": "city"})]
    with pytest.raises(UsageError, match="found others at party 2 than at party 1"):
        sottovoce.run("private-schema", tables, seed=1, aggregator="masks")


class GuardedOneWay(OneWay):
    """One-way tables as a plug-in has them: its parts are replayed on other records."""

    name = "guarded-one-way"

    @classmethod
    def variant(cls, parameters: Any, *, mode: Any) -> type[GuardedOneWay]:
        return cls


def test_replays_of_a_plug_in_find_every_message_accounted() -> None:
    """The guard plays each part again on other raw records, the stage included."""
    run = sottovoce.run(
        f"{__name__}:GuardedOneWay",
        people(300),
        schema=PLAN,
        epsilon=4.0,
        seed=1,
        aggregator="masks",
        judge=False,
        parties=2,
    )
    assert run.report["privacy"]["not_accounted"] == []
    assert "was played again" in run.report["privacy"]["check"]


@pytest.mark.mpi
def test_a_run_that_learns_is_the_same_over_mpi() -> None:
    options: dict[str, Any] = {
        "schema": PLAN,
        "seed": 3,
        "aggregator": "masks",
        "epsilon": 4.0,
        "judge": False,
    }
    first, second = (
        sottovoce.run("one-way", people(500), transport=transport, transcript=True, **options)
        for transport in ("threads", "mpi")
    )
    assert first.report["transcript"] == second.report["transcript"]
    assert first.files["schema.json"] == second.files["schema.json"]


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([7] * 900, 1),
        ([None] * 900, 1),
        (["?"] * 900, 1),
        (["007"] * 400 + ["008"] * 500, 2),
        (["seven"] * 900, 1),
        ([True] * 500 + [False] * 400, 2),
        ([1e300] * 400 + [-1e300] * 500, 2),
        ([np.inf] * 900, 1),
        ([0.0] * 900, 1),
        (["1"] * 500 + ["one"] * 400, 2),
    ],
)
def test_odd_columns(values: list[object], labels: int) -> None:
    """Every value has a code in what is learnt, and what differs often enough has another one."""
    table = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    run = sottovoce.run(
        "one-way",
        table,
        schema="private",
        schema_share=0.5,
        epsilon=40.0,
        seed=1,
        parties=2,
        aggregator="masks",
    )
    assert run.record.schema is not None
    records = Records(table, schema=run.record.schema)
    assert len(records) == 900
    assert len(np.unique(records.codes("a"))) == labels


@pytest.mark.parametrize("aggregator", ["clear", "paillier"])
def test_other_aggregators(aggregator: str) -> None:
    keys: dict[str, Any] = {"key_bits": 512, "insecure_test_keys": True}
    run = sottovoce.run(
        "one-way", people(400), schema=PLAN, seed=1, aggregator=aggregator, epsilon=6.0, **keys
    )
    assert run.record.schema is not None
    assert list(run.record.schema.attributes) == ["height", "wealth", "town", "grade"]


def test_with_identities_from_before_the_run(tmp_path: Any) -> None:
    """All that the stage sends is sealed."""
    for rank in range(3):
        write_identity(tmp_path, rank=rank)
    run = sottovoce.run(
        "one-way",
        people(400),
        schema=PLAN,
        seed=1,
        parties=2,
        aggregator="masks",
        epsilon=6.0,
        identities=tmp_path,
    )
    assert run.report["phases"][0]["name"] == "introductions"
    assert run.report["privacy"]["not_accounted"] == []
