"""Noisy marginals: the laws of every protocol, its counts and their noise."""

from __future__ import annotations

import io
import json
import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from house_suites import SampledSuite, VariantSuite

import sottovoce
from sottovoce.privacy import Domain
from sottovoce.privacy.conversion import epsilon_at
from sottovoce.privacy.gaussian_loss import gaussian_of
from sottovoce.protocols.noisy_marginals import NoisyMarginals, NoisyMarginalsParameters
from sottovoce.protocols.secure_sum import SumBatch

FEW = {"marginals": "sex, sex*race", "key_bits": 256, "insecure_test_keys": True}
ADULT = Path(os.environ.get("SOTTOVOCE_DATA", "")) / "adult" / "adult_jtree_coarse.csv.gz"


class TestPaillier(SampledSuite):
    protocol = "noisy-marginals"
    parameters = FEW


class TestMasks(VariantSuite):
    protocol = "noisy-marginals"
    parameters = FEW | {"aggregator": "masks"}


class TestPaper(VariantSuite):
    protocol = "noisy-marginals"
    parameters = FEW
    mode = "paper"


class TestAlone(VariantSuite):
    protocol = "noisy-marginals"
    parameters = FEW
    parties = 1


TABLE = pd.DataFrame({"colour": ["red", "blue", "red", "green"] * 6, "size": [1, 2] * 12})


@pytest.mark.parametrize("aggregator", ["paillier", "masks", "clear"])
def test_the_counts_are_right(aggregator: str) -> None:
    run = sottovoce.run(
        "noisy-marginals",
        TABLE,
        parties=3,
        seed=2,
        epsilon=900,
        aggregator=aggregator,
        key_bits=256,
        insecure_test_keys=True,
    )
    assert run.marginals is not None
    written = pd.read_csv(io.BytesIO(run.files["marginals.csv"]), dtype=str, keep_default_na=False)
    assert (written["low"].astype(int) <= written["count"].astype(int)).all()
    found = {
        tuple(row[:-1]): int(row[-1]) for row in written.drop(columns=["low", "high"]).to_numpy()
    }
    assert len(found) == 3 + 2 + 6
    for colour, count in TABLE["colour"].value_counts().items():
        assert found["colour", colour, "", ""] == count
    for size, count in TABLE["size"].value_counts().items():
        assert found["size", str(size), "", ""] == count
    for (colour, size), count in TABLE.value_counts(["colour", "size"]).items():  # type: ignore[misc]
        assert found["colour", colour, "size", str(size)] == count
    assert run.report["outcome"]["marginals"] == 3


def test_without_noise_the_demo_marginals_are_exact() -> None:
    """All 105 two-way tables of 15 attributes are equal to the real ones."""
    run = sottovoce.run(
        "noisy-marginals", rows=400, ways=2, epsilon=1000, aggregator="masks", seed=3
    )
    from sottovoce.parties import DEMO_SCHEMA, Records
    from sottovoce.parties.demo import demo_table

    records = Records(demo_table(400, seed=3), schema=DEMO_SCHEMA)
    exact = np.concatenate(
        [records.marginal(pair) for pair in combinations(DEMO_SCHEMA.domain.attributes, 2)]
    )
    assert run.marginals is not None
    # Scale 0.21: a cell is off by one or more with probability 0.017, by 12 with 1e-24.
    assert np.abs(run.marginals["count"].to_numpy() - exact).max() < 12


def test_the_noise_has_the_stated_variance() -> None:
    run = sottovoce.run(
        "noisy-marginals", rows=400, ways=2, epsilon=1.0, delta=0, aggregator="masks", seed=3
    )
    assert run.marginals is not None
    # Most of the 17,000 cells count nobody.
    noise = run.marginals["count"].to_numpy()
    said = float(run.report["outcome"]["noise"].split()[2])
    assert noise.std() == pytest.approx(said, rel=0.08)
    assert said == pytest.approx(np.sqrt(1.5 * 2) * 210, rel=0.01)


def test_gaussian_noise_has_the_stated_variance() -> None:
    """105 tables at a loss of g have cells of variance 105 / g; two of three shares are full."""
    run = sottovoce.run(
        "noisy-marginals", rows=400, ways=2, epsilon=1.0, delta=1e-9, aggregator="masks", seed=3
    )
    assert run.marginals is not None
    noise = run.marginals["count"].to_numpy()
    said = float(run.report["outcome"]["noise"].split()[2])
    assert noise.std() == pytest.approx(said, rel=0.08)
    assert said == pytest.approx(np.sqrt(1.5 * 105 / gaussian_of(1.0, delta=1e-9)), rel=0.001)
    assert 0.98 < run.report["privacy"]["epsilon"]["curator"] <= 1


