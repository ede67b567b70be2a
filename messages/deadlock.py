"""Deadlock detection: finds a circle of roles that wait for each other.

The method is edge chasing (Chandy, Misra and Haas, 1983). A role that has waited for some time
sends a probe to the role that it waits for. A role that receives a probe while it waits passes it
on to the role that it waits for itself. A probe that returns to its initiator has followed a
circle.

A returned probe proves a circle. A role passes a probe on only while it is blocked, and only if
all its messages to the role before it have arrived there. So each role on the way can be set free
by the next one alone.

Where a thousand roles wait in a row, probes of all that went all the way would be half a million.
So a role passes on only probes of roles that outrank it. In a circle the probe of the role that
outranks all others gets round. In a row a probe mostly goes a few roles far, as ranks are
scattered. And probes of one wait become rarer, up to one in `MAX_PROBE_INTERVAL` seconds.

The payload of a probe, integers little-endian:

    offset  bytes
         0      2   initiator's rank
         2      8   number of the probe among the initiator's
        10      8   how many messages of the probe's receiver have arrived at its sender
        18          the waits along the way as text, in UTF-8
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final, NamedTuple

from .errors import DeadlockError, role_name

__all__ = ["MAX_PROBE_INTERVAL", "PROBE_AFTER", "DeadlockDetector", "Probe"]

PROBE_AFTER: Final = 1.0
"""Seconds of waiting before the first probe; the time between two probes doubles."""
MAX_PROBE_INTERVAL: Final = 4.0
"""Longest time between two probes of one wait, in seconds."""

_PROBE: Final = struct.Struct("<HQQ")


class Probe(NamedTuple):
    """A probe to be sent."""

    to: int
    payload: bytes


class Wait(NamedTuple):
    """A wait for a message of a kind."""

    source: int
    kind: str
    first_probe: int
    """Number of the first probe that this wait may send."""


def outranks(first: int, second: int) -> bool:
    """Tell whether probes of the first role pass the second; the curator outranks all parties.

    Multiples of the golden ratio scatter the ranks of neighbours.
    """
    return _priority(first) < _priority(second)


def _priority(rank: int) -> int:
    return rank * 0x9E3779B1 % (1 << 32)


class DeadlockDetector:
    """One role's part in the detection. It sends nothing: it returns the probes to send."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._probes = 0
        self._wait: Wait | None = None
        # The number of the last probe of each initiator that was passed on.
        self._last_seen: dict[int, int] = {}

    def begin(self, kind: str, *, source: int) -> None:
        """Note that this role begins to wait."""
        self._wait = Wait(source, kind, self._probes + 1)
        self._last_seen.clear()

    def end(self) -> None:
        """Note that this role no longer waits."""
        self._wait = None

    def probe(self, *, arrived: Mapping[int, int]) -> Probe | None:
        """Start a probe, if this role waits; `arrived` counts the messages of each rank."""
        if self._wait is None:
            return None
        self._probes += 1
        return self._next(self._wait, self._rank, self._probes, "", arrived)

    def follow(self, payload: memoryview, *, sent: int, arrived: Mapping[int, int]) -> Probe | None:
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
        if arrived_there != sent:
            return None
        waits = str(payload[_PROBE.size :], "utf-8", "replace")
        if initiator == self._rank:
            if number >= self._wait.first_probe:
                raise DeadlockError(f"the roles wait for each other: {waits}")
            return None
        if not outranks(initiator, self._rank) or number <= self._last_seen.get(initiator, 0):
            return None
        self._last_seen[initiator] = number
        return self._next(self._wait, initiator, number, f"{waits}, ", arrived)

    def _next(
        self,
        wait: Wait,
        initiator: int,
        number: int,
        waits_before: str,
        arrived: Mapping[int, int],
    ) -> Probe:
        waits = (
            f"{waits_before}{role_name(self._rank)} waits for {wait.kind} "
            f"from {role_name(wait.source)}"
        )
        head = _PROBE.pack(initiator, number, arrived.get(wait.source, 0))
        return Probe(wait.source, head + waits.encode())
