"""Deadlock detection: finds a circle of roles that wait for each other.

The method is edge chasing (Chandy, Misra and Haas, 1983). A role that has waited for some time
sends a probe to the role that it waits for. A role that receives a probe while it waits passes it
on to the role that it waits for itself. A probe that returns to its initiator has followed a
circle.

A returned probe proves a circle. A role passes a probe on only while it is blocked, and only if
all its messages to the role before it have arrived there. So each role on the way can be set free
by the next one alone.

The payload of a probe, integers little-endian:

    offset  bytes
         0      2   initiator's rank
         2      8   number of the initiator's wait
        10      8   how many messages of the probe's receiver have arrived at its sender
        18          the waits along the way as text, in UTF-8
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from .errors import DeadlockError, role_name

__all__ = ["PROBE_AFTER", "DeadlockDetector", "Probe"]

PROBE_AFTER: Final = 1.0
"""Seconds of waiting between two probes."""

_PROBE: Final = struct.Struct("<HQQ")


class Probe(NamedTuple):
    """A probe to be sent."""

    to: int
    payload: bytes


class Wait(NamedTuple):
    """A wait for a message of a kind, numbered from 1 on by the role that waits."""

    source: int
    kind: str
    number: int


class DeadlockDetector:
    """One role's part in the detection. It sends nothing: it returns the probes to send."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._waits = 0
        self._wait: Wait | None = None
        self._probes_seen: set[tuple[int, int]] = set()

    def begin(self, kind: str, *, source: int) -> None:
        """Note that this role begins to wait."""
        self._waits += 1
        self._wait = Wait(source, kind, self._waits)
        self._probes_seen.clear()

    def end(self) -> None:
        """Note that this role no longer waits."""
        self._wait = None

    def probe(self, *, arrived: Sequence[int]) -> Probe | None:
        """Start a probe, if this role waits; `arrived` counts the messages of each rank."""
        if self._wait is None:
            return None
        return self._next(self._wait, self._rank, self._wait.number, "", arrived)

    def follow(self, payload: memoryview, *, sent: int, arrived: Sequence[int]) -> Probe | None:
        """Decide what becomes of a probe.

        Args:
            payload: the probe.
            sent: how many messages this role has sent to the role that the probe came from.
            arrived: how many messages of each rank have arrived here.

        Returns:
            The probe to pass on, or `None` where this role is not part of a circle.

        Raises:
            DeadlockError: the probe is this role's own, and its wait still lasts.
        """
        if len(payload) < _PROBE.size or self._wait is None:
            return None
        initiator, number, arrived_there = _PROBE.unpack_from(payload)
        if arrived_there != sent or (initiator, number) in self._probes_seen:
            return None
        self._probes_seen.add((initiator, number))
        waits = str(payload[_PROBE.size :], "utf-8", "replace")
        if initiator != self._rank:
            return self._next(self._wait, initiator, number, f"{waits}, ", arrived)
        if number == self._wait.number:
            raise DeadlockError(f"the roles wait for each other: {waits}")
        return None

    def _next(
        self, wait: Wait, initiator: int, number: int, waits_before: str, arrived: Sequence[int]
    ) -> Probe:
        waits = (
            f"{waits_before}{role_name(self._rank)} waits for {wait.kind} "
            f"from {role_name(wait.source)}"
        )
        head = _PROBE.pack(initiator, number, arrived[wait.source])
        return Probe(wait.source, head + waits.encode())
