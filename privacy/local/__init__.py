"""Local randomizers: what one user says of one value, and what the aggregator makes of what all
say.
"""

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
    "DirectEncoding",
    "HadamardBit",
    "HadamardResponse",
    "LocalHashing",
    "OptimisedUnary",
    "Randomizer",
    "SubsetSelection",
    "Assignment",
    "SymmetricUnary",
    "best",
    "pack",
    "packed_size",
    "printed_choice",
    "report",
    "unpack",
]
