"""FLAIM: AIM whose tables every party chooses by itself (Maddock, Cormode, Maple 2024)."""

from .augmented import AugFLAIM
from .protocol import FLAIM

__all__ = ["FLAIM", "AugFLAIM"]
