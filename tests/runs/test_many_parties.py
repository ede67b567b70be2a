"""Hundreds of parties in one process: the ledger is as predicted, and grows as K log K."""

import json
import math
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sottovoce
from sottovoce.messages import threads


def run(parties: int, **options: Any) -> sottovoce.Run:
    return sottovoce.run(
        "one-way", parties=parties, aggregator="masks", judge=False, rows=2000, **options
    )


@pytest.fixture(scope="module")
def two_hundred() -> sottovoce.Run:
    return run(200)


def test_the_ledger_of_two_hundred_parties_is_as_predicted(two_hundred: sottovoce.Run) -> None:
    sent = two_hundred.report["communication"]
    lines = sent["predicted"]
    assert sum(line["messages"] for line in lines) == sent["messages"]
    assert sum(line["payload_bytes"] for line in lines) == sent["payload_bytes"]
    for line in lines:
        assert line["messages"] == line["measured_messages"], line
        assert line["payload_bytes"] == line["measured_payload_bytes"], line
    # Every party talks to the curator and to its neighbours on the mask graph.
    edges = [key.split("->") for key in sent["by_edge"]]
    peers = {rank: [to for source, to in edges if source == str(rank)] for rank in range(1, 201)}
    assert {len(receivers) for receivers in peers.values()} == {1 + 36}


def test_messages_grow_as_k_log_k(two_hundred: sottovoce.Run) -> None:
    """From 100 to 200 parties K log K grows by a factor of 2.3, and K squared by 4."""
    smaller, larger = run(100).report["communication"], two_hundred.report["communication"]
    growth = larger["messages"] / smaller["messages"]
    assert 2 <= growth <= 2 * math.log(200) / math.log(100)
    assert larger["rounds"] == smaller["rounds"]


def test_a_report_of_two_hundred_parties_is_small(two_hundred: sottovoce.Run) -> None:
    privacy = two_hundred.report["privacy"]
    assert len(privacy["by_party"]) == 200
    assert len(privacy["coalitions"]) < 50
    assert "curator_and_199" in privacy["coalitions"]


def test_turns_change_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    parties = threads.MAX_FREE_ROLES + 3
    in_turns = run(parties, seed=5, transcript=True)
    monkeypatch.setattr(threads, "MAX_FREE_ROLES", 1000)
    freely = run(parties, seed=5, transcript=True)
    assert in_turns.report["transcript"] == freely.report["transcript"]
    assert in_turns.synthetic is not None
    assert freely.synthetic is not None
    assert in_turns.synthetic.equals(freely.synthetic)


@pytest.mark.timed
@pytest.mark.parametrize("protocol", ["one-way", "noisy-marginals"])
def test_a_thousand_parties_need_less_than_two_gigabytes(protocol: str, tmp_path: Path) -> None:
    """Single attributes, and all pairs, of a table with Adult's domain."""
    words = ["run", protocol, "--parties", "1000", "--transport", "threads", "--quiet"]
    words += ["--set", "aggregator=masks", "--out", str(tmp_path / "out")]
    subprocess.run([sys.executable, "-m", "sottovoce", *words], check=True, timeout=600)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2 << 20
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    for line in report["communication"]["predicted"]:
        assert line["messages"] == line["measured_messages"], line
