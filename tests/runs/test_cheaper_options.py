"""What a run says before it begins: which option would save it much time."""

from typing import Any

import msgspec
import pytest

from sottovoce.runs.calibration import Calibration, PaillierCost
from sottovoce.runs.cheaper_options import cheaper_option
from sottovoce.runs.placement import Placement
from sottovoce.runs.settings import settings
from sottovoce.studies.forecast_plays import FREE

ONE_SECOND = msgspec.structs.replace(
    FREE, paillier=[PaillierCost(bits=3072, encrypt=1.0, add=0.0, decrypt=0.0)]
)


def text(calibration: Calibration | None = None, /, **options: Any) -> str:
    chosen = settings(options)
    return cheaper_option(chosen.job, chosen.placement, calibration=calibration)


def test_a_ring_of_many_parties_on_a_slow_network_is_told_of() -> None:
    slow = {"mode": "paper", "transport": "virtual", "network": "wan"}
    assert "all 40 parties, one after another: at least 2 s for each" in text(
        protocol="one-way", parties=40, **slow
    )
    assert text(protocol="one-way", parties=3, **slow) == ""
    assert text(protocol="one-way", parties=40, **{**slow, "network": "lan"}) == ""
    assert text(protocol="one-way", parties=40, mode="paper", transport="threads") == ""
    assert text(protocol="one-way", parties=40, transport="virtual", network="wan") == ""


def test_encryption_that_takes_long_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ciphertext takes a second here, and 30 parties send one each, or more."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    options: dict[str, Any] = {"protocol": "one-way", "parties": 30, "columns": ["sex", "income"]}
    line = text(ONE_SECOND, **options)
    assert line.startswith("parties encrypt at least 30 numbers, which takes about 30 s")
    assert "--set aggregator=masks" in line
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    assert text(ONE_SECOND, **options) == ""
    virtual = {"transport": "virtual", "network": "lan"}
    assert text(ONE_SECOND, **options, **virtual) == line
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert text(None, **options) == ""
    assert text(ONE_SECOND, **options, set={"aggregator": "masks"}) == ""
    assert text(ONE_SECOND, **{**options, "parties": 5}) == ""
    assert text(ONE_SECOND, protocol="head-count", parties=30) == ""


def test_nothing_is_said_of_tables_that_nobody_has_read() -> None:
    chosen = settings({"protocol": "one-way", "parties": 30, "data": "other.csv"})
    assert cheaper_option(chosen.job, chosen.placement, calibration=ONE_SECOND) == ""
    hosts = msgspec.structs.replace(Placement(), hosts=("a", "b"))
    chosen = settings({"protocol": "one-way", "parties": 30})
    assert cheaper_option(chosen.job, hosts, calibration=ONE_SECOND) == ""
