"""Replays of finished runs: by the longest chain of the ledger, and what the command prints."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sottovoce
from sottovoce.launch.commands import app
from sottovoce.messages import Entry, UsageError
from sottovoce.network import NETWORKS, Link, Network, Stack
from sottovoce.report.folder import read_ledger
from sottovoce.report.replaying import replay_run

FAST = math.inf
"""So many times as fast as it was, computation takes no time."""
PROTOCOLS: dict[str, dict[str, Any]] = {
    "head-count": {},
    "noisy-marginals": {"columns": ["sex", "income"], "aggregator": "masks"},
    "dp-subn": {"columns": ["sex", "income", "race"], "aggregator": "masks"},
}


@pytest.fixture(scope="module", params=PROTOCOLS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / str(request.param)
    options = PROTOCOLS[request.param]
    sottovoce.run(request.param, rows=300, parties=3, seed=1, judge=False, **options).save(folder)
    return folder


def rounds_with_the_end(entries: list[Entry], parties: int) -> int:
    """Count the longest chain of messages, in which every party's end is one more message."""
    longest = [
        max((entry.round for entry in entries if entry.receiver == rank), default=0)
        for rank in range(parties + 1)
    ]
    return max([longest[0], *(rounds + 1 for rounds in longest[1:])])


def test_pure_latency_is_that_of_the_longest_chain(folder: Path) -> None:
    entries = read_ledger((folder / "ledger.csv").read_bytes())
    delay = 0.05
    distant = Network(name="t", between=Link(latency=delay), stack=Stack(polling_seconds=0.0))
    report, _ = replay_run(folder, distant.with_speed(FAST))
    expected = rounds_with_the_end(entries, 3)
    assert report.seconds == pytest.approx(expected * delay, abs=1e-5)
    assert [(share.reason, share.stretches) for share in report.shares[:1]] == [
        ("latency", expected)
    ]


def test_without_a_network_computation_is_all(folder: Path) -> None:
    """Each role computes as long as its ledger says, so none ends earlier than that."""
    report, timing = replay_run(folder, NETWORKS["none"])
    assert [share.reason for share in report.shares] == ["computation"]
    entries = read_ledger((folder / "ledger.csv").read_bytes())
    reading = sum(e.received_at - e.arrived_at for e in entries if e.receiver == 0)
    assert timing.seconds >= reading
    half, _ = replay_run(folder, NETWORKS["none"].with_speed(2))
    assert half.seconds < report.seconds


def test_parts_add_up(folder: Path) -> None:
    report, _ = replay_run(folder, NETWORKS["mobile"])
    assert sum(share.seconds for share in report.shares) == pytest.approx(report.seconds, abs=1e-4)
    computation = [share.seconds for share in report.shares if share.reason == "computation"]
    assert sum(report.computation.values()) == pytest.approx(sum(computation), abs=1e-4)


def test_the_ledger_orders_each_message_in_time(folder: Path) -> None:
    for entry in read_ledger((folder / "ledger.csv").read_bytes()):
        assert 0 <= entry.sending_at <= entry.sent_at
        assert 0 <= entry.awaited_at <= entry.arrived_at <= entry.received_at


def test_the_command_prints_words_and_json(folder: Path) -> None:
    words = CliRunner().invoke(app, ["replay", str(folder), "--network", "wan"])
    assert words.exit_code == 0
    assert "wan (50 ms one way, 20 Mbit/s for each host)" in words.stdout
    assert "latency: " in words.stdout
    assert "who waited" in words.stdout
    result = CliRunner().invoke(app, ["replay", str(folder), "--network", "wan", "--json"])
    report = json.loads(result.stdout)
    assert report["parties"] == 3
    assert report["seconds"] > 0.05
    assert report["waits"][0]["seconds"] >= report["waits"][-1]["seconds"]


def test_without_a_network_the_command_puts_all_that_have_a_name_side_by_side(
    folder: Path,
) -> None:
    words = CliRunner().invoke(app, ["replay", str(folder)])
    assert words.exit_code == 0, words.output
    for name in NETWORKS:
        (line,) = (line for line in words.stdout.splitlines() if line.startswith(f"{name} ("))
        assert " %) " in line
    assert f"`sottovoce replay {folder} --network wan`" in words.stdout
    result = CliRunner().invoke(app, ["replay", str(folder), "--json"])
    reports = json.loads(result.stdout)
    assert [report["network"].split()[0] for report in reports] == [*NETWORKS]
    wan = CliRunner().invoke(app, ["replay", str(folder), "--network", "wan", "--json"])
    assert json.loads(wan.stdout) in reports


@pytest.mark.parametrize(
    ("transport", "cores", "remark"),
    [
        ("threads", 64, "its 4 roles were threads of one process, which compute in turn: "),
        ("mpi", 2, "its 4 roles may have shared fewer cores (this machine has 2): then "),
        ("mpi", 4, ""),
        ("virtual", 1, ""),
    ],
)
def test_a_replay_says_why_its_computation_may_be_too_long(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    transport: str,
    cores: int,
    remark: str,
) -> None:
    other = tmp_path / "run"
    shutil.copytree(folder, other)
    report = (other / "report.json").read_text()
    assert '"transport": "threads"' in report
    (other / "report.json").write_text(
        report.replace('"transport": "threads"', f'"transport": "{transport}"')
    )
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    words = CliRunner().invoke(app, ["replay", str(other), "--network", "wan"]).stdout
    said = [" ".join(line.split()[1:]) for line in words.splitlines() if "remark" in line]
    assert ("remark" in CliRunner().invoke(app, ["replay", str(other)]).stdout) is bool(remark)
    assert said == (
        [f"{remark}their computation is longer than on cores of their own"] if remark else []
    )


def test_what_cannot_be_replayed_is_one_line(folder: Path, tmp_path: Path) -> None:
    words = ["replay", str(folder), "--network", "wan", "--speed", "0"]
    with pytest.raises(UsageError, match="above 0 for --speed, found 0"):
        CliRunner().invoke(app, words, catch_exceptions=False)
    damaged = tmp_path / "damaged"
    shutil.copytree(folder, damaged)
    (damaged / "ledger.csv").write_text("a,b\n")
    with pytest.raises(UsageError, match=r"expected the ledger of a run at .*ledger\.csv"):
        replay_run(damaged, NETWORKS["wan"])
    lines = (folder / "ledger.csv").read_text().splitlines(keepends=True)
    (damaged / "ledger.csv").write_text("".join(lines[:-1]))
    with pytest.raises(UsageError, match=rf"expected {len(lines) - 1} messages .*: some lines are"):
        replay_run(damaged, NETWORKS["wan"])
    (damaged / "ledger.csv").unlink()
    with pytest.raises(UsageError, match=r"expected the ledger of a run at .*No such file"):
        replay_run(damaged, NETWORKS["wan"])
    with pytest.raises(UsageError):
        replay_run(tmp_path, NETWORKS["wan"])
