"""The conversations, each reading as its paper."""

from .protocol import Cost, Epsilon, Formula, Options, Outcome, Protocol, Public
from .registry import available, find

__all__ = [
    "Cost",
    "Epsilon",
    "Formula",
    "Options",
    "Outcome",
    "Protocol",
    "Public",
    "available",
    "find",
]
