"""Logs that were changed, mixed up or lost are refused, and nothing is sent."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from stopped_runs import Attempts, essence, job_of, refused, stop_at, undisturbed

from sottovoce.crypto.role_log import RoleLog
from sottovoce.messages import UsageError
from sottovoce.runs import durable, threads
from sottovoce.runs.log_header import DurableTask
from sottovoce.runs.role_places import role_place

pytestmark = pytest.mark.usefixtures("state")


def test_a_log_that_was_changed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(job_of("calm"), "changed", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    log = role_place("changed", 2) / "log"
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    assert "party-2/log as this role wrote it, found that it was changed" in refused(attempts)


def test_a_log_of_another_role_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(job_of("calm"), "swapped", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    first, second = role_place("swapped", 1), role_place("swapped", 2)
    first.rename(first.with_name("other"))
    second.rename(first)
    first.with_name("other").rename(second)
    assert "expected the log of party 1 in run swapped, found that of party 2" in refused(attempts)


def test_a_missing_log_is_named_with_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.node", lambda: "ann-server")
    attempts = Attempts(job_of("calm"), "missing", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    (role_place("missing", 2) / "log").unlink()
    assert "found none of party 2 on ann-server" in refused(attempts)


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(job_of("calm"), "no-key", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    (role_place("no-key", 2) / "key").unlink()
    line = refused(attempts)
    assert "expected key and log of party 2 in" in line
    assert "found No such file or directory: restore them" in line


def test_if_all_logs_are_lost_no_role_begins_anew(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New streams would answer the same questions with other noise."""
    attempts = Attempts(job_of("calm"), "wiped", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    for log in state.rglob("log"):
        log.unlink()
    task = DurableTask("wiped", is_resumed=True, has_begun=True)
    with pytest.raises(UsageError, match=r"found none of the curator on .* and party 2 on"):
        threads.run_on_threads(attempts.job, durable=task)


@pytest.mark.parametrize("length", [0, 1, 16, 40, 100])
def test_a_log_that_was_cut_within_its_beginning_is_refused(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = Attempts(job_of("calm"), "cut", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    os.truncate(role_place("cut", 2) / "log", length)
    assert "party-2/log, found" in refused(attempts)


@pytest.mark.parametrize("content", [b"", b"k", b"k" * 32, b"k" * 65])
def test_another_key_is_refused(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(job_of("calm"), "key", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    (role_place("key", 2) / "key").write_bytes(content)
    line = refused(attempts)
    assert "party-2" in line
    assert "its key is another one" in line or "expected a key of 32 bytes" in line


@pytest.mark.parametrize("number", range(12))
def test_random_damage_is_refused_or_harmless(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cut at the end is the only damage after which the run goes on, to the same end."""
    dice = random.Random(number)
    attempts = Attempts(job_of("calm"), f"damage-{number}", monkeypatch)
    stop_at(attempts, rank=dice.randrange(3), stop=dice.randrange(4, 12))
    log = role_place(attempts.run, dice.randrange(3)) / "log"
    content = bytearray(log.read_bytes())
    for _ in range(dice.choice([1, 1, 5])):
        place = dice.randrange(len(content))
        content[place] = (content[place] + dice.randrange(1, 256)) % 256
    if dice.random() < 0.3:
        middle = dice.randrange(len(content))
        del content[middle : middle + dice.randrange(1, 40)]
    log.write_bytes(content)
    assert "log" in refused(attempts)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"columns": "sex,income"}, "expected a log of this job for the curator"),
        ({"seed": 4}, "expected a log of this job for the curator"),
        ({"rows": 61}, "expected a log of this job for the curator"),
    ],
)
def test_another_job_is_refused(
    change: dict[str, Any], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = Attempts(job_of("calm"), "job", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    attempts.job = job_of("calm", **change)
    assert line in refused(attempts)


def test_another_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [tmp_path / "1.csv", tmp_path / "2.csv"]
    for table in tables:
        table.write_text("sex,income\n" + "f,low\nm,high\nf,high\n" * 20)
    schema = {"sex": ["f", "m"], "income": ["low", "high"]}
    job = job_of(
        "calm", data=[str(table) for table in tables], schema=schema, columns=None, rows=None
    )
    attempts = Attempts(job, "table", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    before = tables[1].read_text()
    tables[1].write_text(before.replace("m,high", "m,low", 1))
    assert "expected the table that party 2 read before the run stopped" in refused(attempts)
    tables[1].write_text(before)
    attempts.play(is_resumed=True)


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(job_of("calm"), "version", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    place = role_place("version", 0)
    key = (place / "key").read_bytes()
    with_codes = durable.derived_key(key, b"log")
    header = json.loads(RoleLog(place / "log", key=with_codes).header)
    (place / "log").unlink()
    header["version"] = "0.0.1"
    RoleLog.create(place / "log", key=with_codes, header=json.dumps(header).encode()).close()
    assert "found one of 0.0.1: resume with that version" in refused(attempts)


def test_two_processes_never_play_one_role(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = Attempts(job_of("calm"), "twice", monkeypatch)
    stop_at(attempts, rank=1, stop=5)
    key = durable.derived_key((role_place("twice", 2) / "key").read_bytes(), b"log")
    log = RoleLog(role_place("twice", 2) / "log", key=key)
    assert "expected one process at a time to write the log" in refused(attempts)
    log.close()
    assert essence(attempts.play(is_resumed=True)) == undisturbed("calm")
