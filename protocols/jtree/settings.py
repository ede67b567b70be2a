"""What can be chosen of a run, and what is chosen where nothing is said."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from ...messages import UsageError
from ...privacy import Domain
from ..protocol import Epsilon, Mode
from ..secure_sum import SumOptions

__all__ = ["Choices", "Settings", "Structure", "settle", "structure_of"]

Structure: TypeAlias = Literal["tree", "top", "svt", "laplace", "gauss", "threshold"]
Together: TypeAlias = Literal["sums", "votes"]
Share: TypeAlias = Annotated[float, msgspec.Meta(gt=0, lt=1)]

LOW: Final = 0.35
"""Epsilon below which single attributes need most of it. Chosen looking at Adult."""
TABLES: Final = 8
"""Tables that a clique's bound on cells counts on: m0."""


class Choices(SumOptions):
    """What can be said of a run."""

    epsilon: Epsilon = 1.0
    structure: Annotated[
        Structure | None,
        msgspec.Meta(
            description="how edges are found: tree (ours), top, svt, laplace, gauss (of R), threshold (paper; not private)"
        ),
    ] = None
    together: Annotated[
        Together | None,
        msgspec.Meta(
            description="how several parties find a tree: secure sums of scores, or votes"
        ),
    ] = None
    graph: Annotated[
        Share | None, msgspec.Meta(description="share of epsilon for the structure")
    ] = None
    one_way: Annotated[
        Share | None,
        msgspec.Meta(description="share of epsilon for single attributes (structure=tree)"),
    ] = None
    edges: Annotated[
        int | None,
        msgspec.Meta(
            description="at most; by default 4/3 of the attributes, or, of a tree, what pays"
        ),
    ] = None
    usefulness: Annotated[
        float | None,
        msgspec.Meta(
            description="tau: average count of a clique's cells, in scales of their noise"
        ),
    ] = None
    phi: Annotated[
        float, msgspec.Meta(gt=0, le=1, description="Cramer's V that is worth an edge (threshold)")
    ] = 0.2
    least: Annotated[
        float, msgspec.Meta(gt=0, le=1, description="R that is worth an edge (svt)")
    ] = 0.05
    delta: Annotated[
        float, msgspec.Meta(gt=0, lt=1, description="chance that epsilon does not hold (gauss)")
    ] = 1e-6
    sample: Annotated[
        bool,
        msgspec.Meta(description="find the structure on a sample of rows, as printed (threshold)"),
    ] = True
    synthetic_rows: Annotated[
        int, msgspec.Meta(ge=0, description="as many as all parties have, if 0")
    ] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a run does. The parts of epsilon are absolute."""

    structure: Structure
    by_votes: bool
    """Whether each party names edges, and not the curator by a sum of scores."""
    one_way: float
    graph: float
    counts: float
    picks: int
    """Edges that are chosen, or for which there is budget; of a tree those that join."""
    extra: int
    """Edges within a tree."""
    usefulness: float
    inflation: float
    """Of the noise's deviation in sums, as some parties may know their own."""
    printed: bool

    @property
    def of_a_pick(self) -> float:
        """What one choice costs."""
        return self.graph / (self.picks + self.extra)

    def left(self, choices: int) -> float:
        """Compute what there is for clusters: what one holder's tree has not needed of its budget
        is not lost.
        """
        return (
            self.counts + self.graph - choices * self.of_a_pick
            if self.structure == "tree" and choices
            else self.counts
        )

    def most_cells(self, rows: int) -> float:
        """Bound a clique's cells: rows over usefulness and the scale of its noise, if there are
        `TABLES` tables.
        """
        return rows * self.counts / (2 * TABLES * self.usefulness)

    def scale(self) -> float:
        """The noise's scale that a clique's table is expected to have."""
        return 2 * TABLES / self.counts * self.inflation


def structure_of(choices: Choices, *, mode: Mode) -> Structure:
    return choices.structure or ("threshold" if mode == "paper" else "tree")


def settle(
    choices: Choices, *, domain: Domain, mode: Mode, parties: int, colluding: int
) -> Settings:
    """Fill in what was not said; what cannot be is a `UsageError`."""
    epsilon, attributes = choices.epsilon, len(domain.attributes)
    structure = structure_of(choices, mode=mode)
    if structure == "threshold" and mode != "paper":
        raise UsageError(
            "expected structure=threshold in mode paper, found mode rigorous: no epsilon holds for it"
        )
    if mode == "paper" and structure != "threshold":
        raise UsageError(
            f"expected structure=threshold in mode paper, found {structure}, which the paper does not have"
        )
    if structure == "threshold" and parties > 1:
        raise UsageError(
            f"expected one trusted holder in mode paper, found {parties} parties: --parties 1"
        )
    if choices.one_way is not None and structure != "tree":
        raise UsageError(f"expected one_way with structure=tree, found structure={structure}")
    if choices.together is not None and (structure != "tree" or parties == 1):
        raise UsageError(
            "expected together with structure=tree and several parties, found another run"
        )
    if (
        choices.edges is not None
        and not 0 < choices.edges <= attributes * max(attributes - 1, 1) // 2
    ):
        raise UsageError(
            f"expected edges from 1 to all pairs of {attributes} attributes, found {choices.edges}"
        )
    if choices.usefulness is not None and not 0 < choices.usefulness < inf:
        raise UsageError(f"expected a usefulness above 0, found {choices.usefulness:g}")
    low, tree, many = epsilon < LOW, structure == "tree", parties > 1
    one_way = (choices.one_way or (0.55 if low else 0.38)) if tree else 0.0
    if choices.graph is not None:
        graph = choices.graph
    elif tree:
        graph = 0.12 if low else 0.1
    elif structure == "threshold":  # 0.1 of any epsilon, half of 0.1 itself (section 5.1)
        graph = min(0.1, epsilon / 2) / epsilon
    else:
        graph = 0.3 if structure == "laplace" and many else 0.2
    if one_way + graph >= 1:
        raise UsageError(
            f"expected shares of epsilon that leave some for the tables, found {one_way:g} and {graph:g}"
        )
    picks = choices.edges or (
        round(attributes * (1 if low else 4 / 3) / 2) if tree else round(4 * attributes / 3)
    )
    return Settings(
        structure=structure,
        by_votes=structure in ("top", "svt", "gauss", "threshold")
        or (tree and (not many or _votes(choices, low=low))),
        one_way=one_way * epsilon,
        graph=graph * epsilon,
        counts=(1 - one_way - graph) * epsilon,
        picks=max(1, min(picks, attributes * (attributes - 1) // 2)),
        extra=0 if not tree or low or choices.edges else round(0.4 * attributes),
        usefulness=choices.usefulness or (2.0 if tree else 4.0),
        inflation=sqrt(parties / (parties - colluding)),
        printed=structure == "threshold",
    )


def _votes(choices: Choices, *, low: bool) -> bool:
    return choices.together == "votes" or (choices.together is None and low)
