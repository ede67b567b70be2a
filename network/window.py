"""TCP's window: how much a connection sends before it has heard of the receiver.

A connection sends a window of bytes in every round trip. A window that was used grows by what was
sent, so it doubles with every round trip in which there is enough to send. What the connection has
learnt of the way it keeps.

Reno sends a window at once, and begins with ten segments. BBR spreads what it sends. At first it
sends 2 / ln 2 times ten segments in a round trip (its gain in start-up), and waits for the receiver
after half of a round trip. Then it sends a window evenly in each round trip, the first two of which
are alike.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from .stack import MIN_RETRANSMISSION_SECONDS, SEGMENT_BYTES, CongestionControl

__all__ = ["FIRST_WINDOW", "FIRST_WINDOW_OF_BBR", "Window"]

FIRST_WINDOW: Final = 10 * SEGMENT_BYTES
"""Bytes that TCP sends on a new connection at first (RFC 6928)."""


FIRST_WINDOW_OF_BBR: Final = round(FIRST_WINDOW / math.log(2))
"""Bytes that BBR sends in half a round trip on a new connection, before it waits."""


class Window(NamedTuple):
    """The window of a connection in one round trip."""

    size: int = FIRST_WINDOW
    used: int = 0
    """Bytes that were sent in this round trip."""
    began: float = -math.inf
    """When this round trip began, in seconds."""
    paced: float = -math.inf
    """When all bytes so far have left, where they are spread."""

    def send(
        self,
        size: int,
        *,
        now: float,
        round_trip: float,
        bandwidth: float,
        control: CongestionControl = "bbr",
    ) -> tuple[float, Window]:
        """Send so many bytes, from now on.

        Returns:
            When the last byte may leave, and the window afterwards.

        A window of 10,000 bytes and a round trip of a second: 70,000 bytes leave in three windows.

        >>> way = {"now": 0, "round_trip": 1, "bandwidth": math.inf}
        >>> end, window = Window(10_000).send(70_000, **way, control="reno")
        >>> end, window.size
        (2.0, 40000)
        """
        is_idle = now >= self.began + round_trip
        window = self._after_idling(now, round_trip, control) if is_idle else self
        rest = size
        # Where a window fills the whole way, acknowledgements come while it is being sent.
        while rest > window.size - window.used and 8 * window.size / bandwidth < round_trip:
            rest -= window.size - window.used
            window = window._replace(used=window.size).grown(window.began + round_trip)
        begins = max(now, window.began)
        end = begins + 8 * rest / bandwidth
        paced = window.paced
        if control == "bbr":
            seconds = round_trip / max(window.size, 2 * FIRST_WINDOW_OF_BBR)
            paced = max(begins, paced) + rest * seconds
            # The last segment leaves as a whole.
            end = max(end, paced - SEGMENT_BYTES * seconds)
        used = min(window.used + rest, window.size)
        return end, Window(window.size, used, window.began, paced)

    def _after_idling(self, now: float, round_trip: float, control: CongestionControl) -> Window:
        """Begin a round trip now, when all has been acknowledged."""
        if control == "bbr":
            is_new = self.began == -math.inf and self.size == FIRST_WINDOW
            return self._replace(size=FIRST_WINDOW_OF_BBR).grown(now) if is_new else self.grown(now)
        is_used = self.began > -math.inf
        if is_used and now >= self.began + round_trip + MIN_RETRANSMISSION_SECONDS:
            return Window(began=now)
        return self.grown(now)

    def grown(self, now: float) -> Window:
        """Begin the next round trip; a window that was used by half grows."""
        size = self.size + self.used if 2 * self.used >= self.size else self.size
        return Window(size, 0, now)
