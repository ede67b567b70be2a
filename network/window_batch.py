"""The windows of many TCP connections, as `window` has that of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .moment_batches import Floats, Indices
from .stack import MIN_RETRANSMISSION_SECONDS, SEGMENT_BYTES, CongestionControl
from .window import FIRST_WINDOW, FIRST_WINDOW_OF_BBR, Window

__all__ = ["WindowBatch"]


@dataclass(frozen=True, slots=True)
class WindowBatch:
    """The windows of connections that send the same; `Window` has the operations for one."""

    size: Indices
    used: Indices
    began: Floats
    paced: Floats

    @classmethod
    def of(cls, windows: Sequence[Window]) -> WindowBatch:
        """Put single windows together."""
        size, used, began, paced = zip(*windows, strict=True)
        return cls(np.array(size), np.array(used), np.array(began), np.array(paced))

    def send(
        self,
        size: int,
        *,
        now: Floats,
        round_trip: float,
        bandwidth: float,
        control: CongestionControl,
    ) -> tuple[Floats, WindowBatch]:
        """Send so many bytes on each connection; see `Window.send`."""
        is_idle = now >= self.began + round_trip
        window = _either(self, self._after_idling(now, round_trip, control), where=is_idle)
        rest = np.full(len(now), size)
        while np.any(
            is_full := (rest > window.size - window.used)
            & (8 * window.size / bandwidth < round_trip)
        ):
            rest = np.where(is_full, rest - (window.size - window.used), rest)
            filled = WindowBatch(window.size, window.size, window.began, window.paced)
            window = _either(window, filled.grown(window.began + round_trip), where=is_full)
        begins = np.where(window.began > now, window.began, now)
        end = begins + 8 * rest / bandwidth
        paced = window.paced
        if control == "bbr":
            seconds = round_trip / np.maximum(window.size, 2 * FIRST_WINDOW_OF_BBR)
            paced = np.maximum(begins, paced) + rest * seconds
            end = np.maximum(end, paced - SEGMENT_BYTES * seconds)
        used = np.minimum(window.used + rest, window.size)
        return end, WindowBatch(window.size, used, window.began, paced)

    def grown(self, now: Floats) -> WindowBatch:
        """Begin the next round trip; windows that were used by half grow."""
        size = np.where(2 * self.used >= self.size, self.size + self.used, self.size)
        return WindowBatch(size, np.zeros_like(size), now, np.full(len(size), -np.inf))

    def _after_idling(
        self, now: Floats, round_trip: float, control: CongestionControl
    ) -> WindowBatch:
        if control == "bbr":
            is_new = (self.began == -np.inf) & (self.size == FIRST_WINDOW)
            size = np.where(is_new, FIRST_WINDOW_OF_BBR, self.size)
            return WindowBatch(size, self.used, self.began, self.paced).grown(now)
        is_old = (self.began > -np.inf) & (
            now >= self.began + round_trip + MIN_RETRANSMISSION_SECONDS
        )
        new = np.full(len(now), FIRST_WINDOW)
        begun = WindowBatch(new, np.zeros_like(new), now, np.full(len(now), -np.inf))
        return _either(self.grown(now), begun, where=is_old)


def _either(
    first: WindowBatch, second: WindowBatch, *, where: npt.NDArray[np.bool_]
) -> WindowBatch:
    """Give the windows of the second batch at some places, and those of the first elsewhere."""
    return WindowBatch(
        np.where(where, second.size, first.size),
        np.where(where, second.used, first.used),
        np.where(where, second.began, first.began),
        np.where(where, second.paced, first.paced),
    )
