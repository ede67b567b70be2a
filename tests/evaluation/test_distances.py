"""Distances, against pandas and against tables whose distances are known."""

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
from sottovoce.evaluation import dependence as dependence_module
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
        pd.DataFrame({name: records.codes(name) for name in attributes})
        for records in (real, synthetic)
    ]
    p, q = (frame.value_counts(normalize=True) for frame in frames)
    return float(p.sub(q, fill_value=0).abs().sum()) / 2


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_distances_are_pandas_own(ways: int) -> None:
    real = load(DEMO, schema=DEMO_SCHEMA)
    synthetic = load(demo_table(1500, seed=4), schema=DEMO_SCHEMA)
    result = distance(real, synthetic, ways=ways)
    marginals = list(combinations(real.domain.attributes, ways))
    expected = {
        attributes: plain(real, synthetic, attributes)
        for attributes in (marginals if ways < 3 else marginals[::9])
    }
    if ways < 3:
        assert result.average == pytest.approx(np.mean(list(expected.values())))
        assert result.worst == pytest.approx(max(expected.values()))
        assert expected[result.worst_marginal] == pytest.approx(result.worst)
    else:
        assert result.worst >= max(expected.values()) - 1e-12
    assert (result.marginals, result.of) == (len(marginals), len(marginals))


def test_a_table_is_itself_in_any_order() -> None:
    real = load(DEMO, schema=DEMO_SCHEMA)
    shuffled_table = load(DEMO.sample(frac=1, random_state=1), schema=DEMO_SCHEMA)
    for first, second in ((real, shuffled_table), (real.binary(), shuffled_table.binary())):
        result = distance(first, second, ways=2)
        assert result.average == 0
        assert result.worst == 0


