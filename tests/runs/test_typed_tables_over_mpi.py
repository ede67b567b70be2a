"""A DataFrame over MPI: ranks get it as Parquet, and what comes back has its types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce

pytestmark = pytest.mark.mpi
ROWS = 300


def people() -> pd.DataFrame:
    """Make a table with a column of every type that a schema knows."""
    generator = np.random.default_rng(3)
    grades = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    return pd.DataFrame(
        {
            "grade": pd.Series(generator.choice(["low", "high"], ROWS)).astype(grades),
            "ward": pd.Series(generator.choice(["b", "a"], ROWS)).astype("category"),
            "smoker": generator.random(ROWS) < 0.3,
            "visits": pd.Series(generator.integers(0, 4, ROWS)).astype("Int64").mask(
                generator.random(ROWS) < 0.1
            ),
            "weight": generator.normal(75, 12, ROWS).astype(np.float32),
            "admitted": pd.Timestamp("2023-01-01", tz="UTC") + pd.to_timedelta(
                generator.integers(0, 600, ROWS), unit="D"
            ),
            "place": generator.choice(["01", "1"], ROWS),
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("protocol", "options"), [("calm", {"epsilon": 4.0}), ("one-way", {"aggregator": "masks"})]
)
def test_types_come_back_as_on_threads(protocol: str, options: dict[str, Any]) -> None:
    """The same seed gives the same table, with the types that came in."""
    table = people()
    threads, mpi = (
        sottovoce.run(protocol, table, parties=2, seed=1, transport=name, judge=False, **options)
        for name in ("threads", "mpi")
    )
    assert threads.synthetic is not None
    assert mpi.synthetic is not None
    pd.testing.assert_frame_equal(threads.synthetic, mpi.synthetic)
    types = mpi.synthetic.dtypes
    assert types["grade"] == table.dtypes["grade"]
    assert types["ward"] == table.dtypes["ward"]
    assert types["smoker"] == np.dtype(bool)
    assert types["visits"] == pd.Int64Dtype()
    assert types["weight"] == np.dtype(np.float32)
    assert types["admitted"] == table.dtypes["admitted"]
    assert set(mpi.synthetic["place"]) <= {"01", "1"}


def test_marginals_of_users_are_the_same_over_mpi() -> None:
    table = people()[["grade", "smoker", "visits"]]
    runs = [
        sottovoce.run("fourier", table, parties=2, seed=1, transport=name, judge=False, ways=2)
        for name in ("threads", "mpi")
    ]
    assert runs[0].marginals is not None
    assert runs[1].marginals is not None
    pd.testing.assert_frame_equal(runs[0].marginals, runs[1].marginals)
    assert {"low", "middle", "high"} <= {*runs[1].marginal("grade", "smoker")["grade"]}
