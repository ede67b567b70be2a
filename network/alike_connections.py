"""The connections of all parties in one direction, in rounds in which all parties do the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .connection import KEPT_WINDOWS, Connection
from .link import Link
from .moment_batches import (
    MomentBatch,
    given,
    later,
    latest_of,
)
from .moments import START, Moment, Place, Reason
from .stack import Stack
from .window import Window
from .window_batch import WindowBatch

__all__ = ["AlikeConnections", "NotAlikeError"]


class NotAlikeError(Exception):
    """Parties do not all do the same in the same order."""


@dataclass(slots=True)
class _Load:
    """Bytes that have not left on some connections."""

    size: int | None
    """`None` where they were sent before all did alike."""
    gone: MomentBatch


class AlikeConnections:
    """The connections of all parties in one direction."""

    def __init__(
        self,
        places: Sequence[Place],
        link: Link,
        round_trip: float,
        *,
        before: Sequence[Connection | None],
        gone: Sequence[Moment],
    ) -> None:
        """Take over the state of single connections.

        Args:
            places: sender and receiver of each connection.
            link: the link that all of them have.
            round_trip: the seconds of their round trip.
            before: what they were before; `None` where nothing was sent.
            gone: when the last byte has left that was sent before.
        """
        windows = [Window() if each is None else each.window for each in before]
        self.places = places
        self.link = link
        self.arrival = given([START if each is None else each.arrival for each in before])
        """When the last load arrived, by the place of the connection."""
        self._round_trip = round_trip
        self._windows = WindowBatch.of(windows)
        self._loads = [_Load(None, given(gone))]

    def begin(self, moment: MomentBatch) -> None:
        """Begin to send at a moment: what has left by then is forgotten."""
        self._loads = [load for load in self._loads if np.any(load.gone.seconds > moment.seconds)]

    def is_busy(self) -> bool:
        """Tell whether anything that was sent before has not left on some of the connections."""
        return bool(self._loads)

    def waits(self, moment: MomentBatch) -> bool:
        """Tell whether a further load has to wait, as one before it has not left by a moment.

        Raises:
            NotAlikeError: it has on some connections, and has not on others.
        """
        self.begin(moment)
        waits = np.zeros(len(self.places), np.bool_)
        for load in self._loads:
            waits |= load.gone.seconds > moment.seconds
        if waits.all() != waits.any():
            raise NotAlikeError
        return bool(waits.all())

    def take(self, size: int, moment: MomentBatch, *, waiting: int) -> bool:
        """Take a load; tell whether the senders' systems take all of it at once.

        Args:
            size: bytes of the load.
            moment: when it is sent.
            waiting: bytes that wait on the connection.

        Raises:
            NotAlikeError: some of them do, and some do not.
        """
        unsent = np.full(len(self.places), size + waiting)
        for load in self._loads:
            if load.size is None:
                raise NotAlikeError
            unsent += np.where(load.gone.seconds > moment.seconds, load.size, 0)
        taken = unsent <= KEPT_WINDOWS * self._windows.size
        if taken.all() != taken.any():
            raise NotAlikeError
        return bool(taken.all())

    def free(self, moment: MomentBatch) -> MomentBatch:
        """Give when a load can leave that is sent at a moment: behind those before it."""
        return latest_of(moment, self._loads[-1].gone) if self._loads else moment

    def cross(
        self, size: int, *, head: MomentBatch, tail: MomentBatch, stack: Stack, is_taken: bool
    ) -> tuple[MomentBatch, MomentBatch, MomentBatch | None]:
        """Cross the network with a load; see `Connection.cross`.

        Returns:
            When the first and the last byte arrive, and when the senders' systems have taken all,
            if they have not at once.
        """
        end, self._windows = self._windows.send(
            size,
            now=head.seconds,
            round_trip=self._round_trip,
            bandwidth=self.link.bandwidth,
            control=stack.congestion_control,
        )
        place, latency = self.places.__getitem__, self.link.latency
        gone = later(tail, end - tail.seconds, Reason.SLOW_START, place)
        taken = None
        if not is_taken:
            held = np.maximum(0.0, gone.seconds - self._round_trip - head.seconds)
            is_slow = end > tail.seconds

            def why(index: int) -> Reason:
                return Reason.SLOW_START if is_slow[index] else Reason.BANDWIDTH

            taken = later(head, held, why, place)
        self._loads.append(_Load(size, gone))
        return (
            later(head, latency, Reason.LATENCY, place),
            later(gone, latency, Reason.LATENCY, place),
            taken,
        )

    def arrive(self, tail: MomentBatch) -> MomentBatch:
        """Give when a load arrives, behind those before it."""
        self.arrival = latest_of(tail, self.arrival)
        return self.arrival
