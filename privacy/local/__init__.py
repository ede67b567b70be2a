"""Local randomizers: how users randomize their values, and how the aggregator estimates."""

from .assignment import Assignment
from .choice import RANDOMIZERS, best, printed_choice
from .direct import DirectEncoding
from .hadamard import HadamardBit, HadamardResponse
from .hashing import LocalHashing
from .packing import pack, packed_size, unpack
from .randomizer import Randomizer, report
from .subset import SubsetSelection
from .unary import OptimisedUnary, SymmetricUnary

__all__ = [
    "RANDOMIZERS",
    "Assignment",
    "DirectEncoding",
    "HadamardBit",
    "HadamardResponse",
    "LocalHashing",
    "OptimisedUnary",
    "Randomizer",
    "SubsetSelection",
    "SymmetricUnary",
    "best",
    "pack",
    "packed_size",
    "printed_choice",
    "report",
    "unpack",
]
