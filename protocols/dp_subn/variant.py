"""What the variants of DP-SUBN declare alike: their parameters, and which of them go together."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import ClassVar

from ...messages import UsageError
from ..cost import Public
from ..options import Mode
from ..secure_sum import SummingProtocol
from .messages import Messages
from .options import DPSUBNParameters, Profile, Views

__all__ = ["Variant"]


class Variant(SummingProtocol[DPSUBNParameters]):
    """A variant of DP-SUBN.

    Its class has both sides of the protocol and the forecast.
    """

    name = "dp-subn"
    summary = "a synthetic table of all parties' records, from a Bayesian network"
    paper = "Su, Tang, Cheng, Chen, Wu 2016"
    uses: ClassVar[tuple[type, ...]] = (Messages,)
    usual: ClassVar[Profile]
    """What the variant does where parameters are left open."""
    designs: ClassVar[tuple[Views, ...]]
    """The values that `views` may have."""
    combination: ClassVar[str]
    """The parameters that go together in this variant, for messages to the user."""

    def __init__(self, parameters: DPSUBNParameters, *, mode: Mode) -> None:
        self._check(parameters)
        super().__init__(parameters, mode=mode)
        usual = self.usual
        self.profile = replace(
            usual,
            views=parameters.views or usual.views,
            budget=usual.budget if parameters.budget is None else parameters.budget,
            theta=parameters.theta or usual.theta,
            theta_frontier=parameters.theta_frontier or usual.theta_frontier,
        )

    def chosen(self, public: Public) -> dict[str, str | int | float]:
        return {**super().chosen(public), **asdict(self.profile)}

    def _check(self, parameters: DPSUBNParameters) -> None:
        """Refuse parameters of another variant."""
        expected: dict[str, tuple[str, ...]] = {
            "attributes": (self.usual.attributes,),
            "views": self.designs,
            "init": (self.usual.init,),
            "update": (self.usual.update,),
            "score": (self.usual.score,),
        }
        for name, values in expected.items():
            value: str | None = getattr(parameters, name)
            if value is not None and value not in values:
                raise UsageError(
                    f"expected {name}={' or '.join(values)}, found {value}: {self.combination}"
                )
