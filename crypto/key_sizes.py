"""Sizes of Paillier keys, apart from `public_key`, which loads phe."""

from __future__ import annotations

from typing import Final

__all__ = ["DEFAULT_KEY_BITS", "MIN_KEY_BITS"]

MIN_KEY_BITS: Final = 2048
"""Smallest modulus that counts as secure."""
DEFAULT_KEY_BITS: Final = 3072
