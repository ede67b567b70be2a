"""The version of sottovoce, which all roles of a run must share.

A test compares it with that of the package. Reading the package's own takes longer than a small
protocol takes to run.
"""

from __future__ import annotations

from typing import Final

__all__ = ["VERSION"]

VERSION: Final = "0.2.0"
