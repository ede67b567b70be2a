"""The conversations, each reading as its paper."""

from .cost import Cost, Formula, Public
from .options import Epsilon, Options
from .outcome import Outcome
from .protocol import AnyProtocol, Protocol
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
