"""Runs with `--on-loss continue` that stop after a loss go on, and no message has two versions.

The referees: every sum equals the tables of the parties that were members when it was read, nobody
has spent more than is claimed, and no message leaves in a second version.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from going_on import MASKS, SumReferee, job, spent

from sottovoce.crypto.durable import DurableWire
from sottovoce.crypto.role_log import RoleLog
from sottovoce.messages import CURATOR, SottovoceError, ThreadWire
from sottovoce.messages.frame import FrameKind, Header, pack_header
from sottovoce.messages.wire import LOST, Buffer
from sottovoce.report.making import make_report
from sottovoce.runs.job import Job
from sottovoce.runs.log_header import DurableTask
from sottovoce.runs.record import RunRecord
from sottovoce.runs.role_places import role_place
from sottovoce.runs.threads import run_on_threads

pytestmark = pytest.mark.usefixtures("state")

MOMENTS = int(os.environ.get("SOTTOVOCE_MOMENTS", "2"))
"""Moments at which the party, and after it the curator, is lost; more for runs by hand."""


class VersionReferee:
    """Notes a digest of each message that leaves, in all attempts of a run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.digests: dict[tuple[int, int, bytes], bytes] = {}
        send, referee = ThreadWire.send, self

        def noting(
            wire: ThreadWire,
            parts: Sequence[Buffer],
            *,
            to: int,
            timeout: float,
            more: bool = False,
        ) -> None:
            if parts[0][3] == FrameKind.MESSAGE:
                frame = b"".join(parts)
                digest = hashlib.sha256(frame).digest()
                first = referee.digests.setdefault((wire.rank, to, frame[16:24]), digest)
                assert first == digest, f"two versions of a message from {wire.rank} to {to}"
            send(wire, parts, to=to, timeout=timeout, more=more)

        monkeypatch.setattr(ThreadWire, "send", noting)


def stopped_and_resumed(job: Job, run: str) -> tuple[RunRecord, bool]:
    """Play a job whose curator dies, and go on; tell whether it had died."""
    try:
        record = run_on_threads(job, durable=DurableTask(run=run))
    except SottovoceError as error:
        assert "curator" in str(error)
    else:
        return record, False
    task = DurableTask(run=run, is_resumed=True, has_begun=True)
    return run_on_threads(job, durable=task), True


def moments(count: int) -> list[int]:
    """Spread numbers of messages over a conversation."""
    return sorted({round(count * (2 * part + 1) / (2 * MOMENTS)) for part in range(MOMENTS)})


@pytest.mark.parametrize(
    ("protocol", "parameters"),
    [
        ("noisy-marginals", MASKS),
        ("dp-subn", {**MASKS, "init": "forest"}),
        ("mst", MASKS),
        ("jtree", {**MASKS, "structure": "svt"}),
        ("aug-flaim", {**MASKS, "rounds": 2}),
        ("privincr", {"epsilon": 1.0}),
    ],
)
def test_a_run_that_lost_a_party_and_then_the_curator_goes_on(
    protocol: str, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = run_on_threads(job(protocol, **parameters))
    sent = [sum(act.sent for act in notes.acts) for notes in undisturbed.roles]
    resumed = without = 0
    for lost in moments(sent[2]):
        for end in moments(sent[0]):
            faults = [f"party 2 dies after {lost} messages", f"curator dies after {end} messages"]
            with monkeypatch.context() as patched:
                VersionReferee(patched)
                sums = SumReferee(patched)
                record, has_stopped = stopped_and_resumed(
                    job(protocol, faults, **parameters), f"{protocol}-{lost}-{end}"
                )
                sums.require_exact()
            resumed += has_stopped
            without += has_stopped and any(loss.party == 2 for loss in record.losses)
            claimed = parameters["epsilon"] * (1 + 1e-9)
            assert all(epsilon <= claimed for epsilon in spent(record).values()), (lost, end)
            assert make_report(record).privacy.not_accounted == [], (lost, end)
    assert resumed
    assert without, "expected a run that goes on without the lost party, found none"


def test_a_party_without_which_nobody_has_gone_on_is_back() -> None:
    """Two are lost, which are too many; the others have sent something since the first loss."""
    faults = ["party 1 dies in keys", "party 2 dies in count"]
    few = job("noisy-marginals", faults, min_parties=3, **MASKS)
    with pytest.raises(SottovoceError, match="at least 3 parties, found 2: parties 1 and 2"):
        run_on_threads(few, durable=DurableTask(run="few"))
    task = DurableTask(run="few", is_resumed=True, has_begun=True)
    record = run_on_threads(few, durable=task)
    assert [loss.party for loss in record.losses] == [1]


def test_the_log_of_a_party_that_stays_lost_is_not_needed() -> None:
    faults = ["party 2 dies in keys", "curator dies in count"]
    both = job("noisy-marginals", faults, **MASKS)
    with pytest.raises(SottovoceError, match="curator"):
        run_on_threads(both, durable=DurableTask(run="both"))
    shutil.rmtree(role_place("both", 2))
    task = DurableTask(run="both", is_resumed=True, has_begun=True)
    record = run_on_threads(both, durable=task)
    assert [loss.party for loss in record.losses] == [2]


class Arrivals:
    """An end of the curator's wire on which what arrives is known."""

    rank, size = CURATOR, 5

    def __init__(self, *arrivals: tuple[int, memoryview]) -> None:
        self._arrivals = deque(arrivals)

    def clock(self) -> float:
        return 0.0

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        pass

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        return self._arrivals.popleft() if self._arrivals else None

    def abort(self, status: int) -> NoReturn:
        raise SystemExit(status)


def message(number: int, *, sender: int, to: int) -> bytes:
    return pack_header(Header(FrameKind.MESSAGE, 0, number, sender, to, "p", "", ""))


def test_losses_have_their_places_among_what_arrived(tmp_path: Path) -> None:
    """They are written before the role sends something, and not at all if it does not."""
    first, second, third = (memoryview(message(number, sender=1, to=0)) for number in range(3))
    arrivals = [(1, first), (2, LOST), (1, second), (3, LOST), (1, third), (4, LOST)]
    path = tmp_path / "log"

    def read() -> list[tuple[int, bytes]]:
        shutil.copy(path, tmp_path / "copy")
        log = RoleLog(tmp_path / "copy", key=bytes(32))
        found = [(peer, bytes(frame)) for peer, frame in iter(log.next_arrival, None)]
        assert log.lost == {peer for peer, frame in found if not frame}
        log.close()
        return found

    log = RoleLog.create(path, key=bytes(32), header=b"")
    ends = DurableWire(Arrivals(*arrivals), log, received={}, fewest=1, syncs=False)
    for _ in arrivals[:5]:
        assert ends.arrive(timeout=1) is not None
    assert read() == [(1, bytes(frame)) for frame in (first, second, third)]
    ends.send([message(0, sender=0, to=1)], to=1, timeout=1)
    assert ends.arrive(timeout=1) == (4, LOST)
    assert read() == [(peer, bytes(frame)) for peer, frame in arrivals[:5]]
    log.close()
