"""The base of protocols whose records are seen in secure sums, or in releases as private alone."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from ..protocol import Mode, Protocol, Public
from .options import SecureSums, SumOptions, choose_noise, sum_warnings

__all__ = ["SummingProtocol"]


SumOptionsT = TypeVar("SumOptionsT", bound=SumOptions)


class SummingProtocol(Protocol[SumOptionsT]):
    """A protocol whose parameters extend `SumOptions`; its claim covers `colluding` parties."""

    trust = "nobody with a record; the curator may collude with `colluding` parties"
    modes: ClassVar[tuple[Mode, ...]] = ("rigorous", "paper")
    neighbours = "replace-one"
    needs_schema = True
    uses: ClassVar[tuple[type, ...]] = (SecureSums,)

    def __init__(self, parameters: SumOptionsT, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        self.noise = choose_noise(parameters, mode=mode)

    @property
    def curator_may_collude(self) -> bool:
        return self.noise == "shares"  # in the ring a party can hand the curator partial sums

    @property
    def parties_talk(self) -> bool:
        return self.parameters.aggregator == "clear"  # otherwise they introduce themselves

    def warnings(self, public: Public) -> list[str]:
        return sum_warnings(self.parameters, noise=self.noise, parties=public.parties)
