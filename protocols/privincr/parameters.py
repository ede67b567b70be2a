"""PrivIncr's parameters, and which of their values go together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from ...messages import UsageError
from ..local import LocalOptions, SyntheticRows
from .factoring import Search

__all__ = [
    "Accumulation",
    "Base",
    "CliqueChoice",
    "Learning",
    "NoIncrementalParameters",
    "PrivIncrParameters",
    "Projection",
    "Test",
    "Variant",
    "refuse_foreign",
]

Accumulation: TypeAlias = Literal["counts", "frequencies"]
Base: TypeAlias = Literal["bits", "nats"]
CliqueChoice: TypeAlias = Literal["all", "large"]
Learning: TypeAlias = Literal["adaptive", "tests"]
Projection: TypeAlias = Literal["norm-sub", "norm-mul"]
Test: TypeAlias = Literal["chi-squared", "relaxed", "plain"]
Variant: TypeAlias = Literal["learning=adaptive", "learning=tests", "mode=paper"]


class PrivIncrParameters(LocalOptions):
    """What a user can set."""

    learning: Annotated[
        Learning | None,
        msgspec.Meta(
            description="adaptive (users where they help most) or tests (Algorithms 1 to 3)"
        ),
    ] = None
    rounds: Annotated[
        int,
        msgspec.Meta(ge=0, le=100, description="T; 0: 3 where learning is adaptive, else 6"),
    ] = 0
    graph_users: Annotated[
        float, msgspec.Meta(gt=0, lt=1, description="omega: share of the users for the graph")
    ] = 0.5
    phi: Annotated[
        float,
        msgspec.Meta(gt=0, le=1, description="dependence of two attributes that is worth an edge"),
    ] = 0.3
    alpha: Annotated[
        float, msgspec.Meta(gt=0, lt=0.5, description="how often a test may be wrong")
    ] = 0.05
    base: Annotated[
        Base,
        msgspec.Meta(
            description="unit in which information is compared with phi^2 / 2 (learning=tests)"
        ),
    ] = "bits"
    test: Annotated[
        Test | None,
        msgspec.Meta(
            description="chi-squared (learning=tests); relaxed (equation 18) or plain "
            "(equation 15) in mode paper"
        ),
    ] = None
    projection: Annotated[
        Projection | None,
        msgspec.Meta(description="how noisy tables become distributions (mode paper)"),
    ] = None
    accumulation: Annotated[
        Accumulation | None,
        msgspec.Meta(
            description="how tables of several rounds are accumulated (mode paper): frequencies "
            "by equation 6, or counts, which add up, by equation 5"
        ),
    ] = None
    cliques: Annotated[
        CliqueChoice | None,
        msgspec.Meta(
            description="cliques that the other users are asked about: large ones, of three "
            "attributes or more (Algorithm 3), or all (section 5.4); a choice in mode paper"
        ),
    ] = None
    factorisation: Annotated[
        Search,
        msgspec.Meta(
            description="order in which large cliques are taken apart: greedy (Algorithm 2), or "
            "exhaustive, the best of all for up to 10 attributes (learning=tests, mode paper)"
        ),
    ] = "greedy"
    groups: Annotated[
        Literal["domain", "power"],
        msgspec.Meta(
            description="users of an edge: by its cells, or for tests of equal power "
            "(learning=tests)"
        ),
    ] = "domain"
    synthetic_rows: SyntheticRows = 100_000


class NoIncrementalParameters(PrivIncrParameters):
    """What a user can set of the baseline, which has one round."""

    learning: Annotated[
        Literal["tests"], msgspec.Meta(description="as PrivIncr's Algorithms 1 to 3")
    ] = "tests"
    rounds: Annotated[int, msgspec.Meta(ge=1, le=1, description="T: one")] = 1


VALUES: Final[Mapping[Variant, Mapping[str, tuple[object, ...]]]] = {
    "learning=adaptive": {
        "graph_users": (0.5,),
        "phi": (0.3,),
        "alpha": (0.05,),
        "base": ("bits",),
        "test": (None,),
        "projection": (None,),
        "accumulation": (None,),
        "cliques": (None,),
        "factorisation": ("greedy",),
        "groups": ("domain",),
    },
    "learning=tests": {
        "test": (None, "chi-squared"),
        "projection": (None, "norm-sub"),
        "accumulation": (None, "counts"),
        "cliques": (None, "all"),
    },
    "mode=paper": {
        "base": ("bits",),
        "test": (None, "relaxed", "plain"),
        "groups": ("domain",),
    },
}
"""The values that a variant takes, of parameters whose values are not all its own."""


def refuse_foreign(parameters: PrivIncrParameters, *, variant: Variant) -> None:
    """Refuse values that this variant does not use.

    Raises:
        UsageError: a parameter has a value of another variant.
    """
    for name, values in VALUES[variant].items():
        value = getattr(parameters, name)
        if value not in values:
            users = [other for other in VALUES if value in VALUES[other].get(name, (value,))]
            raise UsageError(
                f"expected {name}={value} with {' or '.join(users)}, "
                f"found {variant}, which does not use it"
            )
