"""Adaptive pairs: a synthetic table close to the data in every pair of attributes."""

from .protocol import AdaptivePairs

__all__ = ["AdaptivePairs"]
