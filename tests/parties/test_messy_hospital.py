"""A messy hospital table, as a newcomer uses it: schema, check, run, published table.

The table is made up and seeded. Every column has one of the troubles that people's tables have.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.messages import UsageError
from sottovoce.parties import load, read_schema

ROWS = 3000


def hospital(rows: int = ROWS, *, seed: int = 0) -> pd.DataFrame:
    """Make the table, with all values as texts."""
    generator = np.random.default_rng(seed)

    def some(values: np.ndarray, share: float, *texts: str) -> np.ndarray:
        """Replace a share of the values by other texts."""
        values = values.astype(object)
        chosen = np.flatnonzero(generator.random(rows) < share)
        values[chosen] = generator.choice(texts, len(chosen))
        return values

    ages = generator.integers(0, 99, rows)
    stay = generator.geometric(0.2, rows)
    admitted = pd.Timestamp("2023-01-01") + pd.to_timedelta(generator.integers(0, 600, rows), "D")
    three = [admitted.strftime(form) for form in ("%Y-%m-%d", "%d.%m.%Y", "%d %b %Y")]
    dates = np.choose(generator.choice(3, rows, p=[0.7, 0.2, 0.1]), [np.array(d) for d in three])
    cost = generator.lognormal(7, 1, rows)
    words = np.array(["pain", "since", "Monday", "left", "knee", "no", "fever", "better", "again"])
    sexes = ["F", "M", "female", "Male", "male ", "FEMALE"]
    return pd.DataFrame(
        {
            "patient_id": generator.permutation(rows) + 10_000,
            "Patient Name": [f"{a} {b}" for a, b in generator.integers(10**6, size=(rows, 2))],
            "notes": [" ".join(generator.choice(words, 9)) for _ in range(rows)],
            "age": some(ages.astype(str), 0.03, "-999"),
            "sex": generator.choice(sexes, rows, p=[0.3, 0.3, 0.1, 0.1, 0.1, 0.1]),
            "weight": some(generator.normal(72, 14, rows).round(1).astype(str), 0.05, "N", "n/a"),
            "cost": [f"{value:,.2f}".replace(",", " ").replace(".", ",") for value in cost],
            "oxygen": [f"{value} %" for value in generator.integers(80, 101, rows)],
            "admitted": some(dates, 0.02, "unknown"),
            "stay": some(stay.astype(str), 0.004, "about 4", "long"),
            "smoker": some(generator.choice(["yes", "no", "No", "YES"], rows), 0.1, "NA", ""),
            "insured": generator.choice(["true", "TRUE", "False"], rows),
            "postcode": [f"0{code}" for code in generator.integers(1000, 1030, rows)],
            "diagnosis": [f"J{n:02}" for n in np.minimum(generator.geometric(0.03, rows), 99)],
            "empty": "",
            "visits": generator.poisson(1, rows).astype(str),
        }
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hospital") / "hospital.csv"
    hospital().to_csv(path, sep=";", index=False, encoding="latin-1")
    return path


@pytest.fixture(scope="module")
def proposal(path: Path) -> sottovoce.SchemaProposal:
    return sottovoce.propose_schema(path, separator=";", encoding="latin-1")


def test_identifiers_and_free_text_are_left_out_with_the_reason(
    proposal: sottovoce.SchemaProposal,
) -> None:
    reasons = proposal.left_out
    assert reasons.keys() == {"patient_id", "Patient Name", "notes", "empty"}
    assert "number the rows" in reasons["patient_id"]
    assert "identifier" in reasons["Patient Name"]
    assert "free text, 9 words" in reasons["notes"]
    assert "no values" in reasons["empty"]


def test_every_trouble_has_its_rule(proposal: sottovoce.SchemaProposal) -> None:
    schema = proposal.schema
    assert schema["age"]["missing_as"][-1] == "-999"
    assert schema["age"]["range"] == [0, 100]
    assert {"N", "n/a"} <= {*schema["weight"]["missing_as"]}
    assert schema["sex"]["categories"] == ["F", "M"]
    assert schema["sex"]["spellings"]["male "] == "M"
    assert schema["cost"]["decimal"] == ","
    assert schema["cost"]["thousands"] == " "
    assert schema["oxygen"]["unit"] == "%"
    assert schema["admitted"]["by"] == "month"
    assert schema["admitted"]["formats"] == ["%Y-%m-%d", "%d.%m.%Y", "%d %b %Y"]
    assert schema["admitted"]["missing_as"][-1] == "unknown"
    assert schema["stay"]["unreadable"] == "missing"
    assert schema["smoker"]["categories"] == ["no", "yes"] or schema["smoker"]["spellings"]
    assert schema["smoker"]["missing"] == "category"
    assert schema["insured"]["kind"] == "booleans"
    assert schema["postcode"][0] == "01000"  # codes, no numbers
    assert schema["diagnosis"]["other"] == "(other)"
    assert "about 4" in repr(proposal)
    assert "about 4" not in proposal.text
    assert "J99" not in proposal.text or hospital()["diagnosis"].value_counts()["J99"] >= 10


def test_the_file_has_no_counts(path: Path, proposal: sottovoce.SchemaProposal) -> None:
    """Twice the same rows give the same schema: nothing in it depends on how many there are."""
    table = pd.read_csv(path, sep=";", dtype=str, keep_default_na=False, encoding="latin-1")
    table = table[list(proposal.schema)].drop(columns="diagnosis")  # rare ones depend on counts
    once, twice = (sottovoce.propose_schema(t) for t in (table, pd.concat([table, table])))
    assert once.text == twice.text


def test_the_schema_fits_its_table_and_the_check_says_what_of_another_does_not(
    path: Path, proposal: sottovoce.SchemaProposal
) -> None:
    fits = proposal.check(path, separator=";", encoding="latin-1")
    assert not fits["is_refused"].any()
    assert fits["way_out"].str.contains("count as (other)", regex=False).all()
    other = hospital(200, seed=1).drop(columns="visits")
    other["age"] = [*["130"] * 7, *other["age"][7:]]
    other["sex"] = [*["diverse"] * 3, "f ", *other["sex"][4:]]
    other["stay"] = [*[""] * 2, *other["stay"][2:]]
    misfits = proposal.check(other).query("is_refused").set_index("column")
    assert {*misfits.index} == {"age", "sex", "visits"}
    assert misfits.loc["age", "rows"] == 7
    assert "widen the bins to 0 and 130" in str(misfits.loc["age", "way_out"])
    spelt, new = (misfits[misfits["rows"] == rows].iloc[0] for rows in (1, 3))
    assert '"f ": "F"' in spelt["way_out"]
    assert "'diverse' in 3 rows" in new["text"]
    assert misfits.loc["visits", "text"] == "there is no such column"


def test_a_run_publishes_the_right_types(path: Path, proposal: sottovoce.SchemaProposal) -> None:
    run = sottovoce.run(
        "one-way", path, parties=2, schema=proposal.schema, separator=";", encoding="latin-1",
        aggregator="masks", seed=1, epsilon=20.0,
    )  # fmt: skip
    table = run.synthetic
    assert table is not None
    expected = {
        "age": "Int64", "sex": "object", "weight": "float64", "cost": "float64", "oxygen": "int64",
        "admitted": "datetime64[s]", "stay": "Int64", "insured": "bool", "visits": "int64",
    }  # fmt: skip
    assert {name: str(table[name].dtype) for name in expected} == {
        **expected, "sex": str(table["sex"].dtype),
    }  # fmt: skip
    assert table["age"].dropna().between(0, 100).all()
    assert table["age"].isna().mean() == pytest.approx(0.03, abs=0.02)
    assert {*table["sex"].unique()} == {"F", "M"}
    assert table["smoker"].isna().mean() == pytest.approx(0.1, abs=0.03)
    assert 1000 < table["cost"].median() < 1200  # e^7 = 1097
    assert table["admitted"].dropna().dt.year.isin([2023, 2024]).all()


def test_a_newcomer_on_the_command_line(path: Path, tmp_path: Path) -> None:
    def sottovoce_at(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sottovoce", *words],
            capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False,
        )  # fmt: skip

    bare = sottovoce_at("schema", str(path))
    assert bare.returncode == 2
    assert "say --separator semicolon" in bare.stderr
    form = ["--separator", "semicolon", "--encoding", "latin-1"]
    made = sottovoce_at("schema", str(path), *form, "--out", "h.json", "--page", "h.html")
    assert made.returncode == 0, made.stderr
    assert "taken for missing: '-999'" in made.stdout
    assert "left out: 4 columns" in made.stdout
    assert "█" in made.stdout
    assert "not private" in (tmp_path / "h.html").read_text()
    schema = json.loads((tmp_path / "h.json").read_text())
    assert sottovoce_at("schema", str(path), *form, "--check", "h.json").returncode == 0
    schema["age"] = {"edges": [0, 50]}
    (tmp_path / "narrow.json").write_text(json.dumps(schema))
    checked = sottovoce_at("schema", str(path), *form, "--check", "narrow.json")
    assert checked.returncode == 2
    assert "numbers outside the bins" in checked.stdout
    run = ["run", "one-way", "--data", str(path), *form, "--schema", "h.json", "--out", "run"]
    more = ["--transport", "threads", "--parties", "2", "--set", "aggregator=masks", "--parquet"]
    ran = sottovoce_at(*run, *more, "--epsilon", "5")
    assert ran.returncode == 0, ran.stderr
    written = pd.read_parquet(tmp_path / "run" / "synthetic.parquet")
    assert str(written["insured"].dtype) == "bool"
    assert str(written["admitted"].dtype).startswith("datetime64")
    assert sottovoce_at("schema", "run/synthetic.csv", "--check", "run/schema.json").returncode == 0


@pytest.mark.parametrize(
    ("column", "rule"),
    [
        ([f"t{n}" for n in range(100_000)], "most of which occur once"),
        ([f"t{n % 50_000}" for n in range(100_000)], "no 64 have half of the rows"),
        ([None] * 100, "it has no values"),
        (["?"] * 50 + ["n/a"] * 50, "it has no values"),
        ([f"p{n}@example.org" for n in range(1000)] * 2, "addresses"),
        ([10**9 + 7919 * n for n in range(1000)], "whole numbers of 10 digits"),
    ],
)
def test_what_cannot_be_an_attribute(column: list[object], rule: str) -> None:
    table = pd.DataFrame({"a": column, "b": ["x", "y"] * (len(column) // 2)})
    proposal = sottovoce.propose_schema(table)
    assert rule in proposal.left_out["a"]
    with pytest.raises(UsageError, match="'a' is left out"):
        sottovoce.propose_schema(table, columns=["a"])


def test_a_table_of_300_columns() -> None:
    generator = np.random.default_rng(0)
    table = pd.DataFrame({f"c{n}": generator.integers(n + 2, size=500) for n in range(300)})
    proposal = sottovoce.propose_schema(table)
    assert len(proposal.schema) == 300
    assert max(len(rule.labels) for rule in read_schema(proposal.schema).attributes.values()) <= 24


def test_types_of_a_dataframe_are_taken_at_their_word() -> None:
    generator = np.random.default_rng(0)
    sizes = pd.CategoricalDtype(["small", "big", "huge"], ordered=True)
    table = pd.DataFrame(
        {
            "size": pd.Series(generator.choice(["small", "big"], 400), dtype=sizes),
            "town": pd.Series(generator.choice(["Rome", "Bern"], 400), dtype="category"),
            "ill": pd.Series([True, False, None, True] * 100, dtype="boolean"),
            "score": generator.integers(0, 40, 400).astype(float),
            "count": pd.Series([None, *generator.integers(0, 40, 399)], dtype="Int64"),
            "day": pd.to_datetime(generator.integers(0, 2000, 400), unit="D"),
            "code": generator.choice(["1", "2"], 400),
        }
    )
    proposal = sottovoce.propose_schema(table)
    for schema in (proposal.schema, None):
        run = sottovoce.run(
            "one-way", table, parties=2, schema=schema, aggregator="masks", seed=1, judge=False
        )
        result = run.synthetic
        assert result is not None
        for name in ("size", "town", "ill", "score", "count"):
            assert result[name].dtype == table[name].dtype, name
        assert result["day"].dtype.kind == "M"
    assert load(table, schema=read_schema(proposal.schema)).count("size", "huge") == 0


def test_scikit_learn_takes_a_published_table_without_parsing(
    path: Path, proposal: sottovoce.SchemaProposal
) -> None:
    compose = pytest.importorskip("sklearn.compose")
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    table = sottovoce.run(
        "one-way", path, parties=2, schema=proposal.schema, separator=";", encoding="latin-1",
        aggregator="masks", seed=1, judge=False,
    ).synthetic  # fmt: skip
    assert table is not None
    numbers = ["age", "weight", "cost", "oxygen", "stay", "visits"]
    encode = compose.make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["sex", "smoker", "diagnosis"]),
        ("passthrough", numbers),
    ).set_output(transform="pandas")  # numpy has no whole numbers beside missing ones
    model = make_pipeline(encode, HistGradientBoostingClassifier(max_iter=5))
    model.fit(table, table["insured"])
    assert model.predict(table).dtype == bool


@pytest.mark.parametrize("name", ["Name", "last_name", "Vorname", "patientName", "prénom"])
def test_names_of_people_are_left_out_where_they_occur_often(name: str) -> None:
    """In a table of visits a name has many rows, so how often it occurs says nothing."""
    table = pd.DataFrame({name: [f"Person {n}" for n in range(40)] * 20, "sex": ["F", "M"] * 400})
    proposal = sottovoce.propose_schema(table)
    assert "as its name says" in proposal.left_out[name]


@pytest.mark.parametrize("name", ["drug name", "named", "hospital_name"])
def test_names_of_things_are_categories(name: str) -> None:
    table = pd.DataFrame({name: [f"Thing {n}" for n in range(40)] * 20})
    assert name in sottovoce.propose_schema(table).schema


def test_answers_of_two_letters_have_initials_and_codes_have_none() -> None:
    table = pd.DataFrame(
        {"smoker": ["yes", "no", "Y", "N"] * 20, "blood": ["A", "AB", "B", "0"] * 20}
    )
    schema = sottovoce.propose_schema(table).schema
    assert schema["smoker"] == {"categories": ["no", "yes"], "spellings": {"Y": "yes", "N": "no"}}
    assert {*schema["blood"]} == {"A", "AB", "B", "0"}


@pytest.mark.parametrize(
    ("heights", "is_remarked"),
    [
        ([1.62, 1.75, 1.81] * 20 + [162, 175, 181] * 80, True),
        ([162, 175, 181] * 80 + [1.75] * 2, False),  # typing errors
        ([0, 0, 0, 162, 175, 181] * 80, False),
        (list(np.geomspace(0.01, 10_000, 300)), False),
        ([-5, 1.7, 170] * 80, False),
    ],
)
def test_numbers_in_two_units_are_remarked_on(heights: list[float], *, is_remarked: bool) -> None:
    text = repr(sottovoce.propose_schema(pd.DataFrame({"height": heights})))
    assert (
        "60 rows from 1.62 to 1.81 and 240 rows from 162 to 181, far apart" in text
    ) is is_remarked
    assert ("convert them to one unit" in text) is is_remarked


def test_a_label_that_every_row_has_is_remarked_on() -> None:
    table = pd.DataFrame({"clinic": ["St. Mary"] * 50, "land": [""] * 5 + ["DE"] * 45})
    assert repr(sottovoce.propose_schema(table)).count("every row has this label") == 1


def remarks_of(table: pd.DataFrame) -> dict[str, str]:
    return {
        item.name: "; ".join(item.remarks) for item in sottovoce.propose_schema(table).proposals
    }


def test_columns_with_the_same_value_in_every_row_are_remarked() -> None:
    numbers = np.arange(70_000) % 50  # in two blocks
    shuffled = numbers.copy()
    shuffled[-2:] = shuffled[-2:][::-1]
    table = pd.DataFrame({"stay": numbers, "days": numbers.astype(str), "other": shuffled})
    remarks = remarks_of(table.assign(first=1, second=1))
    assert remarks["days"] == "the same value as stay in every row: drop one of them"
    assert not remarks["stay"]
    assert not remarks["other"]
    assert "same value" not in remarks["second"]  # it has one value alone, which is remarked


@pytest.mark.parametrize(
    ("labels", "pair"),
    [
        (["w", "weiblich", "m"], "'w' and 'weiblich'"),
        (["m", "male", "f"], "'m' and 'male'"),
        (["f", "m", "weiblich", "männlich"], "'f' and 'weiblich'"),
        (["yes", "ja", "no"], "'yes' and 'ja'"),
        (["I", "II", "III"], ""),
        (["A", "B", "AB", "0"], ""),
        (["A", "axis", "apex"], ""),
    ],
)
def test_labels_that_may_be_the_same_are_remarked_and_not_merged(
    labels: list[str], pair: str
) -> None:
    table = pd.DataFrame({"label": labels * 100})
    proposal = sottovoce.propose_schema(table)
    assert {*labels} == {*proposal.schema["label"]}
    assert pair in remarks_of(table)["label"]
    assert bool(pair) == ("perhaps the same" in remarks_of(table)["label"])
