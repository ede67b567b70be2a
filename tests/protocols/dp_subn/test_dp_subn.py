"""DP-SUBN: the laws of every protocol for each variant, and what the variants publish."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from house_suites import SampledSuite, VariantSuite

import sottovoce
from sottovoce import UsageError
from sottovoce.evaluation.distances import distance
from sottovoce.parties import load, read_schema
from sottovoce.parties.demo import demo_table
from sottovoce.protocols import Public
from sottovoce.report.making import make_report
from sottovoce.runs.instance import instantiate
from sottovoce.runs.made_up import run_on_made_up, with_schema
from sottovoce.runs.settings import settings as settings_of

KEYS: dict[str, Any] = {"key_bits": 512, "insecure_test_keys": True}


class TestConformance(SampledSuite):
    protocol = "dp-subn"
    parameters: ClassVar[dict[str, Any]] = {"epsilon": 4.0, "aggregator": "masks"}
    rows = 3000


class TestConformanceOnBits(VariantSuite):
    protocol = "dp-subn"
    parameters: ClassVar[dict[str, Any]] = {
        "epsilon": 8.0,
        "attributes": "binary",
        "aggregator": "masks",
        "largest_view": 6,
        "theta": 40.0,
    }
    rows = 2000
    parties = 2


class TestConformanceWithPaillier(VariantSuite):
    protocol = "dp-subn"
    parameters: ClassVar[dict[str, Any]] = {"epsilon": 4.0, **KEYS}
    rows = 3000


def run(**parameters: Any) -> sottovoce.Run:
    given: dict[str, Any] = {
        "rows": 8000,
        "seed": 3,
        "aggregator": "masks",
        "epsilon": 4.0,
        **parameters,
    }
    return sottovoce.run("dp-subn", **given)


def test_the_synthetic_table_has_all_rows_attributes_and_labels() -> None:
    done = run()
    assert done.synthetic is not None
    assert done.labels is not None
    assert len(done.synthetic) == 8000
    assert list(done.synthetic.columns) == list(demo_table(1).columns)
    assert done.domain is not None
    for name, labels in done.domain.labels.items():
        assert set(done.labels[name].astype(str)) <= set(labels)
    assert set(done.model["parents"]) == set(done.domain.attributes)
    two, three = (own for own in done.judgement["utility"]["distances"])
    assert two["average"] < two["one_way"]
    assert three["average"] < three["one_way"]


@pytest.mark.usefixtures("few_weighted_rows")
def test_epsilon_is_spent_and_not_exceeded() -> None:
    for settings in ({}, {"attributes": "binary", "largest_view": 6}, {"epsilon": 0.01}):
        privacy = run(**settings).report["privacy"]
        for party, own in privacy["by_party"].items():
            assert own["public"] <= privacy["claimed_epsilon"] * (1 + 1e-9), party
            assert own["public"] == pytest.approx(privacy["claimed_epsilon"], rel=0.2)
        assert all(
            value <= privacy["claimed_epsilon"] * (1 + 1e-9)
            for value in privacy["epsilon"].values()
        )


def test_without_a_network_single_attributes_get_all_of_epsilon() -> None:
    done = run(epsilon=0.01, delta=0)
    assert done.report["outcome"]["network"] == "none worth its noise: one-way tables"
    assert [phase["name"] for phase in done.report["phases"]] == [
        "keys",
        "correlations",
        "synthesis",
    ]
    (release,) = {release["epsilon"] for release in done.report["privacy"]["releases"]}
    assert release == 0.01
    text = "no table of two attributes is worth its noise"
    assert any(text in warning for warning in done.report["warnings"])
    assert not any(text in warning for warning in run().report["warnings"])


@pytest.mark.usefixtures("few_weighted_rows")
@pytest.mark.parametrize(
    "settings",
    [
        {"budget": "0.5,0.1,0,0.4"},
        {"attributes": "binary", "views": "algorithm-2", "theta": 40.0},
        {"attributes": "binary", "views": "pairs", "budget": "0.4,0,0.1,0.5"},
        {"attributes": "binary", "largest_view": 4, "updates": 2},
        {"synthetic_rows": 500},
        {"parties": 1},
        {"parties": 5, "colluding": 2},
    ],
    ids=str,
)
def test_parameters_that_go_together_run(settings: dict[str, Any]) -> None:
    done = run(rows=4000, epsilon=20.0, **settings)
    assert done.synthetic is not None
    assert len(done.synthetic) == settings.get("synthetic_rows", 4000)
    assert max(done.report["privacy"]["epsilon"].values()) <= 20 * (1 + 1e-9)
    if "budget" in settings and settings.get("attributes") != "binary":
        assert "edges" in done.report["outcome"]["network"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": "0.5,0,0,0.5"}, "a share of the budget for phase 2, initialisation"),
        ({"budget": "0,0.5,0,0.5"}, "a share of the budget for phase 1, correlations"),
        ({"budget": "0.2,0.2,0.2,0.4"}, "no share of the budget for phase 3, update"),
        ({"init": "mst"}, "init=edges, found mst: attributes=original goes with"),
        ({"views": "pairs"}, "views=one-way, found pairs"),
        ({"score": "I"}, "score=R, found I"),
        ({"attributes": "binary", "score": "R"}, "score=I, found R"),
        ({"attributes": "binary", "views": "one-way"}, "views=nocd or algorithm-2 or priview"),
        ({"attributes": "binary", "init": "em"}, "init=mst, found em: attributes=binary goes with"),
        ({"attributes": "binary", "update": "none"}, "update=joint, found none"),
        ({"attributes": "binary", "budget": "0.5,0,0,0.5"}, "the budget for phase 3, update"),
        (
            {"attributes": "binary", "budget": "0.2,0.1,0.1,0.6"},
            "no share of the budget for phase 2",
        ),
        (
            {"attributes": "binary", "update": "sequential", "updates": 2},
            "updates=1 for update=sequential",
        ),
        ({"mode": "paper", "attributes": "original"}, "mode paper goes with attributes=binary"),
        ({"mode": "paper", "update": "joint"}, "update=replace, found joint"),
        ({"mode": "paper", "aggregator": "masks"}, "aggregator=paillier for update=replace"),
        ({"budget": "1,1,1,1"}, "four shares that sum to 1"),
        ({"theta": 0}, "parameter theta"),
        ({"theta": float("inf")}, "parameter theta"),
        ({"budget": "nan,0.1,0,0.9"}, "four shares that sum to 1"),
        ({"epsilon": 5e-324}, "epsilon"),
        ({"views": "all"}, "parameter views"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        run(**settings)


def test_the_error_on_adult_is_below_the_baselines(adult: Any) -> None:
    """The mean of four runs at K = 3 is below one-way tables, independent parties and the target.

    The target is that of a trusted holder: .089, .065, .050, .045.
    """
    table = adult.domain.decode([adult.codes(name) for name in adult.domain.attributes])
    schema = {name: list(labels) for name, labels in adult.domain.labels.items()}
    for epsilon, most in ((0.2, 0.089), (0.4, 0.066), (0.8, 0.0515), (1.6, 0.045)):
        errors = []
        for seed in range(4):
            done = sottovoce.run(
                "dp-subn",
                table,
                schema=schema,
                epsilon=epsilon,
                seed=seed,
                aggregator="masks",
                judge=False,
            )
            assert done.synthetic is not None
            synthetic = load(done.synthetic, schema=read_schema(schema))
            errors.append(distance(adult, synthetic, ways=2).average)
        assert np.mean(errors) < most, epsilon


class TestConformanceAsPrinted(SampledSuite):
    protocol = "dp-subn"
    mode = "paper"
    parameters: ClassVar[dict[str, Any]] = {
        "epsilon": 30.0,
        "theta": 500.0,
        "theta_frontier": 100.0,
        **KEYS,
    }
    rows = 900


@pytest.mark.parametrize(("parties", "paid"), [(2, [1.25, 1.0]), (3, [1.5, 1.25, 1.0])])
def test_the_printed_algorithm_exceeds_its_claim(parties: int, paid: list[float]) -> None:
    """Known answer 16: towards the curator party k pays epsilon (1 + (K - k) / 4).

    No epsilon holds against another party.
    """
    table = demo_table(1500, seed=2)[["age", "sex", "race", "income", "relationship"]]
    done = sottovoce.run(
        "dp-subn", table, parties=parties, mode="paper", epsilon=8.0, seed=1, **KEYS
    )
    privacy = done.report["privacy"]
    for own, times in zip(privacy["by_party"].values(), paid, strict=True):
        assert own["curator"] == pytest.approx(8 * times)
        assert own["public"] == pytest.approx(8 * times)
        assert own["other_party"] == float("inf")
    assert any(
        f"party 1 pays {8 * paid[0]:g}, {paid[0]:.3g} times as much" in text
        for text in done.report["warnings"]
    )
    claimed = [
        sum(r["epsilon"] for r in privacy["releases"] if r["party"] == own)
        for own in range(1, parties + 1)
    ]
    assert claimed == pytest.approx([8.0] * parties)
    assert {r["mechanism"] for r in privacy["releases"]} == {
        "selected-laplace",
        "exponential",
        "replaced-laplace",
    }


def test_the_printed_algorithm_runs_with_a_single_bit() -> None:
    """No phase depends on there being pairs."""
    done = sottovoce.run(
        "dp-subn",
        demo_table(300, seed=2)[["sex"]],
        parties=2,
        mode="paper",
        epsilon=40.0,
        seed=1,
        **KEYS,
    )
    assert done.synthetic is not None
    assert len(done.synthetic) == 300
    assert not [text for text in done.report["warnings"] if "predicted" in text]


def test_without_a_network_single_bits_get_all_of_epsilon() -> None:
    """The k = 0 rule: without phases 2 to 4, one batch of single bits has all of epsilon."""
    done = run(rows=3000, attributes="binary", epsilon=0.1, delta=0)
    assert done.report["outcome"]["network"] == "none worth its noise: one-way tables"
    assert [(r["phase"], r["epsilon"]) for r in done.report["privacy"]["releases"]] == [
        ("correlations", 0.1)
    ] * 3


def test_without_an_edge_single_attributes_are_counted_again() -> None:
    generator = np.random.default_rng(1)
    table = pd.DataFrame({name: generator.integers(0, 4, 6000).astype(str) for name in "abcd"})
    done = sottovoce.run("dp-subn", table, seed=1, epsilon=3.0, aggregator="masks")
    assert done.report["privacy"]["epsilon"]["public"] == pytest.approx(3.0)
    assert "parameters" in {release["phase"] for release in done.report["privacy"]["releases"]}


@pytest.mark.parametrize("attributes", ["original", "binary"])
def test_tables_of_few_attributes_and_labels_run(attributes: str) -> None:
    few = pd.DataFrame({"a": ["x", "y", "x"], "b": ["u", "v", "w"], "c": ["1"] * 3})
    for table in (few, few[["a"]], few[["a", "c"]]):
        done = sottovoce.run(
            "dp-subn", table, seed=1, epsilon=500.0, aggregator="masks", attributes=attributes
        )
        assert done.synthetic is not None
        assert len(done.synthetic) == 3
    if attributes == "binary":
        with pytest.raises(
            UsageError, match="two or more labels for attributes=binary, found none"
        ):
            sottovoce.run("dp-subn", few[["c"]], seed=1, aggregator="masks", attributes=attributes)


def test_sequential_updates_keep_epsilon() -> None:
    done = run(
        rows=3000,
        attributes="binary",
        update="sequential",
        budget="0.3,0,0.1,0.6",
        epsilon=30.0,
        largest_view=6,
    )
    assert done.report["privacy"]["epsilon"] == {
        "public": 30.0,
        "curator": 30.0,
        "other_party": 30.0,
    }
    assert done.report["communication"]["by_kind"]["Noisy"]["messages"] == 3


def test_replacement_is_refused_in_mode_rigorous() -> None:
    with pytest.raises(UsageError, match="update=joint, found replace"):
        run(attributes="binary", update="replace", aggregator="paillier", **KEYS)


ON_BITS: dict[str, Any] = {"attributes": "binary", "largest_view": 6, "epsilon": 60.0, "rows": 2000}


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "paper", "aggregator": "paillier", **ON_BITS, **KEYS},
        {"update": "joint", "updates": 2, **ON_BITS},
        {"update": "sequential", "aggregator": "clear", **ON_BITS},
        {"views": "algorithm-2", **ON_BITS},
        {"aggregator": "paillier", "parties": 2, **KEYS},
        {},
    ],
)
def test_the_predicted_cost_is_exact(options: dict[str, Any]) -> None:
    """The forecast has every message to the byte, where all parties chose as many as they may.

    Otherwise it bounds the lengths of choices alone: only the parties know who chose fewer.
    """
    table = demo_table(2000, seed=2)[["age", "sex", "race", "income", "relationship"]]
    given = {"epsilon": 4.0, "aggregator": "masks", **options}
    done = sottovoce.run(
        "dp-subn", table, seed=1, **{name: value for name, value in given.items() if name != "rows"}
    )
    exchanged = done.report["communication"]
    for line in exchanged["predicted"]:
        assert line["messages"] == line["measured_messages"], line
        if line["at_most"]:
            assert line["kind"] == "Chosen"
            assert line["measured_payload_bytes"] <= line["payload_bytes"]
        else:
            assert line["payload_bytes"] == line["measured_payload_bytes"], line
    assert {line["kind"] for line in exchanged["predicted"]} == set(exchanged["by_kind"])


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("parties", [2, 3, 5, 8])
@pytest.mark.parametrize("init", ["edges", "forest"])
def test_choices_in_turn_are_predicted(init: str, parties: int, lasting: bool) -> None:
    """Who sends choices to whom in each round is as in the ledger, and is known before the run."""
    if lasting and parties == 2:
        pytest.skip("nobody can be lost of two")
    names = ["age", "sex", "race", "income", "relationship", "education"]
    options: dict[str, Any] = {"on_loss": "continue"} if lasting else {}
    for epsilon in (1.0, 20.0):
        chosen = {"init": init, "aggregator": "masks"}
        job = with_schema(
            settings_of(
                {
                    "protocol": "dp-subn",
                    "parties": parties,
                    "columns": names,
                    "epsilon": epsilon,
                    "seed": 1,
                    "set": chosen,
                    **options,
                }
            ).job
        )
        record = run_on_made_up(job, rows=4000)
        lines = make_report(record).communication.predicted or []
        assert all(line.right for line in lines)
        assert sum(line.messages for line in lines) == len(record.entries)
        assert record.schema is not None
        public = Public(
            parties=parties,
            rows=4000,
            key_bits=job.key_bits,
            domain=record.schema.domain,
            lasting=lasting,
        )
        before = list(instantiate(job).predict(public) or [])
        in_turn = [line for line in before if line.hops]
        assert [line.kind for line in in_turn] == ["Chosen", "ChosenBefore"][: 1 + lasting]
        for line in in_turn:
            sent: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
            size = 0
            for entry in record.entries:
                if (entry.phase, entry.kind) == (line.phase, line.kind):
                    sent[entry.round].add((entry.sender, entry.receiver))
                    size += entry.payload_bytes
            assert [sent[number] for number in sorted(sent)] == [
                {*product(hop.senders, hop.receivers)} for hop in line.hops
            ]
            assert sum(hop.messages for hop in line.hops) == line.messages
            assert size <= line.payload_bytes + 16 * line.messages, "with a seal of 16 bytes each"


def test_the_papers_formulas_are_beside_the_measured_bytes() -> None:
    done = run(aggregator="paillier", **{**ON_BITS, "epsilon": 30.0}, **KEYS)
    lines = {line["phase"]: line for line in done.report["communication"]["formulas"]}
    assert list(lines) == ["correlations", "update", "parameters"]
    for phase, line in lines.items():
        sent = sum(
            own["payload_bytes"] for own in done.ledger.to_dict("records") if own["phase"] == phase
        )
        assert line["measured_bytes"] == sent
        assert line["measured_bytes"] < line["corrected_bytes"] <= line["printed_bytes"], phase
        assert line["measured_rounds"] <= 5
    bits = sum(2 ** len(family) for family in done.model["counted"])
    assert lines["parameters"]["corrected_rounds"] == bits
    assert lines["parameters"]["corrected_bytes"] == 2 * 3 * 128 * bits


@pytest.mark.parametrize("settings", [{"updates": 2}, {"updates": 3}, {"update": "sequential"}])
def test_a_joint_frontier_costs_every_party(settings: dict[str, Any]) -> None:
    """Every party sends two ciphertexts for each cell of a joint frontier.

    For a frontier in turn only one party does.
    """
    done = run(rows=2000, attributes="binary", largest_view=6, epsilon=60.0, **settings)
    (line,) = (
        line for line in done.report["communication"]["formulas"] if line["phase"] == "update"
    )
    assert line["corrected_bytes"] == 2 * 768 * line["corrected_rounds"] * (
        1 if "update" in settings else 3
    )


def test_priview_is_refused_on_original_attributes() -> None:
    with pytest.raises(UsageError, match="views=one-way, found priview: attributes=original"):
        run(views="priview")
    done = run(attributes="binary", views="priview", rows=3000, epsilon=30.0)
    assert (
        len(
            {
                r["sensitivity"]
                for r in done.report["privacy"]["releases"]
                if r["phase"] == "correlations"
            }
        )
        == 1
    )


@pytest.mark.parametrize("init", ["forest", "edges"])
@pytest.mark.parametrize(("wanted", "rows"), [({}, 40), ({"synthetic_rows": 25}, 25)])
def test_few_rows_pay_for_no_edge_and_make_a_table_of_single_attributes(
    init: str, wanted: dict[str, int], rows: int
) -> None:
    """It has the rows that are asked for, and the forecast has the same messages."""
    done = run(
        rows=40,
        columns=["sex", "income"],
        parties=2,
        init=init,
        epsilon=0.02,
        judge=False,
        **wanted,
    )
    assert done.synthetic is not None
    assert len(done.synthetic) == rows
    communication = done.report["communication"]
    assert [*communication["by_phase"]] == ["keys", "correlations"]
    for line in communication["predicted"]:
        for figure in ("messages", "payload_bytes"):
            assert line[figure] == line[f"measured_{figure}"]
