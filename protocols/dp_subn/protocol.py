"""DP-SUBN: a synthetic table of all parties' records, from a Bayesian network.

Su, Tang, Cheng, Chen, Wu, "Differentially private multi-party high-dimensional data publishing"
(ICDE 2016). The variants are protocols of their own, each in one file:

    as_printed    mode paper: section VI-A to the letter, on bits
    on_bits       attributes=binary: the same phases with the paper's faults mended
    in_turn       attributes=binary, update=sequential: the same with updates from party to party
    forest        init=forest: on the original attributes, with a forest that the parties choose
    edges         the default: the same with as many edges as are worth their noise
"""

from __future__ import annotations

from ..options import Mode
from ..protocol import Protocol
from .as_printed import AsPrinted
from .edges import Edges
from .forest import Forest
from .in_turn import InTurn
from .on_bits import OnBits
from .options import DPSUBNParameters

__all__ = ["DPSUBN"]


class DPSUBN(Edges):
    """Publish a synthetic table of all parties' records; the default is `Edges`."""

    @classmethod
    def variant(
        cls, parameters: DPSUBNParameters, *, mode: Mode
    ) -> type[Protocol[DPSUBNParameters]]:
        if mode == "paper":
            return AsPrinted
        if parameters.attributes != "binary":
            return Forest if parameters.init == "forest" else Edges
        return InTurn if parameters.update == "sequential" else OnBits
