"""Which runs keep logs though nobody has asked for them."""

import os
from pathlib import Path
from typing import Any

import pytest

from sottovoce.runs.long_runs import MIN_BYTES, MIN_COLUMNS, reason_to_be_durable
from sottovoce.runs.settings import settings


def reason(**options: Any) -> str:
    chosen = settings({"protocol": "noisy-marginals", "transport": "mpi", **options})
    return reason_to_be_durable(chosen.job, chosen.placement)


@pytest.mark.parametrize("name", ["hosts", "hostfile"])
def test_several_hosts_keep_logs(name: str) -> None:
    assert reason(**{name: "a:2,b:1"}) == "several hosts"
    assert not reason(**{name: "a:2,b:1"}, on_loss="continue")


def test_large_tables_keep_logs_and_small_ones_do_not(tmp_path: Path) -> None:
    tables = [tmp_path / "1.csv", tmp_path / "2.csv"]
    for table in tables:
        table.touch()
        os.truncate(table, MIN_BYTES // 2)
    assert reason(data=[str(table) for table in tables]) == "tables of 100 MB"
    assert not reason(data=str(tables[0]), parties=2)
    assert not reason(data=[str(table) for table in tables], rows=100)
    tables[1].unlink()
    assert not reason(data=[str(table) for table in tables])


def test_many_columns_keep_logs() -> None:
    schema = {f"c{number}": ["a", "b"] for number in range(MIN_COLUMNS)}
    assert reason(schema=schema) == f"{MIN_COLUMNS} columns"
    del schema["c0"]
    assert not reason(schema=schema)


def test_others_keep_none() -> None:
    assert not reason()
    assert not reason(transport="virtual", network="wan")
