"""Decisions at single points, with their error probability, and verdicts from several points.

A point is decided if chance alone would give such a difference in at most one of twenty
repetitions. This is Student's t-test on the spread over seeds. The number of seeds counts: with two
seeds on each side a difference must be 4.3 standard errors. Runs with one seed draw the same rows
and splits, and often the same noise. With five seeds or more, differences are taken seed by seed.

That a claim holds at every point needs no more. Any other verdict could come from one point of
many. So it requires one point that is decided with that probability divided by the number of points
(Bonferroni).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf, sqrt
from typing import Final, Literal, NamedTuple, TypeAlias

from .series import SeedMean, format_figure, mean_over_seeds

__all__ = ["Point", "Verdict", "absent", "inside", "less", "overall", "sentence", "verdict_of"]

Verdict: TypeAlias = Literal["reproduced", "reproduced in part", "not reproduced", "undecided"]
MAX_CHANCE: Final = 0.05
MIN_PAIRS: Final = 5
"""Seeds from which on differences are taken seed by seed; the spread of fewer is too uncertain."""
MAX_NAMED: Final = 3
"""Points that a sentence names."""


class Point(NamedTuple):
    """What was decided at one point."""

    holds: bool | None
    """Whether the claim holds here; None if that is undecided."""
    place: str
    text: str
    """The numbers that decided."""
    margin: float
    """Distance from the border, as a share of what is compared."""
    chance: float = 0.0
    """Probability of so large a difference, or a larger one, if there is none."""


def absent(place: str, text: str = "no results") -> Point:
    """Make an undecided point for a place without results."""
    return Point(None, place, text, 0.0, 1.0)


def less(
    mean: SeedMean,
    other: SeedMean,
    place: str,
    *,
    factor: float = 1.0,
    plus: float = 0.0,
    name: str = "",
    tries: int = 1,
) -> Point:
    """Decide whether a mean is below another one times `factor` plus `plus`.

    Args:
        mean: The mean that should be lower.
        other: The other mean.
        place: Where they are compared.
        factor: See above.
        plus: See above.
        name: What the other mean is of.
        tries: Number of comparisons of which this one was chosen as the most extreme.
    """
    border = other.moved(factor=factor, plus=plus)
    difference, error, freedom = _difference(mean, border)
    text = f"{format_figure(mean.mean)} against {format_figure(other.mean)}"
    margin = (border.mean - mean.mean) / (abs(border.mean) or 1.0)
    point = Point(None, place, f"{text} of {name}" if name else text, margin)
    return _decide(difference, error, freedom, point, mean, other, tries=tries)


def inside(mean: SeedMean, low: float, high: float, place: str) -> Point:
    """Decide whether a mean lies within bounds, which are included."""
    room = min(mean.mean - low, high - mean.mean)
    point = Point(None, place, format_figure(mean.mean), room)
    point = _decide(room, mean.error, mean.seeds - 1, point, mean)
    is_on_border = room == 0 == mean.error and not mean.is_incomplete
    return point._replace(holds=True) if is_on_border else point


def verdict_of(points: Sequence[Point], share: float = 1.0) -> Verdict:
    """Combine points to a verdict. The claim must hold at this share of them (0: at one)."""
    holding, failing = (sum(point.holds is value for point in points) for value in (True, False))
    needed = _needed(points, share)
    is_sure = any(
        point.holds is not None and point.chance * len(points) <= MAX_CHANCE for point in points
    )
    if points and holding == len(points):
        return "reproduced"
    if not is_sure:
        return "undecided"
    if holding >= needed:
        return "reproduced"
    if holding:
        return "reproduced in part"
    return "not reproduced" if len(points) - failing < needed else "undecided"


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Combine the verdicts on several claims."""
    kinds = set(verdicts)
    if kinds <= {"undecided"}:
        return "undecided"
    if len(kinds) == 1:
        return verdicts[0]
    if kinds & {"reproduced", "reproduced in part"}:
        return "reproduced in part"
    return "not reproduced"


def sentence(points: Sequence[Point], share: float = 1.0) -> str:
    """Describe what decided, with the numbers."""
    if not points:
        return "no results to judge by"
    holding = [point for point in points if point.holds]
    if len(holding) == len(points) == 1:
        return f"holds: {points[0].text}"
    parts = []
    if len(points) > 1:
        required = f", {_needed(points, share)} asked" if share < 1 else ""
        parts.append(f"holds at {len(holding) or 'none'} of {len(points)}{required}")
    if len(holding) == len(points):
        closest = min(holding, key=lambda point: point.margin)
        return f"{parts[0]}, closest at {closest.place}: {closest.text}"
    for holds, word in ((False, "not at"), (None, "undecided at")):
        named = [f"{point.place}: {point.text}" for point in points if point.holds is holds]
        if named:
            rest = f" and {len(named) - MAX_NAMED} more" if len(named) > MAX_NAMED else ""
            parts.append(f"{word} {' · '.join(named[:MAX_NAMED])}{rest}")
    return "; ".join(parts)


def _needed(points: Sequence[Point], share: float) -> int:
    """Compute the number of points at which a claim must hold."""
    return max(1, ceil(share * len(points) - 1e-9))


def _difference(mean: SeedMean, other: SeedMean) -> tuple[float, float, float]:
    """Compute how far a mean is below another, with standard error and degrees of freedom.

    The degrees of freedom are Welch's if seeds are not paired.
    """
    seeds = mean.by_seed.keys()
    if seeds and seeds == other.by_seed.keys():
        differences = {seed: other.by_seed[seed] - mean.by_seed[seed] for seed in seeds}
        is_equal = all(other.by_seed[seed] == mean.by_seed[seed] for seed in seeds)
        if len(seeds) >= MIN_PAIRS or is_equal:
            paired = mean_over_seeds(differences)
            return paired.mean, paired.error, paired.seeds - 1
    parts = [(side.error**2, side.seeds - 1) for side in (mean, other) if side.error]
    variance = sum(square for square, _ in parts)
    if not parts:
        freedom = inf
    elif all(count for _, count in parts):
        freedom = variance**2 / sum(square**2 / count for square, count in parts)
    else:  # a ratio to a single seed has a spread, but no degree of freedom
        freedom = 0.0
    return other.mean - mean.mean, sqrt(variance), freedom


def _decide(
    difference: float, error: float, freedom: float, point: Point, *means: SeedMean, tries: int = 1
) -> Point:
    """Decide by a difference, which holds if it is above 0. An exact 0 does not hold."""
    from scipy.special import stdtr

    chance = 0.0
    if error:
        chance = 2 * float(stdtr(freedom, -abs(difference) / error)) if freedom else 1.0
    # The most extreme of many comparisons is worse than it should be, so this correction is only
    # needed where the claim fails.
    chance = min(1.0, chance * (tries if difference < 0 else 1))
    incomplete = [mean for mean in means if mean.is_incomplete]
    if incomplete:
        seeds = f"(from {incomplete[0].seeds} of {incomplete[0].expected_seeds} seeds)"
        point = point._replace(text=f"{point.text} {seeds}")
    # The only seed that is left has no spread, so the others might have given anything.
    if chance > MAX_CHANCE or any(mean.seeds == 1 for mean in incomplete):
        return point._replace(chance=max(chance, MAX_CHANCE))
    return point._replace(holds=difference > 0, chance=chance)
