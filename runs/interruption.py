"""Ctrl-C and SIGTERM: when they end a command, and when they have to wait."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = ["INTERRUPTED", "SignalGate", "uninterrupted"]

INTERRUPTED: Final = 130
"""Exit status after Ctrl-C or SIGTERM."""
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
REPEATS_FOR: Final = 5.0
"""Seconds in which a further signal is a repetition, so that the first one can end all roles."""
AGAIN_AFTER: Final = 0.01
"""Seconds after which a signal is sent again that came where no exception can be raised."""

Handler = Callable[[int, FrameType | None], None]


class SignalGate:
    """Turns Ctrl-C and SIGTERM into `KeyboardInterrupt`, once, and remembers that one came.

    A library may swallow the exception, so a command asks `is_interrupted` when it ends.
    """

    def __init__(self) -> None:
        self.is_interrupted = False
        self._last = float("-inf")
        self._number = 0
        self._is_open = False
        self._report: Callable[[UnraisableHookArgs], object] = sys.unraisablehook

    def open(self) -> None:
        """Act on signals. Ctrl-C stays ignored where a shell has this process ignore it.

        A signal may come while the interpreter calls a destructor, or back from a weak reference.
        It drops exceptions there, and prints them. The signal is then sent again.
        """
        self._is_open = True
        atexit.register(self.close)  # It is called last, as it is registered first.
        self._report, sys.unraisablehook = sys.unraisablehook, self._notice_dropped
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._handle)

    def close(self) -> None:
        """Ignore signals: the command has ended, and only its last line is to be printed."""
        self._is_open = False
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def leave(self, end: Callable[[], None]) -> None:
        """Let the interpreter end: all is written, so a signal comes too late.

        A thread or a function that a plug-in has left may keep the interpreter for ever. So `end`
        is called at a signal while threads are left, and at the second one otherwise. Where MPI is
        loaded, the process may wait for other ranks in a C function. There signals end it at once.
        """
        self._is_open = False
        handler: Handler | signal.Handlers = signal.SIG_DFL
        if "mpi4py.MPI" not in sys.modules:
            threads = [thread for thread in threading.enumerate() if not thread.daemon]
            is_waiting = len(threads) > 1
            handler = _call_at_once(end) if is_waiting else _call_at_second(end)
        for number in SIGNALS:
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a handler's signature
        now = time.monotonic()
        is_first = now - self._last > REPEATS_FOR
        self.is_interrupted = True
        if is_first:
            self._last, self._number = now, number
            raise KeyboardInterrupt

    def _notice_dropped(self, dropped: UnraisableHookArgs) -> None:
        """Send a signal again whose exception was dropped, and report all other exceptions."""
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            self._report(dropped)
        elif self._number:
            threading.Timer(AGAIN_AFTER, self._send_again).start()

    def _send_again(self) -> None:
        """Send the last signal again, unless the command has ended meanwhile."""
        if self._is_open:
            self._last = float("-inf")
            os.kill(os.getpid(), self._number)


def _call_at_second(end: Callable[[], None]) -> Handler:
    """Give a handler that calls `end` at the second signal."""
    signals: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's signature
        if signals:
            end()
        signals.append(number)

    return handle


def _call_at_once(end: Callable[[], None]) -> Handler:
    """Give a handler, and call `end` at the next signal, on a thread of its own.

    While the interpreter waits for threads its handlers may not be called before a second signal.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)

    def wait() -> None:
        os.read(reader, 1)
        end()

    threading.Thread(target=wait, daemon=True).start()
    return lambda number, frame: None  # noqa: ARG005 - a handler's signature


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until a block has ended; only the main thread gets any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    late: list[int] = []
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        for number in handlers:
            signal.signal(number, lambda number, frame: late.append(number))  # noqa: ARG005 - a handler's signature
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for came in late[:1]:
            signal.raise_signal(came)
