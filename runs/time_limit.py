"""Calls with a time limit: what takes too long is ended, or left behind.

A plug-in may compute far longer on other records than on its own, or for ever. Python cannot
end a thread. It can raise an exception in one, which takes effect at the next Python instruction.
A call that sleeps or computes elsewhere, such as in NumPy, is left behind on its thread.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import threading
import time
from collections.abc import Callable
from typing import Final

__all__ = ["TimeUp", "call_within"]

GRACE: Final = 1.0
"""Seconds in which a call must have ended after its time was up."""
ASK_EVERY: Final = 0.1
"""Seconds between two attempts to end a call."""


class TimeUp(BaseException):
    """The call took too long. A call that goes on after any `Exception` does not catch it."""


def call_within(call: Callable[[], None], *, seconds: float | None) -> BaseException | None:
    """Call on a thread and return the error in which the call ended: `TimeUp` if it took too long.

    Without `seconds` there is no limit. The call has the context variables of the caller, such as
    NumPy's treatment of errors.
    """
    errors: list[BaseException] = []

    def target() -> None:
        with contextlib.suppress(TimeUp):
            try:
                call()
            except BaseException as error:  # noqa: BLE001 - the caller must say what it means
                errors.append(error)

    thread = threading.Thread(
        target=contextvars.copy_context().run, args=(target,), daemon=True, name="limited call"
    )
    thread.start()
    thread.join(seconds)
    if not thread.is_alive():
        return errors[0] if errors else None
    until = time.perf_counter() + GRACE
    while thread.is_alive() and time.perf_counter() < until:
        if thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(TimeUp)
            )
        thread.join(ASK_EVERY)
    return TimeUp()
