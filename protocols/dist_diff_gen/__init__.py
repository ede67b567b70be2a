"""DistDiffGen: two parties' records, generalised along taxonomies into groups, and each group
counted by class with noise.
"""

from .protocol import DistDiffGen

__all__ = ["DistDiffGen"]
