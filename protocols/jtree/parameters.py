"""JTree's parameters, and to which ways of finding the graph each belongs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from ...messages import UsageError
from ..options import MAX_SYNTHETIC_ROWS, Epsilon
from ..secure_sum import SumOptions

__all__ = ["JTreeParameters", "Structure", "refuse_foreign"]

Structure: TypeAlias = Literal["tree", "top", "svt", "laplace", "gauss", "threshold"]
Together: TypeAlias = Literal["sums", "votes"]
Share: TypeAlias = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class JTreeParameters(SumOptions):
    """What a user can set."""

    epsilon: Epsilon = 1.0
    structure: Annotated[
        Structure | None,
        msgspec.Meta(
            description="how edges are found: tree (ours); top, svt, laplace, gauss (by R); "
            "threshold (as printed, not private)"
        ),
    ] = None
    together: Annotated[
        Together | None,
        msgspec.Meta(
            description="how several parties find a tree: by secure sums of scores, or by votes"
        ),
    ] = None
    graph: Annotated[
        Share | None, msgspec.Meta(description="share of the budget for the structure")
    ] = None
    one_way: Annotated[
        Share | None,
        msgspec.Meta(description="share of the budget for single attributes (structure=tree)"),
    ] = None
    edges: Annotated[
        int | None,
        msgspec.Meta(
            description="most edges; by default 4/3 of the attributes, of a tree those that pay"
        ),
    ] = None
    usefulness: Annotated[
        float | None,
        msgspec.Meta(description="tau: average count of a clique's cells, in noise scales"),
    ] = None
    phi: Annotated[
        float, msgspec.Meta(gt=0, le=1, description="Cramer's V that is worth an edge (threshold)")
    ] = 0.2
    least: Annotated[
        float, msgspec.Meta(gt=0, le=1, description="R that is worth an edge (svt)")
    ] = 0.05
    sample: Annotated[
        bool,
        msgspec.Meta(description="find the structure on a sample of rows, as printed (threshold)"),
    ] = True
    synthetic_rows: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=MAX_SYNTHETIC_ROWS,
            description="rows to publish; 0: as many as all parties have",
        ),
    ] = 0


PRIVATE: Final[tuple[Structure, ...]] = ("tree", "top", "svt", "laplace", "gauss")
STRUCTURES: Final[Mapping[str, tuple[Structure, ...]]] = {
    "together": ("tree",),
    "one_way": ("tree",),
    "edges": PRIVATE,
    "usefulness": PRIVATE,
    "phi": ("threshold",),
    "sample": ("threshold",),
    "least": ("svt",),
}
"""The structures that use a parameter, where not all do."""


def refuse_foreign(parameters: JTreeParameters, *, structure: Structure) -> None:
    """Refuse parameters that this way of finding the graph does not use.

    Raises:
        UsageError: a parameter of another structure differs from its default.
    """
    defaults = JTreeParameters()
    for name, structures in STRUCTURES.items():
        changed = getattr(parameters, name) != getattr(defaults, name)
        if changed and structure not in structures:
            raise UsageError(
                f"expected {name} with structure={' or '.join(structures)}, "
                f"found structure={structure}, which does not use it: leave {name} out"
            )
