"""The messages of noise replacement."""

from __future__ import annotations

from typing import Annotated

from ...messages import CIPHERTEXT, BigInts, message, personal
from ..secure_sum import SecureSums

__all__ = ["NoiseReplacement"]


class NoiseReplacement(SecureSums):
    """The messages of noise replacement; a protocol that replaces noise names it in `uses`."""

    @personal
    @message
    class Frontier:
        """To the party whose turn it is: what to count, and the owner of each table (0: none)."""

        families: tuple[tuple[str, ...], ...]
        owners: tuple[int, ...]
        bound: int

    @personal
    @message
    class Handover:
        """To an earlier party: which noise of its own to hand over, summed out of which tables."""

        families: tuple[tuple[str, ...], ...]
        sources: tuple[tuple[str, ...], ...]
        bound: int

    @message
    class Negated:
        """From an owner to the party whose turn it is: its noise, negated."""

        cells: Annotated[BigInts, CIPHERTEXT]

    @message
    class Replaced:
        """To the curator: the change of the tables of one owner."""

        cells: Annotated[BigInts, CIPHERTEXT]
