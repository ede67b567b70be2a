"""Parameters of protocols that ask for a label: the source of omega, and the choice of k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from ...messages import UsageError
from ...privacy import Domain
from ...privacy.local.hashed_heads import named_values
from ...privacy.local.heads import HeadsRule
from ..survey import SurveyOptions

__all__ = [
    "BeliefRules",
    "BeliefSource",
    "LabelOptions",
    "LabelSettings",
    "RandomizerKind",
    "label_of",
    "prior_beliefs",
    "read_prior",
]

MAX_EPSILON: Final = 300.0
"""e^(2 epsilon) is still a number, and all reports are true already."""
MAX_USERS_BY_COUNTS: Final = 1_000_000_000
"""Most users whose sums numpy can draw."""

BeliefSource = Literal["sample", "prior", "oracle", "none"]
"""Source of omega: some users, prior knowledge, the truth (for experiments), or omega = 1."""
RandomizerKind: TypeAlias = Literal["khr", "hashed", "basic"]


class LabelOptions(SurveyOptions):
    """Parameters of a protocol that asks for a label."""

    label: Annotated[
        str, msgspec.Meta(description="the attribute that is protected; default: the last")
    ] = ""
    belief: Annotated[
        BeliefSource,
        msgspec.Meta(
            description="where omega is from: sample (a share of the users), prior, oracle (the "
            "truth: not private), or none (omega is 1: local differential privacy of the whole "
            "record)"
        ),
    ] = "sample"
    prior: Annotated[
        str,
        msgspec.Meta(
            description="omega by attribute for belief=prior: 'age:0.4,sex:0.7', or '*:0.5' for "
            "all others"
        ),
    ] = ""
    sample: Annotated[
        float,
        msgspec.Meta(gt=0, lt=1, description="share of the users who are asked for omega alone"),
    ] = 0.1
    sure: Annotated[
        Annotated[float, msgspec.Meta(ge=0, le=100)] | None,
        msgspec.Meta(
            description="standard deviations above the estimate of omega; default 3, in mode "
            "paper 0"
        ),
    ] = None
    choice: Annotated[
        HeadsRule | None,
        msgspec.Meta(
            description="of k: scan (the least error), or paper (equation 8); by the mode"
        ),
    ] = None
    heads: Annotated[int, msgspec.Meta(ge=0, description="k: cells of a report; 0: chosen")] = 0
    randomizer: Annotated[
        RandomizerKind,
        msgspec.Meta(
            description="khr (k heads response), hashed (one head of values hashed to fewer "
            "numbers), or basic (every bit flipped, omega is 1)"
        ),
    ] = "khr"
    hashes: Annotated[
        int,
        msgspec.Meta(ge=0, description="g: numbers of the hash (randomizer=hashed); 0: chosen"),
    ] = 0
    record_cap: Annotated[
        Annotated[float, msgspec.Meta(ge=0)] | None,
        msgspec.Meta(
            description="epsilon of the whole record, at most; 0: no bound; default 2 epsilon, in "
            "mode paper 0"
        ),
    ] = None

    def __post_init__(self) -> None:
        if (self.belief == "prior") != bool(self.prior):
            raise UsageError(
                f"expected prior= with belief=prior, found belief={self.belief} and "
                f"prior={self.prior!r}"
            )
        if self.heads and self.randomizer == "hashed":
            raise UsageError(
                f"expected hashes= with randomizer=hashed, which reports one head, found "
                f"heads={self.heads}"
            )
        if self.hashes and self.randomizer != "hashed":
            raise UsageError(
                f"expected hashes= with randomizer=hashed, found randomizer={self.randomizer}"
            )
        if self.epsilon > MAX_EPSILON:
            raise UsageError(
                f"expected an epsilon of at most {MAX_EPSILON:g}, found {self.epsilon:g}: nothing "
                "is left to protect"
            )
        if self.users >= MAX_USERS_BY_COUNTS and self.simulate == "counts":
            raise UsageError(
                f"expected fewer than {MAX_USERS_BY_COUNTS:,} users with simulate=counts, found "
                f"{self.users:,}"
            )
        if self.record_cap and self.record_cap < self.epsilon:
            raise UsageError(
                f"expected a record_cap of at least epsilon, {self.epsilon:g}, found "
                f"{self.record_cap:g}"
            )

    @property
    def source(self) -> BeliefSource:
        """Source of omega: with `randomizer=basic` omega is 1 whatever the data."""
        return "none" if self.randomizer == "basic" else self.belief


@dataclass(frozen=True, slots=True)
class BeliefRules:
    """How omega and k are chosen: the options, with a variant's values where they are left open."""

    sure: float
    """Standard errors by which omega is taken above its estimate."""
    choice: HeadsRule
    """Rule by which k is chosen."""
    cap: float | None
    """Bound on the epsilon of a whole record; `None` is no bound but what follows from omega."""

    @classmethod
    def of(
        cls, options: LabelOptions, *, sure: float, choice: HeadsRule, cap: float
    ) -> BeliefRules:
        """Take the options, and these values for those that are left open. A cap of 0 is none."""
        limit = cap if options.record_cap is None else options.record_cap
        return cls(
            sure if options.sure is None else options.sure, options.choice or choice, limit or None
        )


