"""Local randomizers: what one user says of one value, and what the aggregator makes of what all say."""

from .direct import DirectEncoding
from .hadamard import HadamardResponse
from .randomizer import Randomizer
from .unary import OptimisedUnary, SymmetricUnary

__all__ = ["DirectEncoding", "HadamardResponse", "OptimisedUnary", "Randomizer", "SymmetricUnary"]