def test_baselines() -> None:
    """The product of the margins and equal cells have the distances of the baselines."""
    domain = Domain({"a": ("0", "1"), "b": ("0", "1", "2")})
    real = Records(
        CodedTable([np.array([0, 0, 0, 1], np.uint8), np.array([0, 0, 1, 2], np.uint8)], domain)
    )
    each_cell_once = Records(
        CodedTable([np.arange(6, dtype=np.uint8) // 3, np.arange(6, dtype=np.uint8) % 3], domain)
    )
    product = [
        (a, b)
        for a, count_a in ((0, 3), (1, 1))
        for b, count_b in ((0, 2), (1, 1), (2, 1))
        for _ in range(count_a * count_b)
    ]
    independent = Records(
        CodedTable(
            [np.array([row[index] for row in product], np.uint8) for index in (0, 1)], domain
        )
    )
    result = distance(real, independent, ways=2)
    assert result.average == pytest.approx(result.one_way)
    assert distance(real, each_cell_once, ways=2).average == pytest.approx(result.uniform)


def test_too_many_marginals_are_sampled() -> None:
    domain = Domain({f"x{index}": ("0", "1") for index in range(60)})
    marginals = marginals_of(domain, ways=4, seed=1, limit=500)
    assert len(set(marginals)) == 500
    assert all(
        list(attributes) == sorted(attributes, key=domain.attributes.index)
        and len(set(attributes)) == 4
        for attributes in marginals
    )
    assert marginals == marginals_of(domain, ways=4, seed=1, limit=500)
    assert marginals != marginals_of(domain, ways=4, seed=2, limit=500)
    assert len(marginals_of(domain, ways=2, limit=2000)) == comb(60, 2)
    with pytest.raises(
        UsageError, match="--ways from 1 to the 60 attributes of the data, found 61"
    ):
        marginals_of(domain, ways=61)
    wide = Domain({f"x{index}": tuple(map(str, range(6000))) for index in range(3)})
    with pytest.raises(
        UsageError, match=r"marginals of x0 x x1 x x2 with fewer .* --drop x0, .* --ways 2"
    ):
        marginals_of(wide, ways=3)


def test_all_results_together() -> None:
    table = DEMO.assign(age=DEMO["age"] // 2)
    evaluation = sottovoce.evaluate(
        DEMO, table.sample(frac=1, random_state=0), ways=[1, 2], classify=["income"]
    )
    assert evaluation.schema == "inferred"
    assert evaluation.rows == RowCounts(real=2000, synthetic=2000)
    assert set(evaluation.tvd) == set(evaluation.tvd_binary) == {"1", "2"}
    original = next(
        result
        for result in evaluation.distances
        if result.ways == 1 and result.attributes == "original"
    )
    assert original.worst_marginal == ("age",)
    dependence = evaluation.dependence
    sex, income = (dependence.attributes.index(name) for name in ("sex", "income"))
    real = load(DEMO, schema=DEMO_SCHEMA)
    exact = mutual_information(
        Marginal.of(real.domain, ("sex", "income"), real.marginal(("sex", "income"))),
        ["sex"],
        base=2,
    )
    assert dependence.real[sex][income] == pytest.approx(exact, abs=1e-6)
    assert dependence.largest >= dependence.difference > 0
    assert evaluation.classification[0].target == "income"


def test_of_many_attributes_the_dependence_of_some_is_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = sottovoce.evaluate(DEMO, DEMO.sample(frac=0.5, random_state=0), ways=[1], binary=False)
    assert not whole.notes
    monkeypatch.setattr(dependence_module, "MAX_ATTRIBUTES", 6)
    some = sottovoce.evaluate(DEMO, DEMO.sample(frac=0.5, random_state=0), ways=[1], binary=False)
    names = some.dependence.attributes
    assert some.notes == ("compared the dependence of 6 of 15 attributes, drawn at random",)
    assert len(set(names)) == len(names) == 6
    places = [whole.dependence.attributes.index(name) for name in names]
    assert places == sorted(places)
    for matrix, full in (
        (some.dependence.real, whole.dependence.real),
        (some.dependence.synthetic, whole.dependence.synthetic),
    ):
        assert np.array_equal(matrix, np.array(full)[np.ix_(places, places)])
    first, second = (places[names.index(name)] for name in some.dependence.largest_pair)
    gap = abs(whole.dependence.real[first][second] - whole.dependence.synthetic[first][second])
    assert some.dependence.largest == pytest.approx(gap, abs=2e-6)


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
    evaluation = sottovoce.evaluate(
        tmp_path / "real.csv", tmp_path / "synthetic.csv", ways=[2], binary=False
    )
    assert evaluation.tvd == {"2": 0}
    assert evaluation.schema == str(tmp_path / "schema.json")


def test_columns_of_only_one_table() -> None:
    evaluation = sottovoce.evaluate(
        DEMO, DEMO.drop(columns="race").assign(extra=1), ways=[2], binary=False
    )
    assert evaluation.tvd == {"2": 0}
    assert evaluation.notes == (
        "left out, as only the real table has them: race",
        "left out, as only the synthetic table has them: extra",
    )
    with pytest.raises(UsageError, match="columns of the same names in both tables"):
        sottovoce.evaluate(DEMO[["age"]], DEMO[["sex"]])


def test_categories_that_the_real_table_lacks_count() -> None:
    real = pd.DataFrame({"a": ["x"] * 10, "b": ["y"] * 10})
    synthetic = pd.DataFrame({"a": ["x"] * 5 + ["z"] * 5, "b": ["y"] * 10})
    assert sottovoce.evaluate(real, synthetic, ways=[2]).tvd == {"2": 0.5}


def test_adult(adult: Any) -> None:
    """Shuffled columns are at the baseline, with the specification's figures for JTree's coding."""
    results = [distance(adult, shuffled(adult, seed=seed), ways=2) for seed in (1, 2)]
    assert results[0].one_way == pytest.approx(0.0741513, abs=1e-7)
    assert results[0].uniform == pytest.approx(0.7351705, abs=1e-7)
    assert all(abs(result.average - result.one_way) < 0.002 for result in results)
    assert distance(adult, shuffled(adult, seed=1), ways=3).one_way == pytest.approx(
        0.1642907, abs=1e-7
    )
    bits = distance(adult.binary(), adult.binary(), ways=2)
    assert (bits.marginals, bits.average) == (1326, 0)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_a_table_of_few_attributes_is_compared_as_far_as_it_goes(columns: int) -> None:
    """Without `ways` there are no marginals of more attributes than the tables have."""
    table = DEMO[list(DEMO.columns[:columns])]
    evaluation = sottovoce.evaluate(table, table, binary=False)
    assert [result.ways for result in evaluation.distances] == [2, 3][: columns - 1]
    with pytest.raises(UsageError, match=f"--ways from 1 to the {columns} attributes"):
        sottovoce.evaluate(table, table, ways=(2, columns + 1))
