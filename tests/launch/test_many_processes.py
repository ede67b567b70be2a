"""What a run says before it begins: how long its processes take to start on this host."""

from __future__ import annotations

from typing import Any

import pytest

from sottovoce.launch.many_processes import many_processes
from sottovoce.launch.mpiexec import ALLOCATIONS
from sottovoce.runs.settings import settings


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ALLOCATIONS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})


def text(**options: Any) -> str:
    chosen = settings({"protocol": "head-count", **options})
    return many_processes(chosen.job, chosen.placement)


def test_many_processes_on_few_cores_are_told_of() -> None:
    assert text(parties=99).startswith(
        "100 processes start on 2 cores of this host, which takes about 50 s; --transport threads "
    )
    assert text(parties=39, transport="mpi")
    assert text(parties=38) == ""


def test_a_single_core_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3})
    assert text(parties=1999).startswith("2,000 processes start on one core of this host, which ")


@pytest.mark.parametrize(
    "options",
    [
        {"transport": "threads"},
        {"transport": "virtual", "network": "lan"},
        {"hosts": "a:50,b:50"},
        {"mpi_arg": ["--host", "a:50,b:50"]},
    ],
)
def test_nothing_is_said_where_no_process_starts_here_or_only_some_do(
    options: dict[str, Any],
) -> None:
    assert text(parties=99, **options) == ""


def test_nothing_is_said_in_a_batch_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOCATIONS[0], "17")
    assert text(parties=99) == ""
