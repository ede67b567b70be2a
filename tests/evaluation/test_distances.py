"""The judge's distances, against pandas' tables and against tables whose distances are known."""

from __future__ import annotations

from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce import UsageError
from sottovoce.curator import Marginal, mutual_information
from sottovoce.evaluation.distances import distance, marginals_of
from sottovoce.evaluation.utility import RowCounts
from sottovoce.parties import DEMO_SCHEMA, Records, load
from sottovoce.parties.counting import CodedTable
from sottovoce.parties.demo import demo_table
from sottovoce.privacy import Domain

DEMO = demo_table(2000, seed=3)


def shuffled(records: Records, *, seed: int) -> Records:
    """Permute every column by itself."""
    generator = np.random.default_rng(seed)
    codes = [generator.permutation(records.codes(name)) for name in records.domain.attributes]
    return Records(CodedTable(codes, records.domain))


def plain(real: Records, synthetic: Records, attributes: tuple[str, ...]) -> float:
    frames = [
        pd.DataFrame({name: own.codes(name) for name in attributes}) for own in (real, synthetic)
    ]
    p, q = (frame.value_counts(normalize=True) for frame in frames)
    return float(p.sub(q, fill_value=0).abs().sum()) / 2


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_distances_are_pandas_own(ways: int) -> None:
    real = load(DEMO, schema=DEMO_SCHEMA)
    synthetic = load(demo_table(1500, seed=4), schema=DEMO_SCHEMA)
    found = distance(real, synthetic, ways=ways)
    chosen = list(combinations(real.domain.attributes, ways))
    expected = {own: plain(real, synthetic, own) for own in (chosen if ways < 3 else chosen[::9])}
    if ways < 3:
        assert found.average == pytest.approx(np.mean(list(expected.values())))
        assert found.worst == pytest.approx(max(expected.values()))
        assert expected[found.worst_marginal] == pytest.approx(found.worst)
    else:
        assert found.worst >= max(expected.values()) - 1e-12
    assert (found.marginals, found.of) == (len(chosen), len(chosen))


def test_a_table_is_itself_in_any_order() -> None:
    real = load(DEMO, schema=DEMO_SCHEMA)
    mixed = load(DEMO.sample(frac=1, random_state=1), schema=DEMO_SCHEMA)
    for one, other in ((real, mixed), (real.binary(), mixed.binary())):
        found = distance(one, other, ways=2)
        assert found.average == 0
        assert found.worst == 0