@dataclass(frozen=True, slots=True)
class LabelSettings:
    """What both sides of a survey know in advance."""

    options: LabelOptions
    rules: BeliefRules
    domain: Domain
    label: str

    def cells(self, attributes: tuple[str, ...]) -> int:
        """Count the cells of a table of the label and these attributes."""
        return self.domain.cells((self.label, *attributes))

    @property
    def others(self) -> tuple[str, ...]:
        """All attributes but the label."""
        return tuple(name for name in self.domain.attributes if name != self.label)

    def sample_size(self, users: int) -> int:
        """Count the users who report for the estimate of omega alone."""
        if self.options.source != "sample":
            return 0
        return max(1, round(self.options.sample * users))

    def prior_beliefs(self, attributes: tuple[str, ...]) -> npt.NDArray[np.float64]:
        """Find omega(1), omega(2), ... of a set of attributes by the prior."""
        return prior_beliefs(
            self.options.prior,
            attributes=attributes,
            values=self.domain.cells(attributes),
            names=self.others,
        )

    def kind(self, *, plain: bool) -> RandomizerKind:
        """How users report. In a `plain` round, where omega is 1, nothing is hashed."""
        kind = self.options.randomizer
        return "khr" if plain and kind == "hashed" else kind

    def named_values(self, values: int, *, heads: int) -> int:
        """Bound the values of one label that a report names: k, or those that share a hash.

        Where values are hashed, `heads` is the number of hashes.
        """
        if self.options.randomizer == "hashed":
            return named_values(values, heads)
        return min(heads, values)

    def least_belief(self, attributes: tuple[str, ...], *, heads: int, plain: bool) -> float:
        """Find the least omega that a user accepts, whatever the curator claims.

        No data has an omega below k / m_s. Where omega is given, by a prior or as 1, the user knows
        it as well as the curator. In a `plain` round omega is 1.
        """
        values = self.domain.cells(attributes)
        if plain or self.options.source == "none":
            return 1.0
        if self.options.source == "prior":
            named = self.named_values(values, heads=heads)
            return float(self.prior_beliefs(attributes)[named - 1])
        return self.named_values(values, heads=heads) / values


def prior_beliefs(
    prior: str, *, attributes: tuple[str, ...], values: int, names: tuple[str, ...]
) -> npt.NDArray[np.float64]:
    """Find omega(1), omega(2), ... of a set by a prior: at most k omega(1), as omega is concave.

    The cells of several attributes lie within the cells of each. So their omega is at most that of
    each attribute.
    """
    omega = read_prior(prior, names)
    first = max(min(omega[name] for name in attributes), 1 / values)
    return np.asarray(np.minimum(np.arange(1, values + 1) * first, 1.0))


def label_of(domain: Domain, name: str) -> str:
    """Find the label, which needs two classes, and an attribute of two labels beside it."""
    label = name or domain.attributes[-1]
    if domain.cells((label,)) < 2:
        raise UsageError(f"expected a label of at least two classes, found {label} with one")
    if not any(domain.cells((other,)) > 1 for other in domain.attributes if other != label):
        raise UsageError(f"expected an attribute of two labels or more beside {label}, found none")
    return label


def read_prior(text: str, names: tuple[str, ...]) -> dict[str, float]:
    """Read `age:0.4,*:0.9`: omega(1) of each attribute. It is 1 for attributes without an entry.

    >>> read_prior("age:0.4", ("age", "sex"))
    {'age': 0.4, 'sex': 1.0}
    """
    entries: dict[str, float] = {}
    for part in text.split(","):
        name, colon, value = part.rpartition(":")
        try:
            omega = float(value)
        except ValueError:
            omega = -1.0
        if not colon or not 0 < omega <= 1 or name.strip() not in {*names, "*"}:
            raise UsageError(
                "expected ATTRIBUTE:OMEGA with omega above 0 and at most 1, found "
                f"{part.strip()!r} in prior"
            )
        entries[name.strip()] = omega
    return {name: entries.get(name, entries.get("*", 1.0)) for name in names}
