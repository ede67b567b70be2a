"""The base of protocols whose records are seen in secure sums, or in releases as private alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, TypeVar

from ...messages import UsageError
from ...privacy.budget import Budget, Unit
from ..cost import Public
from ..options import Mode
from ..protocol import Protocol
from .options import NoiseKind, SecureSums, SumOptions, choose_noise, colluding, sum_warnings

__all__ = ["ConcentratedProtocol", "SummingProtocol", "require_lasting_sums"]


SumOptionsT = TypeVar("SumOptionsT", bound=SumOptions)

LAWS: Final[Mapping[Unit, str]] = {"epsilon": "laplace", "rho": "gaussian"}
"""The law of the noise that a budget in each unit buys."""


class SummingProtocol(Protocol[SumOptionsT]):
    """A protocol whose parameters extend `SumOptions`; its claim covers `colluding` parties."""

    trust = "no one sees a record; the curator may collude with up to `colluding` parties"
    modes: ClassVar[tuple[Mode, ...]] = ("rigorous", "paper")
    neighbours = "replace-one"
    needs_schema = True
    uses: ClassVar[tuple[type, ...]] = (SecureSums,)
    all_gaussian: ClassVar[bool]
    """Whether the protocol releases nothing but Gaussian noise and choices, where sums have it.

    Then the budget may be of Gaussian loss, which is larger than one of rho. A subclass says so
    anew, as it may release more than that.
    """

    def __init__(self, parameters: SumOptionsT, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        self._noise = choose_noise(parameters, mode=mode)
        self.is_whole_run = True
        """Whether all releases of the run are this protocol's.

        Where a schema is learnt with noise first, there are others.
        """

    @property
    def noise(self) -> NoiseKind:
        """How the noise of a sum is made: by shares, or by selection."""
        return "selected" if self._noise == "selected" else "shares"

    @property
    def budgets(self) -> list[Budget]:
        """The budgets of the whole run from which a plan takes the one that makes less noise.

        An amount of epsilon buys Laplace noise, and an amount of rho buys Gaussian noise. All roles
        make the same plan from public figures.
        """
        if self._noise in ("laplace", "selected"):
            return [Budget.pure(self.epsilon)]
        if self._noise == "gaussian":
            budgets = [Budget.of(self.epsilon, delta=self.delta)]
        else:
            budgets = Budget.candidates(self.epsilon, delta=self.delta)
        all_gaussian = type(self).__dict__.get("all_gaussian", False)  # no inherited one
        if all_gaussian and self.is_whole_run and budgets[-1].concentrated:
            budgets.append(Budget.of_noise(self.epsilon, delta=self.delta))
        return budgets

    def unit_of_budget(self, public: Public) -> Unit | None:  # noqa: ARG002 - for subclasses
        """Give the unit of the budget that the plan takes, where public figures tell."""
        units = {budget.unit for budget in self.budgets}
        return units.pop() if len(units) == 1 else None

    def chosen(self, public: Public) -> Mapping[str, str | int | float]:
        unit = self.unit_of_budget(public)
        law = "selected" if self._noise == "selected" else LAWS[unit] if unit else "auto"
        return {**super().chosen(public), "noise": law}

    @property
    def curator_may_collude(self) -> bool:
        return self.noise == "shares"  # in the ring a party can hand the curator partial sums

    @property
    def parties_talk(self) -> bool:
        return self.parameters.aggregator == "clear"  # otherwise they introduce themselves

    def warnings(self, public: Public) -> list[str]:
        return sum_warnings(self.parameters, noise=self.noise, parties=public.parties)


def require_lasting_sums(
    options: SumOptions, *, mode: Mode, parties: int, min_parties: int
) -> None:
    """Refuse sums that cannot go on without a lost party: nothing would protect what was sent.

    Raises:
        UsageError: the text says which options can.
    """
    noise = choose_noise(options, mode=mode)
    if options.aggregator == "clear" or noise == "selected":
        raise UsageError(
            "expected aggregator=paillier or masks, and noise in shares, to go on without a "
            f"party that is lost, found aggregator={options.aggregator}, "
            f"noise={noise}: nothing protects a table that was sent before the loss"
        )
    least = max(2, colluding(options, parties=parties) + 1)
    if not least <= min_parties <= parties:
        raise UsageError(
            f"expected --min-parties of {least} to {parties}, as noise needs one party more "
            f"than may collude, found {min_parties}"
        )


class ConcentratedProtocol(SummingProtocol[SumOptionsT]):
    """A protocol whose noise is Gaussian alone: its whole budget is an amount of rho."""

    modes: ClassVar[tuple[Mode, ...]] = ("rigorous",)

    def __init__(self, parameters: SumOptionsT, *, mode: Mode) -> None:
        if not parameters.delta:
            raise UsageError(
                f"expected a delta above 0 for {self.name}, whose noise is Gaussian, found 0: "
                "--delta 1e-9, or take dp-subn, which keeps a pure epsilon"
            )
        if parameters.noise not in (None, "auto", "gaussian"):
            raise UsageError(
                f"expected noise=gaussian for {self.name}, found {parameters.noise}: leave it out, "
                "or take dp-subn"
            )
        super().__init__(parameters, mode=mode)
        self.whole = Budget.of(self.epsilon, delta=self.delta)
        """The budget of the whole run."""

    @property
    def budgets(self) -> list[Budget]:
        return [self.whole]
