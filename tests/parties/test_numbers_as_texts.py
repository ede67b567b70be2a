"""Digits that are no numbers: codes with zeros before them, and columns that hold texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.messages import UsageError
from sottovoce.parties import Bins, Categories, blocks, infer, load, merge, read_schema
from sottovoce.parties.number_texts import choose_form
from sottovoce.parties.profile import profile_table
from sottovoce.parties.proposing import propose
from sottovoce.parties.raw import RawTable
from sottovoce.parties.records import texts_of

ROWS = 400


def column_of(texts: list[str], dtype: Any) -> pd.DataFrame:
    drawn = np.random.default_rng(3).choice(np.array(texts, dtype=object), ROWS)
    return pd.DataFrame({"code": pd.Series(drawn, dtype=dtype)})


def rule_of(*tables: pd.DataFrame | str) -> Categories | Bins:
    return merge([infer(blocks(table)) for table in tables]).attributes["code"]


@pytest.mark.parametrize("dtype", [object, str, "string", "string[pyarrow]"])
def test_texts_of_a_frame_stay_texts(dtype: str) -> None:
    if dtype == "string[pyarrow]":
        pytest.importorskip("pyarrow")
    table = column_of(["1", "2", "30"], dtype)
    rule = rule_of(table)
    assert isinstance(rule, Categories)
    assert (rule.kind, rule.categories) == ("texts", ("1", "2", "30"))
    run = sottovoce.run("one-way", data=table, parties=2, seed=1, epsilon=1.0)
    assert run.synthetic is not None
    assert {*run.synthetic["code"]} <= {"1", "2", "30"}


def test_numbers_of_a_file_and_of_number_columns_are_numbers(tmp_path: Path) -> None:
    table = column_of(["1", "2", "30"], object)
    table.to_csv(tmp_path / "table.csv", index=False)
    for source in (str(tmp_path / "table.csv"), table.astype(int)):
        rule = rule_of(source)
        assert isinstance(rule, Categories)
        assert rule.kind == "integers"


def test_one_party_with_texts_is_enough() -> None:
    """Its digits may be codes; those of a party whose column has words say nothing of it."""
    numbers, texts = column_of(["1", "2"], object).astype(int), column_of(["2", "3"], object)
    rule = rule_of(numbers, texts)
    assert isinstance(rule, Categories)
    assert (rule.kind, rule.categories) == ("texts", ("1", "2", "3"))
    nothing = pd.DataFrame({"code": pd.Series([None] * 5, dtype=object)})
    rule = rule_of(numbers, nothing)
    assert isinstance(rule, Categories)
    assert rule.kind == "integers"


def test_codes_with_zeros_before_them_have_no_bins(tmp_path: Path) -> None:
    codes = [f"{number:05}" for number in range(0, 20_000, 200)]
    table = column_of(codes, object)
    table.to_csv(tmp_path / "table.csv", index=False)
    for source in (str(tmp_path / "table.csv"), table):
        rule = rule_of(source)
        assert isinstance(rule, Categories)
        assert rule.kind == "texts"
        assert {*rule.categories} <= {*codes}


def test_many_numbers_in_a_column_of_texts_are_refused_with_the_way_out() -> None:
    table = column_of([str(number) for number in range(10_000, 10_100)], object)
    with pytest.raises(UsageError, match=r"in a column of texts: convert it, with astype\(float\)"):
        rule_of(table)
    assert isinstance(rule_of(table.astype(float)), Bins)
    assert isinstance(rule_of(table.astype("category")), Categories)


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_an_infinite_number_is_named(infinite: float) -> None:
    numbers = np.random.default_rng(4).normal(size=ROWS)
    numbers[17] = infinite
    with pytest.raises(UsageError, match="expected finite numbers in 'code', found an infinite"):
        rule_of(pd.DataFrame({"code": numbers}))


def test_a_proposal_takes_the_type_at_its_word() -> None:
    table = column_of(["1", "2", "3"], object)
    for source, kind in ((table, "texts"), (table.astype(int), "integers")):
        (profile,) = profile_table(blocks(source))
        rule = propose(profile).rule
        assert isinstance(rule, Categories)
        assert rule.kind == kind


@pytest.mark.parametrize("dtype", ["float32", "float16", "Float32", "float[pyarrow]"])
def test_numbers_of_single_precision_are_those_that_a_file_would_have(
    dtype: str, tmp_path: Path
) -> None:
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    labels = [0.1, 0.6, 1.1] * 40
    table = pd.DataFrame({"label": pd.Series(labels, dtype=dtype), "row": ["a", "b"] * 60})
    file = tmp_path / "table.csv"
    pd.DataFrame({"label": labels, "row": table.row}).to_csv(file, index=False)
    of_table, of_file = (sottovoce.propose_schema(source).schema for source in (table, file))
    assert of_table == of_file
    assert of_table["label"]["categories"] == ["0.1", "0.6", "1.1"]
    options: Any = {"schema": of_file, "parties": 1, "aggregator": "masks", "seed": 1}
    run = sottovoce.run("one-way", table, classify="label=0.6", **options)
    assert run.synthetic is not None
    assert run.synthetic.label.dtype == table.label.dtype
    assert {*run.synthetic.label.dropna()} <= {*table.label}


def test_a_number_of_single_precision_is_read_alike_beside_any_others() -> None:
    few = pd.DataFrame({"x": np.array([0.1, 0.6], np.float32)})
    many = pd.DataFrame({"x": np.array([0.1, 0.6, *np.linspace(2, 3, 500)], np.float32)})
    texts = [texts_of(RawTable.of(table), "x")[:2].tolist() for table in (few, many)]
    assert texts[0] == texts[1] == ["0.1", "0.6"]


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["\N{MINUS SIGN}12.30", "3.10"], [-12.3, 3.1]),
        (["-$12.30", "$5.00"], [-12.3, 5.0]),
        (["$-12.30", "$5.00"], [-12.3, 5.0]),
        (["-2,00 €", "1.234,50 €"], [-2.0, 1234.5]),
        (["-3 kg", "70 kg"], [-3.0, 70.0]),
    ],
)
def test_signs_are_kept(texts: list[str], numbers: list[float]) -> None:
    form, _ = choose_form(texts)
    assert [form.read(text) for text in texts] == numbers


@pytest.mark.parametrize("text", ["12.30-", "\N{EN DASH}12.30", ">100", "<5", "(12.30)", "~4"])
def test_a_sign_is_no_unit(text: str) -> None:
    form, _ = choose_form([text, "5.00", "6.25"])
    assert form.unit == ""
    assert np.isnan(form.read(text))


@pytest.mark.parametrize("form", ["{}-", "({})", "{} CR", "\N{EN DASH}{}"])
def test_numbers_with_other_signs_are_left_out_by_name(form: str, tmp_path: Path) -> None:
    texts = [form.format(row) if row % 3 == 0 else str(row) for row in range(300)]
    path = tmp_path / "table.csv"
    path.write_text(
        "amount,sex\n" + "".join(f"{text},{row % 2}\n" for row, text in enumerate(texts))
    )
    proposal = sottovoce.propose_schema(path)
    (left_out,) = [item for item in proposal.proposals if item.rule is None]
    assert left_out.reason.startswith("numbers whose sign is not read, such as")


def test_whole_numbers_that_lose_digits_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    ids = [12345678901234567890, 12345678901234567891, 12345678901234567899]
    path.write_text("account\n" + "".join(f"{ids[row % 3]}\n" for row in range(600)))
    rule = read_schema(sottovoce.propose_schema(path).schema).attributes["account"]
    assert isinstance(rule, Categories)
    assert sorted(rule.labels) == sorted(map(str, ids))


def test_infinity_is_unreadable_where_it_was_proposed_as_missing(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    texts = ["inf" if row % 90 == 0 else f"{row / 7:.3f}" for row in range(900)]
    path.write_text("x\n" + "\n".join(texts) + "\n")
    schema = read_schema(sottovoce.propose_schema(path).schema)
    codes = load(str(path), schema=schema).codes("x")
    assert (codes == len(schema.attributes["x"].labels) - 1).sum() == 10


@pytest.mark.parametrize("text", [" 7", "+7", "-7 "])
def test_whole_numbers_with_blanks_and_signs_stay_whole(text: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("x\n" + "".join(f"{row % 90}\n" for row in range(400)) + f"{text}\n")
    run = sottovoce.run("one-way", path, parties=1, seed=1, judge=False)
    assert run.synthetic is not None
    assert run.synthetic["x"].dtype.kind == "i"
