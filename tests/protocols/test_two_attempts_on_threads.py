"""On threads, too, a dishonest curator and a party that collude read one attempt at a sum.

`tools/two_attempts.py` says what they try; `tests/launch/test_two_attempts.py` plays it over MPI.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from going_on import MASKS, job
from two_attempts import LEFT_OUT, Lies, put_back, read_sums, tell_lies

from sottovoce.messages import CURATOR, SottovoceError, UsageError
from sottovoce.runs import durable_places
from sottovoce.runs.faulty_wire import InjectedFault
from sottovoce.runs.log_header import DurableTask
from sottovoce.runs.role_logs import find_role
from sottovoce.runs.role_places import role_place
from sottovoce.runs.threads import run_on_threads

OPTIONS: dict[str, Any] = {**MASKS, "epsilon": 1000.0, "marginals": "sex"}
FAULT = "party 3 dies in count after 8 messages"


@pytest.mark.parametrize(
    ("gone", "refusal"),
    [
        ([], "without all but 1: parties 1, 2 and 3 were lost"),
        ([1], "without all but 1: parties 1, 2 and 3 were lost"),
        ([1, 2], "logs of at least 4 parties in run .* found 2, and none of parties 1 and 2"),
    ],
)
def test_one_attempt_is_read(
    gone: Collection[int],
    refusal: str,
    tmp_path: Path,
    state: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The logs of parties that were left out may be gone, of one or of both."""

    def stop() -> None:
        raise InjectedFault("the curator has read a sum")

    asked = job("noisy-marginals", [FAULT], **OPTIONS)
    (loot := tmp_path / "loot").mkdir()
    with monkeypatch.context() as patched:
        tell_lies(patched.setattr, Lies(loot, end=stop), lie="ask-again")
        with pytest.raises(SottovoceError, match="the curator has read a sum"):
            run_on_threads(asked, durable=DurableTask(run="attacked"))
    (first,) = read_sums(loot)
    assert 120 < sum(first) < 240  # Those of three parties.

    put_back(loot, state)
    for party in gone:
        shutil.rmtree(role_place("attacked", party))

    def lying(header: Any, **options: Any) -> Any:
        role = find_role(header, **options)
        if role is not None and header.rank == CURATOR:
            role.log.lost.update(LEFT_OUT)
        return role

    monkeypatch.setattr(durable_places, "find_role", lying)
    tell_lies(monkeypatch.setattr, Lies(loot, end=stop), lie="leave-out")
    with pytest.raises(UsageError, match=refusal):
        run_on_threads(asked, durable=DurableTask(run="attacked", is_resumed=True, has_begun=True))
    for without in ((1,), (3,), (1, 2), (3, 4)):  # The starter lies, too.
        task = DurableTask("attacked", is_resumed=True, has_begun=True, without=without)
        with pytest.raises(UsageError, match=r"expected .* in run attacked"):
            run_on_threads(asked, durable=task)
    assert read_sums(loot) == [first]
