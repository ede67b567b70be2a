"""DistDiffGen, its variants, and the parts that they share."""

from .protocol import DistDiffGen

__all__ = ["DistDiffGen"]
