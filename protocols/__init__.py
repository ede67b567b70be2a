"""The conversations, each reading as its paper."""

from .protocol import AnyProtocol, Cost, Epsilon, Formula, Options, Outcome, Protocol, Public
from .registry import available, find

__all__ = [
    "AnyProtocol",
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
