"""What may be set in protocols that ask for a label: by whom omega is believed, and how k follows
from it.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from ...curator.labels import DEFAULT_DEVIATIONS
from ...messages import UsageError
from ...privacy import Domain
from ...privacy.local.heads import Heads
from ..local import SurveyOptions
from ..protocol import Mode

__all__ = ["LabelOptions", "Source", "label_of", "least_belief", "prior_beliefs", "read_prior"]

MOST_EPSILON: Final = 300.0
"""e^(2 epsilon) is a number, and nobody's reports differ from the truth any more."""
MOST_DRAWN: Final = 1_000_000_000
"""Whose reports numpy can draw the sum of."""

Source = Literal["sample", "prior", "oracle", "none"]
"""Of omega: users of their own, knowledge from outside, the truth (for experiments), or nothing:
omega is 1.
"""


class LabelOptions(SurveyOptions):
    """Options of a protocol that asks for a label."""

    label: Annotated[
        str, msgspec.Meta(description="the attribute that is protected; default: the last")
    ] = ""
    belief: Annotated[
        Source,
        msgspec.Meta(
            description="where omega is from: sample (a share of the users), prior, oracle (the truth: not private), "
            "or none (omega is 1: local differential privacy of the whole record)"
        ),
    ] = "sample"
    prior: Annotated[
        str,
        msgspec.Meta(
            description="omega by attribute for belief=prior: 'age:0.4,sex:0.7', or '*:0.5' for all others"
        ),
    ] = ""
    sample: Annotated[
        float,
        msgspec.Meta(gt=0, lt=1, description="share of the users who are asked for omega alone"),
    ] = 0.1
    sure: Annotated[
        Annotated[float, msgspec.Meta(ge=0, le=100)] | None,
        msgspec.Meta(
            description="standard deviations above the estimate of omega; default 3, in mode paper 0"
        ),
    ] = None
    choice: Annotated[
        Heads | None,
        msgspec.Meta(
            description="of k: scan (the least error), or paper (equation 8); by the mode"
        ),
    ] = None
    heads: Annotated[int, msgspec.Meta(ge=0, description="k: cells of a report; 0: chosen")] = 0
    randomizer: Annotated[
        Literal["khr", "basic"],
        msgspec.Meta(
            description="khr (k heads response), or basic (every bit flipped, omega is 1)"
        ),
    ] = "khr"
    record_cap: Annotated[
        Annotated[float, msgspec.Meta(ge=0)] | None,
        msgspec.Meta(
            description="epsilon of the whole record, at most; 0: no bound; default 2 epsilon, in mode paper 0"
        ),
    ] = None

    def __post_init__(self) -> None:
        if (self.belief == "prior") != bool(self.prior):
            raise UsageError(
                f"expected prior= with belief=prior, found belief={self.belief} and prior={self.prior!r}"
            )
        if self.epsilon > MOST_EPSILON:
            raise UsageError(
                f"expected an epsilon of at most {MOST_EPSILON:g}, found {self.epsilon:g}: nothing is left to protect"
            )
        if self.users >= MOST_DRAWN and self.simulate == "counts":
            raise UsageError(
                f"expected fewer than {MOST_DRAWN:,} users with simulate=counts, found {self.users:,}"
            )
        if self.record_cap and self.record_cap < self.epsilon:
            raise UsageError(
                f"expected a record_cap of at least epsilon, {self.epsilon:g}, found {self.record_cap:g}"
            )

    def sureness(self, mode: Mode) -> float:
        """Say how many standard errors above its estimate omega is taken to be."""
        return (
            self.sure if self.sure is not None else 0.0 if mode == "paper" else DEFAULT_DEVIATIONS
        )

    def rule(self, mode: Mode) -> Literal["paper", "scan"]:
        """Say by what k is chosen."""
        return self.choice or ("paper" if mode == "paper" else "scan")

    def cap(self, mode: Mode) -> float | None:
        """Say how much may be told of a whole record; `None`: as much as follows from omega."""
        if self.record_cap is None:
            return None if mode == "paper" else 2 * self.epsilon
        return self.record_cap or None


def least_belief(
    options: LabelOptions,
    *,
    attributes: tuple[str, ...],
    values: int,
    heads: int,
    names: tuple[str, ...],
    plain: bool = False,
) -> float:
    """Say which omega a user takes at least, whatever the collector says: no data can have less
    than k / m_s.

    Where omega is given, by a prior or as 1, she has it as well as the collector.
    """
    if plain or options.randomizer == "basic" or options.belief == "none":
        return 1.0
    if options.belief == "prior":
        return float(
            prior_beliefs(options.prior, attributes=attributes, values=values, names=names)[
                min(heads, values) - 1
            ]
        )
    return min(1.0, heads / values)


def prior_beliefs(
    prior: str, *, attributes: tuple[str, ...], values: int, names: tuple[str, ...]
) -> npt.NDArray[np.float64]:
    """Find omega(1), omega(2), ... of a set by a prior: at most k omega(1), as it is concave.

    Of several attributes together omega is at most each one's: their cells lie within its cells.
    """
    omega = read_prior(prior, names)
    return np.asarray(
        np.minimum(
            np.arange(1, values + 1) * max(min(omega[name] for name in attributes), 1 / values), 1.0
        )
    )


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
            raise UsageError(
                f"expected ATTRIBUTE:OMEGA with omega above 0 and at most 1, found {part.strip()!r} in prior"
            )
        said[name.strip()] = omega
    return {name: said.get(name, said.get("*", 1.0)) for name in names}
