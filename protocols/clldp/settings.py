"""What may be set in protocols that ask for a label: by whom omega is believed, and how k follows from it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from ...messages import UsageError
from ...privacy import Domain
from ...privacy.local.heads import Heads
from ..local import SurveyOptions
from ..protocol import Mode

__all__ = ["LabelOptions", "Source", "label_of", "read_prior"]

Source = Literal["sample", "prior", "oracle", "none"]
"""Of omega: users of their own, knowledge from outside, the truth (for experiments), or nothing: omega is 1."""


class LabelOptions(SurveyOptions):
    """Options of a protocol that asks for a label."""

    label: Annotated[str, msgspec.Meta(description="the attribute that is protected; default: the last")] = ""
    belief: Annotated[
        Source,
        msgspec.Meta(
            description="where omega is from: sample (a share of the users), prior, oracle (the truth: not private), "
            "or none (omega is 1: local differential privacy of the whole record)"
        ),
    ] = "sample"
    prior: Annotated[
        str, msgspec.Meta(description="omega by attribute for belief=prior: 'age:0.4,sex:0.7', or '*:0.5' for all others")
    ] = ""
    sample: Annotated[float, msgspec.Meta(gt=0, lt=1, description="share of the users who are asked for omega alone")] = 0.1
    sure: Annotated[
        Annotated[float, msgspec.Meta(ge=0, le=100)] | None,
        msgspec.Meta(description="standard deviations above the estimate of omega; default 3, in mode paper 0"),
    ] = None
    choice: Annotated[
        Heads | None, msgspec.Meta(description="of k: scan (the least error), or paper (equation 8); by the mode")
    ] = None
    heads: Annotated[int, msgspec.Meta(ge=0, description="k: cells of a report; 0: chosen")] = 0
    randomizer: Annotated[
        Literal["khr", "basic"], msgspec.Meta(description="khr (k heads response), or basic (every bit flipped, omega is 1)")
    ] = "khr"
    record_cap: Annotated[
        Annotated[float, msgspec.Meta(ge=0)] | None,
        msgspec.Meta(description="epsilon of the whole record, at most; 0: no bound; default 2 epsilon, in mode paper 0"),
    ] = None

    def __post_init__(self) -> None:
        if (self.belief == "prior") != bool(self.prior):
            raise UsageError(f"expected prior= with belief=prior, found belief={self.belief} and prior={self.prior!r}")
        if self.record_cap and self.record_cap < self.epsilon:
            raise UsageError(f"expected a record_cap of at least epsilon, {self.epsilon:g}, found {self.record_cap:g}")

    def cap(self, mode: Mode) -> float | None:
        """Say how much may be told of a whole record; `None`: as much as follows from omega."""
        if self.record_cap is None:
            return None if mode == "paper" else 2 * self.epsilon
        return self.record_cap or None


def label_of(domain: Domain, name: str) -> str:
    """Find the label, which needs two classes and something beside it."""
    label = name or domain.attributes[-1]
    if domain.cells((label,)) < 2:
        raise UsageError(f"expected a label of at least two classes, found {label} with one")
    if not any(domain.cells((own,)) > 1 for own in domain.attributes if own != label):
        raise UsageError(f"expected an attribute of two labels or more beside {label}, found none")
    return label


def read_prior(text: str, names: tuple[str, ...]) -> dict[str, float]:
    """Read `age:0.4,*:0.9`: omega at k = 1 of each attribute; of those that are not named it is 1.

    >>> read_prior("age:0.4", ("age", "sex"))
    {'age': 0.4, 'sex': 1.0}
    """
    said: dict[str, float] = {}
    for part in text.split(","):
        name, colon, value = part.rpartition(":")
        try:
            omega = float(value)
        except ValueError:
            omega = -1.0
        if not colon or not 0 < omega <= 1 or name.strip() not in {*names, "*"}:
            raise UsageError(f"expected ATTRIBUTE:OMEGA with omega above 0 and at most 1, found {part.strip()!r} in prior")
        said[name.strip()] = omega
    return {name: said.get(name, said.get("*", 1.0)) for name in names}