def test_floors() -> None:
    """Ten times the rows of a product have the distance of the product; every cell once is
    uniform.
    """
    domain = Domain({"a": ("0", "1"), "b": ("0", "1", "2")})
    real = Records(
        CodedTable([np.array([0, 0, 0, 1], np.uint8), np.array([0, 0, 1, 2], np.uint8)], domain)
    )
    every = Records(
        CodedTable([np.arange(6, dtype=np.uint8) // 3, np.arange(6, dtype=np.uint8) % 3], domain)
    )
    product = [
        (a, b)
        for a, times in ((0, 3), (1, 1))
        for b, more in ((0, 2), (1, 1), (2, 1))
        for _ in range(times * more)
    ]
    independent = Records(
        CodedTable([np.array([row[at] for row in product], np.uint8) for at in (0, 1)], domain)
    )
    found = distance(real, independent, ways=2)
    assert found.average == pytest.approx(found.one_way)
    assert distance(real, every, ways=2).average == pytest.approx(found.uniform)


def test_too_many_marginals_are_sampled() -> None:
    domain = Domain({f"x{at}": ("0", "1") for at in range(60)})
    chosen = marginals_of(domain, ways=4, seed=1, limit=500)
    assert len(set(chosen)) == 500
    assert all(
        list(own) == sorted(own, key=domain.attributes.index) and len(set(own)) == 4
        for own in chosen
    )
    assert chosen == marginals_of(domain, ways=4, seed=1, limit=500)
    assert chosen != marginals_of(domain, ways=4, seed=2, limit=500)
    assert len(marginals_of(domain, ways=2, limit=2000)) == comb(60, 2)
    with pytest.raises(
        UsageError, match="--ways from 1 to the 60 attributes of the data, found 61"
    ):
        marginals_of(domain, ways=61)
    wide = Domain({f"x{at}": tuple(map(str, range(6000))) for at in range(3)})
    with pytest.raises(
        UsageError, match="at most 134,217,728 cells, found 216,000,000,000 in x0 x x1 x x2"
    ):
        marginals_of(wide, ways=3)


def test_the_whole_judgement() -> None:
    table = DEMO.assign(age=DEMO["age"] // 2)
    found = sottovoce.evaluate(
        DEMO, table.sample(frac=1, random_state=0), ways=[1, 2], classify=["income"]
    )
    assert found.schema == "inferred"
    assert found.rows == RowCounts(real=2000, synthetic=2000)
    assert set(found.tvd) == set(found.tvd_binary) == {"1", "2"}
    original = next(
        result for result in found.distances if result.ways == 1 and result.attributes == "original"
    )
    assert original.worst_marginal == ("age",)
    dependence = found.dependence
    sex, income = (dependence.attributes.index(name) for name in ("sex", "income"))
    real = load(DEMO, schema=DEMO_SCHEMA)
    exact = mutual_information(
        Marginal.of(real.domain, ("sex", "income"), real.marginal(("sex", "income"))),
        ["sex"],
        base=2,
    )
    assert dependence.real[sex][income] == pytest.approx(exact, abs=1e-6)
    assert dependence.largest >= dependence.difference > 0
    assert found.classification[0].target == "income"


def test_labels_of_bins_are_read_beside_numbers(tmp_path: Path) -> None:
    real = load(DEMO, schema=DEMO_SCHEMA)
    published = real.domain.decode([real.codes(name) for name in real.domain.attributes])
    schema = tmp_path / "given.json"
    from sottovoce.parties import write_schema

    schema.write_text(write_schema(DEMO_SCHEMA))
    assert sottovoce.evaluate(DEMO, published, schema=schema, ways=[2], binary=False).tvd == {
        "2": 0
    }
    published.to_csv(tmp_path / "synthetic.csv", index=False)
    DEMO.to_csv(tmp_path / "real.csv", index=False)
    schema.rename(tmp_path / "schema.json")
    found = sottovoce.evaluate(
        tmp_path / "real.csv", tmp_path / "synthetic.csv", ways=[2], binary=False
    )
    assert found.tvd == {"2": 0}
    assert found.schema == str(tmp_path / "schema.json")


def test_columns_of_one_table_alone() -> None:
    found = sottovoce.evaluate(
        DEMO, DEMO.drop(columns="race").assign(extra=1), ways=[2], binary=False
    )
    assert found.tvd == {"2": 0}
    assert found.notes == (
        "left out, as only the real table has them: race",
        "left out, as only the synthetic table has them: extra",
    )
    with pytest.raises(UsageError, match="columns of the same names in both tables"):
        sottovoce.evaluate(DEMO[["age"]], DEMO[["sex"]])


def test_categories_that_the_real_table_lacks_count() -> None:
    real = pd.DataFrame({"a": ["x"] * 10, "b": ["y"] * 10})
    made = pd.DataFrame({"a": ["x"] * 5 + ["z"] * 5, "b": ["y"] * 10})
    assert sottovoce.evaluate(real, made, ways=[2]).tvd == {"2": 0.5}


def test_adult(adult: Any) -> None:
    """Independent columns are the floor; the issue's and the specifications' figures for the JTree
    coding.
    """
    found = [distance(adult, shuffled(adult, seed=seed), ways=2) for seed in (1, 2)]
    assert found[0].one_way == pytest.approx(0.0741513, abs=1e-7)
    assert found[0].uniform == pytest.approx(0.7351705, abs=1e-7)
    assert all(abs(own.average - own.one_way) < 0.002 for own in found)
    assert distance(adult, shuffled(adult, seed=1), ways=3).one_way == pytest.approx(
        0.1642907, abs=1e-7
    )
    bits = distance(adult.binary(), adult.binary(), ways=2)
    assert (bits.marginals, bits.average) == (1326, 0)
