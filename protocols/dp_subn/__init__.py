"""DP-SUBN, its variants, and the parts that they share."""

from .protocol import DPSUBN

__all__ = ["DPSUBN"]
