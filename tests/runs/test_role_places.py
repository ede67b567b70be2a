"""The folders of roles: an end at any moment leaves a whole one, or none that anybody reads."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sottovoce.parties import TableNote
from sottovoce.runs.job import Job
from sottovoce.runs.log_header import DurableTask, LogHeader
from sottovoce.runs.role_logs import find_role, make_role_place
from sottovoce.runs.role_places import remove_role_place, role_place, run_place

RUN = "removed"
CALLS = ("rename", "unlink", "rmdir")
MANY = 100
"""More calls than a removal makes."""


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LogHeader:
    monkeypatch.setenv("SOTTOVOCE_STATE", str(tmp_path))
    job = Job(protocol="calm", parties=2)
    return LogHeader.of(DurableTask(RUN), job, rank=1, schema=None, note=TableNote())


def kill_after(calls: int, patch: pytest.MonkeyPatch) -> None:
    """End the process at a call that changes a folder, before it is made."""
    left = [calls]

    def counting(name: str) -> Callable[..., Any]:
        call: Callable[..., Any] = getattr(os, name)

        def counted(*args: Any, **keywords: Any) -> Any:
            if not left[0]:
                raise Killed
            left[0] -= 1
            return call(*args, **keywords)

        return counted

    for name in CALLS:
        patch.setattr(os, name, counting(name))


def test_a_place_that_is_being_removed_is_whole_or_not_there(
    header: LogHeader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A party removes its own when the run is concluded; then a log without its key says nothing.

    Otherwise the run could not go on, though all that it needs is there.
    """
    kept = 0
    for calls in range(MANY):
        make_role_place(header).close()
        with monkeypatch.context() as patch:
            kill_after(calls, patch)
            try:
                remove_role_place(RUN, 1)
            except Killed:
                was_killed = True
            else:
                was_killed = False
        role = find_role(header)
        if role is not None:
            kept += 1
            role.close()
        assert (role is not None) == role_place(RUN, 1).exists()
        remove_role_place(RUN, 1)
        assert not run_place(RUN).exists()
        if not was_killed:
            break
    assert kept == 1
    assert 4 <= calls < MANY
