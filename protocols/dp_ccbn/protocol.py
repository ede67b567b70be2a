"""DP-CCBN, the baseline of DP-SUBN: the curator learns a network from noisy tables of candidates.

Su, Tang, Cheng, Chen, Wu, "Differentially private multi-party high-dimensional data publishing"
(ICDE 2016), section V. The two searches are protocols of their own, each in one file:

    iterative    as printed: all candidates are counted in every iteration
    oneshot      search=oneshot: every set of attributes is counted once

In both modes attributes enter as they are or as bits. Mode paper uses the tables as they come and
always has k >= 1. Mode rigorous makes the tables agree before the network is fitted.
"""

from __future__ import annotations

from ..options import Mode
from ..protocol import Protocol
from .iterative import Iterative
from .oneshot import OneShot
from .options import DPCCBNParameters

__all__ = ["DPCCBN"]


class DPCCBN(Iterative):
    """Learn the network from tables of all candidates, then its parameters."""

    @classmethod
    def variant(
        cls,
        parameters: DPCCBNParameters,
        *,
        mode: Mode,  # noqa: ARG003 - both searches have both modes
    ) -> type[Protocol[DPCCBNParameters]]:
        return OneShot if parameters.search == "oneshot" else Iterative