@pytest.mark.parametrize("parties", [1, 2, 3, 30, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 4.0, 8.0, 16.0])
@pytest.mark.parametrize("tables", [1, 2, 6, 20])
def test_of_all_budgets_the_one_with_least_noise_is_taken(
    parties: int, epsilon: float, tables: int
) -> None:
    """Noise of many narrow shares is wider than their budget alone would have it."""
    domain = Domain(dict.fromkeys("abcd", ("x", "y", "z")))
    names = [*domain.attributes, *(f"{a}*{b}" for a, b in combinations(domain.attributes, 2))]
    names += [f"{a}*{b}*{c}" for a, b, c in combinations(domain.attributes, 3)]
    names += [f"{b}*{a}" for a, b in combinations(domain.attributes, 2)]
    parameters = NoisyMarginalsParameters(epsilon=epsilon, marginals=",".join(names[:tables]))
    protocol = NoisyMarginals(parameters, mode="rigorous")

    def deviation(batch: SumBatch) -> float:
        noisy = batch.among(parties=parties, rows=10, colluding=min(1, parties - 1))
        return noisy.scale if noisy.rho is not None else np.sqrt(2) * noisy.scale

    batch = protocol.batch(domain, parties=parties)
    for budget in protocol.budgets:
        other = SumBatch.of(
            budget, cells=batch.cells, sensitivity=batch.sensitivity, squares=2 * tables
        )
        assert deviation(batch) <= deviation(other)
    loss = batch.among(parties=parties, rows=10, colluding=min(1, parties - 1)).loss
    assert epsilon_at(loss, delta=1e-9) <= epsilon * (1 + 1e-9)


@pytest.mark.skipif(not ADULT.exists(), reason="SOTTOVOCE_DATA names no folder with Adult")
def test_the_counts_of_adult_are_within_their_noise() -> None:
    run = sottovoce.run(
        "noisy-marginals",
        ADULT,
        parties=3,
        epsilon=0.8,
        seed=1,
        ways=1,
        key_bits=512,
        insecure_test_keys=True,
    )
    table = pd.read_csv(ADULT, dtype=str)
    assert run.marginals is not None
    sex = run.marginals[run.marginals["attribute_1"] == "sex"].set_index("value_1")["count"]
    # Scale 37.5: 2,000 away with probability 1e-22.
    assert abs(int(sex.iloc[0]) - int((table["sex"] == "0").sum())) < 2000
    assert run.report["rows"] == 45_222


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ways": "x"}, "expected ways such as 1,2"),
        ({"ways": "0,1"}, "expected ways such as 1,2"),
        ({"ways": 16}, "up to the 15 attributes"),
        ({"ways": 9}, "found native-country with 41, .*--drop native-country"),
        ({"marginals": "age*foo"}, "expected an attribute of the data"),
        ({"marginals": "sex*sex"}, "different attributes"),
        ({"marginals": "sex, sex"}, "different marginals"),
        ({"noise": "selected"}, "--mode paper"),
        ({"noise": "selected", "aggregator": "masks", "mode": "paper"}, "aggregator=paillier"),
        ({"colluding": 3}, "fewer colluding parties"),
        ({"colluding": -1}, "colluding"),
        ({"key_bits": 1024}, "--insecure-test-keys"),
        ({"key_bits": 2049}, "even"),
        ({"key_bits": 64, "insecure_test_keys": True, "epsilon": 1e-17}, "epsilon"),
    ],
)
def test_bad_input_is_refused(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(sottovoce.SottovoceError, match=message):
        sottovoce.run("noisy-marginals", rows=60, **parameters)  # type: ignore[arg-type]


def test_weak_options_are_warned_of() -> None:
    few = {"rows": 60, "marginals": "sex", "key_bits": 256, "insecure_test_keys": True, "seed": 1}
    paper = sottovoce.run("noisy-marginals", mode="paper", **few).report  # type: ignore[arg-type]
    assert any("with probability 1/3" in warning for warning in paper["warnings"])
    assert paper["privacy"]["epsilon"] == {
        "public": 1.0,
        "curator": 1.0,
        "other_party": float("inf"),
    }
    clear = sottovoce.run("noisy-marginals", aggregator="clear", **few).report  # type: ignore[arg-type]
    assert any("protects nothing" in warning for warning in clear["warnings"])
    assert clear["privacy"]["epsilon"]["curator"] > 1
    assert any("256 bits protect nothing" in warning for warning in clear["warnings"])
    inferred = sottovoce.run("noisy-marginals", TABLE, aggregator="masks").report
    assert any("inferred" in warning for warning in inferred["warnings"])
    assert inferred["seed"] is None


def test_a_schema_gives_the_labels(tmp_path: Path) -> None:
    schema = {"colour": ["red", "green", "blue", "white"], "size": {"edges": [0, 1, 5]}}
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(schema))
    for given in (schema, path, str(path)):
        run = sottovoce.run(
            "noisy-marginals", TABLE, schema=given, aggregator="masks", epsilon=900, seed=1, ways=1
        )
        assert run.marginals is not None
        assert run.marginals["value_1"].tolist() == [
            "red",
            "green",
            "blue",
            "white",
            "[0, 1]",
            "(1, 5]",
        ]
        assert run.marginals["count"].tolist() == [12, 6, 6, 0, 12, 12]
        assert not any("inferred" in warning for warning in run.report["warnings"])


def test_the_declared_messages_are_those_of_secure_sums() -> None:
    assert NoisyMarginals.needs_schema
    assert {kind.__name__ for kind in NoisyMarginals.kinds()} == {
        "Introduction",
        "Encapsulation",
        "Rows",
        "RowsByParty",
        "EncryptionKey",
        "Agreement",
        "Encrypted",
        "Product",
        "Masked",
        "Unprotected",
        "Indicator",
        "Permutation",
        "Continue",
        "Roster",
        "SealedPieces",
        "OwnKey",
        "MissingKeys",
        "OpenedPieces",
    }
