"""DP-SUBN and the parts it is made of."""

from .protocol import DPSUBN

__all__ = ["DPSUBN"]
