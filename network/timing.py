"""What a conversation takes on a network, and what its time consists of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..messages import role_name
from .moments import Moment, Reason, Stretch, critical_path
from .quantities import time_text

__all__ = ["Timing", "share_lines"]


@dataclass(frozen=True, slots=True)
class Timing:
    """The time of a conversation."""

    seconds: float
    path: Sequence[Stretch]
    """The critical path: stretches that led to the end, and add up to `seconds`."""
    waits: Mapping[tuple[int, int], float]
    """Seconds for which a role waited for messages of another: by receiver and sender."""

    @classmethod
    def of(cls, end: Moment, waits: Mapping[tuple[int, int], float]) -> Timing:
        """Take the time of a conversation that ended at a moment."""
        return cls(end.seconds, critical_path(end), dict(waits))

    @property
    def by_reason(self) -> dict[Reason, float]:
        """Seconds of the critical path for each reason, the largest first."""
        seconds: dict[Reason, float] = defaultdict(float)
        for stretch in self.path:
            seconds[stretch.reason] += stretch.seconds
        return dict(sorted(seconds.items(), key=lambda item: -item[1]))

    @property
    def computation_by_role(self) -> dict[int, float]:
        """Seconds of the critical path for which each role computes, the largest first."""
        seconds: dict[int, float] = defaultdict(float)
        for stretch in self.path:
            if stretch.reason is Reason.COMPUTATION:
                seconds[stretch.place[0]] += stretch.seconds
        return dict(sorted(seconds.items(), key=lambda item: -item[1]))

    @property
    def waits_by_role(self) -> dict[int, float]:
        """Seconds for which each role waited for messages."""
        seconds: dict[int, float] = defaultdict(float)
        for (receiver, _), waited in self.waits.items():
            seconds[receiver] += waited
        return dict(sorted(seconds.items()))

    def count(self, reason: Reason) -> int:
        """Count the stretches of the critical path for one reason."""
        return sum(stretch.reason is reason for stretch in self.path)


def share_lines(timing: Timing) -> list[str]:
    """Say in words what the time consists of, the largest part first.

    >>> path = [Stretch(0.1, Reason.LATENCY, (1, 0)), Stretch(0.3, Reason.COMPUTATION, (0, 0))]
    >>> for line in share_lines(Timing(0.4, path, {})):
    ...     print(line)
    300 ms (75 %) computation: the curator 300 ms
    100 ms (25 %) latency: 1 round
    """
    lines = []
    for reason, seconds in timing.by_reason.items():
        share = seconds / timing.seconds if timing.seconds else 0.0
        detail = _detail(timing, reason)
        lines.append(f"{time_text(seconds)} ({share:.0%}) {reason}{detail}".replace("%)", " %)"))
    return lines


def _detail(timing: Timing, reason: Reason) -> str:
    if reason is Reason.LATENCY:
        number = timing.count(reason)
        return f": {number:,} round{'' if number == 1 else 's'}"
    if reason is Reason.HANDSHAKE:
        return f": {timing.count(reason):,} half round trips of large frames"
    if reason is Reason.COMPUTATION:
        roles = list(timing.computation_by_role.items())[:3]
        parts = [f"{role_name(rank)} {time_text(seconds)}" for rank, seconds in roles]
        return f": {', '.join(parts)}"
    return ""
