"""Links: what one stretch of the way between two hosts does to bytes.

Links in series are added. Delays add up, the narrowest bandwidth counts, and a packet arrives only
if no stretch loses it. A perfect link changes nothing, so links are a monoid under addition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["PERFECT", "Link"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One stretch of the way, in one direction.

    >>> access = Link(latency=0.01, bandwidth=20e6)
    >>> access + Link(latency=0.05, jitter=0.02)
    Link(latency=0.060000000000000005, bandwidth=20000000.0, loss=0.0, jitter=0.02)
    """

    latency: float = 0.0
    """Seconds that a packet travels."""
    bandwidth: float = math.inf
    """Bits a second."""
    loss: float = 0.0
    """Probability that a packet is lost."""
    jitter: float = 0.0
    """The longest further delay of a message, in seconds; it is drawn uniformly."""

    def __add__(self, other: Link) -> Link:
        return Link(
            latency=self.latency + other.latency,
            bandwidth=min(self.bandwidth, other.bandwidth),
            loss=1 - (1 - self.loss) * (1 - other.loss),
            jitter=self.jitter + other.jitter,
        )

    def seconds(self, size: int) -> float:
        """Give the time that so many bytes take to pass a point of the link."""
        return 8 * size / self.bandwidth


PERFECT = Link()
"""No delay, endless bandwidth: what a link in series with it keeps."""
