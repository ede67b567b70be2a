"""What can be chosen of a run, and what is chosen where nothing is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from ...messages import UsageError
from ..protocol import Epsilon, Mode
from ..secure_sum import NoiseKind, SumOptions, choose_noise

__all__ = [
    "PROFILES",
    "Budget",
    "Choices",
    "Init",
    "Profile",
    "Score",
    "Settings",
    "Update",
    "Views",
    "settle",
]

Views: TypeAlias = Literal["nocd", "algorithm-2", "priview", "pairs", "one-way"]
Init: TypeAlias = Literal["mst", "em", "forest"]
Update: TypeAlias = Literal["none", "joint", "sequential", "replace"]
Score: TypeAlias = Literal["I", "R"]
Usefulness: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
Rows: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]

BY_SIZE: Final = "by size"
"""A budget that is split by how large the tables are: `plan.forest_budget`."""


class Choices(SumOptions):
    """What can be said of a run; what is not said follows from the mode and the attributes
    (`PROFILES`).
    """

    epsilon: Epsilon = 1.0
    attributes: Annotated[
        Literal["original", "binary"] | None,
        msgspec.Meta(description="as they are, or as bits (mode paper)"),
    ] = None
    views: Annotated[
        Views | None, msgspec.Meta(description="which tables quantify the correlations")
    ] = None
    init: Annotated[Init | None, msgspec.Meta(description="how N_0 is found")] = None
    update: Annotated[Update | None, msgspec.Meta(description="how the network is made better")] = (
        None
    )
    score: Annotated[
        Score | None, msgspec.Meta(description="mutual information, or distance from independence")
    ] = None
    budget: Annotated[
        str | None,
        msgspec.Meta(description="shares of epsilon for phases 1 to 4, such as 0.3,0,0.1,0.6"),
    ] = None
    theta: Annotated[
        Usefulness | None,
        msgspec.Meta(description="usefulness that the network's tables must have"),
    ] = None
    theta_frontier: Annotated[
        Usefulness | None, msgspec.Meta(description="the same, of the search frontier's")
    ] = None
    updates: Annotated[
        int, msgspec.Meta(ge=1, le=20, description="joint updates, which share eps3")
    ] = 1
    largest_view: Annotated[
        int, msgspec.Meta(ge=2, le=20, description="attributes in a view of bits")
    ] = 12
    block: Annotated[
        int, msgspec.Meta(ge=2, le=12, description="attributes in a block of views=priview")
    ] = 8
    synthetic_rows: Annotated[
        Rows | None, msgspec.Meta(description="as many as all parties have, if not said")
    ] = None


@dataclass(frozen=True, slots=True)
class Profile:
    """What a run does where nothing else is said. Fixed constants: never fitted to the data of a
    run.
    """

    views: Views
    init: Init
    update: Update
    score: Score
    budget: str
    theta: float
    theta_frontier: float


PROFILES: Final = {
    ("rigorous", "original"): Profile("one-way", "forest", "none", "R", BY_SIZE, 3.5, 4.0),
    ("rigorous", "binary"): Profile("nocd", "mst", "joint", "I", "0.3,0,0.1,0.6", 12.0, 4.0),
    ("paper", "original"): Profile("pairs", "em", "replace", "I", "0.25,0.25,0.25,0.25", 6.0, 2.0),
    ("paper", "binary"): Profile(
        "algorithm-2", "em", "replace", "I", "0.25,0.25,0.25,0.25", 6.0, 2.0
    ),
}


@dataclass(frozen=True, slots=True)
class Budget:
    """Epsilon of the four phases that look at records."""

    correlations: float
    initialisation: float
    update: float
    parameters: float

    @classmethod
    def split(cls, epsilon: float, shares: str) -> Budget:
        """Split by shares such as 0.3,0,0.1,0.6, which must sum to 1."""
        try:
            parts = [float(part) for part in shares.split(",")]
        except ValueError:
            parts = []
        if (
            len(parts) != 4
            or not min(parts) >= 0
            or not abs(sum(parts) - 1) <= 1e-9
            or parts[3] == 0
        ):  # NaN is none of it
            raise UsageError(
                f"expected budget=a,b,c,d, four shares that sum to 1, the last above 0, found {shares!r}"
            )
        return cls(*(epsilon * part for part in parts))


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run does: every choice made, and found to go together."""

    profile: Profile
    binary: bool
    """Whether the run works on bits."""
    noise: NoiseKind
    budget: Budget | None
    """None: it follows from the sizes of the tables, which are not known yet."""


def settle(choices: Choices, *, mode: Mode) -> Settings:
    """Make every choice that was left open, and refuse what does not go together."""
    noise = choose_noise(choices, mode=mode)
    attributes: Any = choices.attributes or ("binary" if mode == "paper" else "original")
    usual = PROFILES[mode, attributes]
    said = {name: getattr(choices, name) for name in Profile.__slots__}
    profile = Profile(
        **{name: getattr(usual, name) if own is None else own for name, own in said.items()}
    )
    budget = None if profile.budget == BY_SIZE else Budget.split(choices.epsilon, profile.budget)
    _check(profile, budget)
    if profile.update == "replace" and (mode != "paper" or choices.aggregator != "paillier"):
        raise UsageError(
            "expected update=joint or sequential, found replace, which is as printed and needs --mode paper and "
            "aggregator=paillier"
        )
    return Settings(profile, attributes == "binary", noise, budget)


def _check(profile: Profile, budget: Budget | None) -> None:
    """Refuse choices that do not go together."""
    if budget is None:
        if (profile.views, profile.init, profile.update) != ("one-way", "forest", "none"):
            raise UsageError(
                "expected budget=a,b,c,d, four shares of epsilon, for other phases than the default's, found none"
            )
        return
    if profile.init != "mst" and not budget.initialisation:
        raise UsageError(
            f"expected a share of epsilon for init={profile.init} in budget, the second, found 0"
        )
    if profile.init == "mst" and budget.initialisation:
        raise UsageError(
            "expected no share of epsilon for init=mst in budget, the second: it looks at no record"
        )
    if profile.init == "mst" and profile.views == "one-way":
        raise UsageError(
            "expected views of pairs for init=mst, found one-way, which shows no correlations"
        )
    if profile.update != "none" and (not budget.update or profile.views == "one-way"):
        raise UsageError(
            f"expected views of pairs and a share of epsilon for update={profile.update}, the third of budget, found none"
        )
    if profile.update == "none" and budget.update:
        raise UsageError("expected no share of epsilon for update=none in budget, the third")
    if profile.update == "none" and profile.init != "mst" and profile.views != "one-way":
        raise UsageError(
            f"expected views=one-way for init={profile.init} and update=none, as nobody reads the correlations"
        )
    if not budget.correlations:
        raise UsageError(
            "expected a share of epsilon for the correlations in budget, the first, found 0"
        )
