"""PrivIncr, and the same with everything asked at once (Wang et al. 2023)."""

from .protocol import NoIncremental, PrivIncr

__all__ = ["NoIncremental", "PrivIncr"]
