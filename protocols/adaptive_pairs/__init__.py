"""Adaptive pairs: tables of all attributes and pairs by a few secure sums."""

from .protocol import AdaptivePairs

__all__ = ["AdaptivePairs"]
