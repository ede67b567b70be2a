"""The parameters of DP-SUBN, and what a variant does where they are left open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import msgspec

from ..options import MAX_SYNTHETIC_ROWS, Epsilon
from ..secure_sum import SumOptions

__all__ = ["Attributes", "DPSUBNParameters", "Init", "Profile", "Score", "Update", "Views"]

Attributes: TypeAlias = Literal["original", "binary"]
Views: TypeAlias = Literal["nocd", "algorithm-2", "priview", "pairs", "one-way"]
Init: TypeAlias = Literal["mst", "em", "forest", "edges"]
Update: TypeAlias = Literal["none", "joint", "sequential", "replace"]
Score: TypeAlias = Literal["I", "R"]
Usefulness: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
Rows: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=MAX_SYNTHETIC_ROWS)]


class DPSUBNParameters(SumOptions):
    """Parameters of every variant; those that are left open follow from the variant's profile."""

    epsilon: Epsilon = 1.0
    attributes: Annotated[
        Attributes | None, msgspec.Meta(description="as they are, or as bits (mode paper)")
    ] = None
    views: Annotated[
        Views | None, msgspec.Meta(description="which tables quantify the correlations")
    ] = None
    init: Annotated[Init | None, msgspec.Meta(description="how N_0 is found")] = None
    update: Annotated[
        Update | None, msgspec.Meta(description="how the network is improved; none: it is not")
    ] = None
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
        Rows | None, msgspec.Meta(description="as many as all parties have, if left open")
    ] = None


@dataclass(frozen=True, slots=True)
class Profile:
    """What a variant does where a parameter is left open: constants, never fitted to a run's data.

    `attributes`, `init`, `update` and `score` name the variant's own way, which no parameter
    changes.
    """

    attributes: Attributes
    views: Views
    init: Init
    update: Update
    score: Score
    budget: str
    theta: float
    theta_frontier: float
