"""The conversations, each reading as its paper."""

from .cost import Cost, Formula, Public
from .protocol import AnyProtocol, Epsilon, Options, Outcome, Protocol
from .registry import RECOMMENDED, RECOMMENDED_PURE, available, find

__all__ = [
    "RECOMMENDED",
    "RECOMMENDED_PURE",
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
