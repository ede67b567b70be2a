"""PrivIncr, its baseline in one round, and the same without privacy (Wang et al. 2023)."""

from .no_incremental import NoIncremental
from .no_privacy import NoPrivJTree
from .protocol import PrivIncr

__all__ = ["NoIncremental", "NoPrivJTree", "PrivIncr"]
