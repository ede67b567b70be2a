"""What a protocol returns becomes a record that travels, whatever types it used."""

import msgspec
import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce import Outcome
from sottovoce.messages import MisuseError
from sottovoce.report.report import as_dictionary, report_json
from sottovoce.runs.record import PublishedOutcome
from sottovoce.runs.table import Table

AWKWARD = pd.DataFrame(
    {
        "attribute_1": ["a,b", 'x"y', "", None, "01"],
        "value_1": pd.Categorical(["NA", "1", "NA", "2", "1"]),
        "count": [1.5, -2.0, 1e20, 3.0, 0.1],
    }
)


def test_a_table_is_written_as_pandas_writes_it() -> None:
    table = Table.of(AWKWARD, numbers=("count",))
    assert table.csv() == AWKWARD.to_csv(index=False).encode()
    travelled = msgspec.msgpack.decode(msgspec.msgpack.encode(table), type=Table)
    assert travelled == table
    frame = travelled.frame()
    assert frame["value_1"].tolist() == ["NA", "1", "NA", "2", "1"]
    assert frame["attribute_1"].tolist() == ["a,b", 'x"y', "", "", "01"]
    assert frame["count"].tolist() == AWKWARD["count"].tolist()


def test_rows_make_the_same_table_as_a_frame() -> None:
    rows = [{"attribute_1": "sex", "value_1": "F", "count": 3}, {"attribute_1": "sex", "count": 4}]
    table = Table.of(rows, numbers=("count",))
    assert table.csv() == b"attribute_1,value_1,count\nsex,F,3\nsex,,4\n"


@pytest.mark.parametrize("rows", [0, 1, 300, 70_000])
def test_codes_are_as_wide_as_the_labels_need(rows: int) -> None:
    frame = pd.DataFrame({"x": [str(number) for number in range(rows)], "y": ["same"] * rows})
    table = Table.of(frame)
    assert table.frame()["x"].tolist() == frame["x"].tolist()
    assert len(table.columns[1].values) == rows
    assert table.csv() == frame.to_csv(index=False).encode()


def test_numpy_in_a_summary_or_model_loses_no_result() -> None:
    outcome = PublishedOutcome.of(
        Outcome(
            summary={"count": np.int64(5), "noise": np.float64("inf"), "all": np.arange(3)},
            model={"weights": np.ones((1, 2)), "kind": "own"},
        )
    )
    assert outcome.summary == {"count": 5, "noise": float("inf"), "all": [0, 1, 2]}
    assert outcome.model == {"weights": [[1.0, 1.0]], "kind": "own"}
    with pytest.raises(MisuseError, match="found object"):
        PublishedOutcome.of(Outcome(summary={"what": object()}))


def test_integers_beyond_64_bits_become_text() -> None:
    model = {"modulus": 1 << 70, "small": -(1 << 63), "list": [1 << 64, (1 << 64) - 1]}
    outcome = PublishedOutcome.of(Outcome(model=model, summary={"seed": 1 << 80}))
    assert outcome.model == {
        "modulus": str(1 << 70),
        "small": -(1 << 63),
        "list": [str(1 << 64), (1 << 64) - 1],
    }
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(outcome), type=PublishedOutcome) == outcome


def test_numpy_in_a_report_loses_no_result() -> None:
    report = sottovoce.run("head-count", rows=60, seed=1, judge=False).reported.report
    report = msgspec.structs.replace(report, chosen={"alpha": np.float64(0.5)})
    assert as_dictionary(report)["chosen"] == {"alpha": 0.5}
    assert b'"alpha": 0.5' in report_json(report)


@pytest.mark.mpi
def test_a_long_seed_loses_no_run_over_mpi() -> None:
    seed = (1 << 64) + 5
    run = sottovoce.run("head-count", rows=50, seed=seed, transport="mpi", judge=False)
    assert run.report["seed"] == seed
    assert run.record.job.seed == seed
