"""Calls with a time limit: they end well, in an error, or because their time was up."""

from __future__ import annotations

import contextlib
import threading
from contextvars import ContextVar

from sottovoce.runs.time_limit import TimeUp, call_within

WORD: ContextVar[str] = ContextVar("WORD", default="")


def test_a_call_that_ends_has_the_context_of_its_caller() -> None:
    words: list[str] = []
    WORD.set("hello")
    assert call_within(lambda: words.append(WORD.get()), seconds=60) is None
    assert words == ["hello"]


def test_an_error_is_returned() -> None:
    error = call_within(threading.Lock().release, seconds=60)
    assert isinstance(error, RuntimeError)


def test_a_loop_that_catches_errors_is_ended() -> None:
    ended = threading.Event()

    def loop() -> None:
        try:
            while True:
                with contextlib.suppress(Exception):
                    raise ValueError
        finally:
            ended.set()

    assert isinstance(call_within(loop, seconds=0.05), TimeUp)
    assert ended.wait(60)


def test_a_call_that_waits_is_left_behind() -> None:
    release = threading.Event()
    assert isinstance(call_within(lambda: void(release.wait(60)), seconds=0.05), TimeUp)
    release.set()


def void(_: object) -> None:
    """Drop a result."""
