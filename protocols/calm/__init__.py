"""CALM: the protocol of Zhang et al. 2018, its design, and ours."""

from .protocol import CALM

__all__ = ["CALM"]
