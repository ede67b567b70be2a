"""DistDiffGen: two parties' records generalised into groups, which are counted by class with noise.

Alhadidi, Mohammed, Fung, Debbabi, "Secure distributed framework for achieving epsilon-differential
privacy" (PETS 2012): DiffGen (Mohammed, Chen, Fung, Yu, "Differentially private data release for
data mining", KDD 2011) for two parties with different records of the same attributes. It is a
baseline of Su et al. (2016). What it publishes serves one classifier, of `target`. The variants are
protocols of their own, each in one file:

    as_printed      mode paper: choices drawn by the exponential mechanism, simulated at party 1
    noisy_tables    mode rigorous: choices from noisy tables of all records
"""

from __future__ import annotations

from ..options import Mode
from ..protocol import Protocol
from .as_printed import AsPrinted
from .noisy_tables import NoisyTables
from .options import DistDiffGenParameters

__all__ = ["DistDiffGen"]


class DistDiffGen(NoisyTables):
    """Publish a generalised table of two parties' records, made to learn one attribute."""

    @classmethod
    def variant(
        cls,
        parameters: DistDiffGenParameters,  # noqa: ARG003 - the mode decides
        *,
        mode: Mode,
    ) -> type[Protocol[DistDiffGenParameters]]:
        return AsPrinted if mode == "paper" else NoisyTables
