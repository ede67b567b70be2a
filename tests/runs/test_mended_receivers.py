"""A receiver that is mended takes what has left, though nobody expected it, and the run goes on."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from sottovoce import CURATOR, Curator, Outcome, Party
from sottovoce.messages import SottovoceError, unread
from sottovoce.runs.log_header import DurableTask
from sottovoce.runs.settings import settings
from sottovoce.runs.threads import run_on_threads

pytestmark = pytest.mark.usefixtures("state")

TROUBLES = Path(__file__).parents[1] / "launch"


def deaf(protocol: Any, desk: Curator) -> Outcome:
    """Receive what the last party says, and nothing else."""
    with desk.phase("greet"):
        desk.gather(protocol.Word)
        desk.broadcast(protocol.Reply("welcome"))
    with desk.phase("work"):
        desk.receive(protocol.Word, source=3)
    return Outcome()


def mended(protocol: Any, desk: Curator) -> Outcome:
    """Receive all that the parties have sent."""
    with desk.phase("greet"):
        desk.gather(protocol.Word)
        desk.broadcast(protocol.Reply("welcome"))
    with desk.phase("work"):
        desk.receive(protocol.Word, protocol.Reply, source=2)
        desk.gather(protocol.Word)
    return Outcome(summary={"well": True})


def reworded(protocol: Any, me: Party) -> None:
    """Send other messages than those that have left."""
    with me.phase("greet"):
        me.send(protocol.Word("hello"), to=CURATOR)
        me.receive(protocol.Reply, source=CURATOR)
    with me.phase("work"):
        me.send(protocol.Word("another word"), to=CURATOR)


@pytest.mark.parametrize(
    ("trouble", "is_deaf", "refusal"),
    [
        ("wrong kind", False, "expected Word of phase work from party 2, found Reply"),
        ("says too much", False, "expected nothing more from party 2, found 1 unread: Word"),
        ("says too much", True, "expected at most 500 bytes of messages that were not received"),
    ],
)
def test_the_run_goes_on(
    trouble: str, is_deaf: bool, refusal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No message leaves in a second version: such code is refused, and what left is put back."""
    monkeypatch.syspath_prepend(str(TROUBLES))
    troubles = importlib.import_module("troubles")
    job = settings(
        {"protocol": "troubles:Trouble", "parties": 3, "rows": 60, "set": {"trouble": trouble}}
    ).job
    with monkeypatch.context() as patched:
        if is_deaf:
            patched.setattr(troubles.Trouble, "curator", deaf)
            patched.setattr(unread, "memory_bytes", lambda: 1000)
        with pytest.raises(SottovoceError, match=refusal):
            run_on_threads(job, durable=DurableTask(run="mended"))
    monkeypatch.setattr(troubles.Trouble, "curator", mended)
    task = DurableTask(run="mended", is_resumed=True, has_begun=True)
    if not is_deaf:  # All parties have sent their last messages by then.
        with monkeypatch.context() as patched:
            patched.setattr(troubles.Trouble, "party", reworded)
            with pytest.raises(SottovoceError, match="expected message 1 to the curator as it was"):
                run_on_threads(job, durable=task)
    record = run_on_threads(job, durable=task)
    assert record.outcome.summary == {"well": True}
    assert len(record.entries) == 9 + 1
