"""Durable runs when power fails: what was not on the disk is lost."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from stopped_runs import Attempts, events_of, job_of, stop_at

from sottovoce.messages import MisuseError

pytestmark = pytest.mark.usefixtures("state")


class PowerFailure:
    """A disk of which only what was written by `fsync` or `fdatasync` stays when power fails."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.synced: dict[Path, int] = {}
        for name in ("fsync", "fdatasync"):
            patch.setattr(os, name, functools.partial(self._sync, getattr(os, name)))

    def _sync(self, sync: Callable[[int], None], descriptor: int) -> None:
        sync(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.name == "log":
            # A log that was written in a hidden folder is renamed before its role begins.
            folder = path.parent.with_name(path.parent.name.lstrip("."))
            self.synced[folder / "log"] = os.fstat(descriptor).st_size

    def happen(self, state: Path) -> int:
        """Cut all logs to what is surely on the disk; return how many bytes are lost."""
        lost = 0
        for path in state.rglob("log"):
            size = path.stat().st_size
            os.truncate(path, self.synced[path])
            lost += size - path.stat().st_size
        return lost


@pytest.mark.skipif(sys.platform != "linux", reason="it asks /proc for a descriptor's path")
@pytest.mark.parametrize("protocol", ["dp-subn", "calm"])
def test_when_power_fails_no_message_leaves_in_two_versions(
    protocol: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a seed: the wires beneath check every message of both attempts."""
    job = job_of(protocol, seed=None)
    disk = PowerFailure(monkeypatch)
    events = events_of(job, monkeypatch)
    lost = 0
    for rank, count in enumerate(events):
        for stop in range(1 + rank, count, max(2, count // 4)):
            attempts = Attempts(job, f"{rank}-{stop}", monkeypatch)
            stop_at(attempts, rank=rank, stop=stop)
            lost += disk.happen(state)
            attempts.traffic.arrived.clear()  # Receivers may have lost what they had.
            attempts.play(is_resumed=True)
    assert lost > 0, "nothing that was not on the disk was needed"


@pytest.mark.skipif(sys.platform != "linux", reason="it asks /proc for a descriptor's path")
def test_when_power_fails_randomness_from_elsewhere_is_refused_too(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    disk = PowerFailure(monkeypatch)
    job = job_of("leaky_protocols:NoiseOfTheSystem", columns="age,sex")
    refusals = 0
    for stop in range(1, events_of(job, monkeypatch)[1]):
        attempts = Attempts(job, f"elsewhere-{stop}", monkeypatch)
        stop_at(attempts, rank=1, stop=stop)
        disk.happen(state)
        attempts.traffic.arrived.clear()
        try:
            attempts.play(is_resumed=True)
        except MisuseError as error:
            assert "its randomness is not from the role's streams" in str(error)
            refusals += 1
    assert refusals > 0
