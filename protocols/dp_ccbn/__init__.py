"""DP-CCBN, the baseline of DP-SUBN, and its two searches."""

from .protocol import DPCCBN

__all__ = ["DPCCBN"]
