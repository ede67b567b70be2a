"""The end of the transport at which a role's declared faults happen (`runs.faults`)."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from ..messages import ConversationError, Role, Wire
from ..messages.wire import Buffer
from .faults import Fault

__all__ = ["FaultyWire", "InjectedFault"]

FOREVER: Final = 3600.0
"""Seconds of one of the waits of a role that has fallen silent."""


class InjectedFault(ConversationError):
    """A role died on purpose, because the person asked for it."""


class FaultyWire:
    """A role's end of the transport, at which its faults happen."""

    def __init__(self, wire: Wire, faults: Sequence[Fault], *, is_process: bool) -> None:
        self.rank = wire.rank
        self.size = wire.size
        self._role: Role | None = None
        self._wire = wire
        self.left = list(faults)
        """Faults that have not happened yet."""
        self._is_process = is_process
        self._kept: deque[tuple[int, memoryview]] = deque()

    def watching(self, watch: Callable[[Role], None]) -> Callable[[Role], None]:
        """Be given the role as well, whose phase and messages decide when a fault happens."""

        def both(role: Role) -> None:
            self._role = role
            watch(role)

        return both

    def clock(self) -> float:
        return self._wire.clock()

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        self._happen()
        self._wire.send(parts, to=to, timeout=timeout, more=more)

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        self._happen()
        if self._kept:
            return self._kept.popleft()
        return self._wire.arrive(timeout=timeout)

    def abort(self, status: int) -> NoReturn:
        self._wire.abort(status)

    def _happen(self) -> None:
        """Let the faults happen whose place the role has reached; each happens once."""
        if not self.left or self._role is None:
            return
        phase = self._role.current_phase
        sent = sum(act.sent for act in self._role.acts)
        for fault in list(self.left):
            is_here = fault.is_within(phase) and sent >= fault.messages
            if self._role.has_ended if fault.is_after_part else is_here:
                self.left.remove(fault)
                self._do(fault)

    def _do(self, fault: Fault) -> None:
        match fault.action:
            case "dies" if self._is_process:
                os.kill(os.getpid(), signal.SIGKILL)
            case "dies":
                raise InjectedFault(f"it died, as the fault {str(fault)!r} asks")
            case "pauses":
                self._wait(fault.seconds)
            case _ if self._is_process:
                while True:  # as a host that hangs: without a sign of life, whoever wakes it
                    os.kill(os.getpid(), signal.SIGSTOP)
            case _:
                while True:
                    self._wait(FOREVER)
                    self._kept.clear()

    def _wait(self, seconds: float) -> None:
        """Do nothing for some seconds; frames that come meanwhile are kept.

        The wire is asked for frames, so that time passes on a simulated network, too.
        """
        until = self._wire.clock() + seconds
        while (left := until - self._wire.clock()) > 0:
            frame = self._wire.arrive(timeout=left)
            if frame is not None:
                self._kept.append(frame)
