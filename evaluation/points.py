"""What is decided at one place, with which chance of error; and how places become a verdict.

A place is decided where a difference would come about by chance, were there none, in one of twenty
repetitions at most: by Student's t, from the spread over seeds, whose number counts: with two seeds
a side a difference must be 4.3 standard errors. Runs of one seed draw the same rows, splits and
often noise; where there are five or more, differences are taken seed by seed.

That a claim holds at every place needs no more. All else could come from a single place of many, so
one of them must be decided with that chance divided by their number (Bonferroni); otherwise nothing
is.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf, sqrt
from typing import Final, Literal, NamedTuple, TypeAlias

from scipy.special import stdtr

from .series import Measured, figure_shown, measured

__all__ = ["Point", "Verdict", "absent", "inside", "less", "overall", "sentence", "verdict_of"]

Verdict: TypeAlias = Literal["reproduced", "reproduced in part", "not reproduced", "undecided"]
CHANCE: Final = 0.05
PAIRED: Final = 5
"""Seeds from which on differences are taken seed by seed: with fewer, their spread is known too
badly.
"""
MOST_NAMED: Final = 3
"""Points that a sentence names."""


class Point(NamedTuple):
    """What was decided at one place."""

    holds: bool | None
    place: str
    said: str
    margin: float
    """How far it is from the border, as a part of what is compared."""
    chance: float = 0.0
    """Of so large a difference, or a larger one, where there is none."""


def absent(place: str, said: str = "no results") -> Point:
    """Say that nothing is known of a place at which something is claimed."""
    return Point(None, place, said, 0.0, 1.0)


def less(
    one: Measured,
    than: Measured,
    place: str,
    *,
    factor: float = 1.0,
    plus: float = 0.0,
    other: str = "",
    tries: int = 1,
) -> Point:
    """Decide whether one is below a part of the other, and so much more; `tries`: of so many, this
    one was looked for.
    """
    border = than.moved(factor=factor, plus=plus)
    difference, error, freedom = _apart(one, border)
    said = f"{figure_shown(one.mean)} against {figure_shown(than.mean)}" + (
        f" of {other}" if other else ""
    )
    margin = (border.mean - one.mean) / (abs(border.mean) or 1.0)
    return _decided(
        difference, error, freedom, Point(None, place, said, margin), one, than, tries=tries
    )


def inside(mean: Measured, low: float, high: float, place: str) -> Point:
    """Decide whether a mean lies within bounds, which belong to it."""
    room = min(mean.mean - low, high - mean.mean)
    point = _decided(
        room, mean.error, mean.seeds - 1, Point(None, place, figure_shown(mean.mean), room), mean
    )
    return point._replace(holds=True) if room == 0 == mean.error and not _lost(mean) else point


def _apart(one: Measured, than: Measured) -> tuple[float, float, float]:
    """Give how far one is below the other, the standard error of it, and its degrees of freedom
    (Welch's, if not paired).
    """
    seeds = one.by_seed.keys()
    alike = bool(seeds) and seeds == than.by_seed.keys()
    if alike and (
        len(seeds) >= PAIRED or all(than.by_seed[seed] == one.by_seed[seed] for seed in seeds)
    ):
        both = measured({seed: than.by_seed[seed] - one.by_seed[seed] for seed in seeds})
        return both.mean, both.error, both.seeds - 1
    parts = [(own.error**2, own.seeds - 1) for own in (one, than) if own.error]
    variance = sum(own for own, _ in parts)
    freedom = variance**2 / sum(own**2 / count for own, count in parts) if parts else inf
    return than.mean - one.mean, sqrt(variance), freedom


def _decided(
    difference: float, error: float, freedom: float, point: Point, *of: Measured, tries: int = 1
) -> Point:
    """Decide a difference, which holds if it is above zero; what is exactly alike does not."""
    chance = 2 * float(stdtr(freedom, -abs(difference) / error)) if error else 0.0
    # The worst of many tries is worse than it should be: what holds of it holds all the more.
    chance = min(1.0, chance * (tries if difference < 0 else 1))
    lost = [own for own in of if _lost(own)]
    if lost:
        point = point._replace(said=f"{point.said} (from {lost[0].seeds} of {lost[0].asked} seeds)")
    # A single seed that is left has no spread: nothing says what the others would have given.
    if chance > CHANCE or any(own.seeds == 1 for own in lost):
        return point._replace(chance=max(chance, CHANCE))
    return point._replace(holds=difference > 0, chance=chance)


def _lost(own: Measured) -> bool:
    return own.seeds < own.asked


def verdict_of(points: Sequence[Point], share: float = 1.0) -> Verdict:
    """Put places together: it holds at this share of them (0: at one), at fewer, at none, or too
    little is decided.
    """
    holds, fails = (sum(point.holds is wanted for point in points) for wanted in (True, False))
    needed = max(1, ceil(share * len(points) - 1e-9))
    sure = any(point.holds is not None and point.chance * len(points) <= CHANCE for point in points)
    if points and holds == len(points):
        return "reproduced"
    if not sure:
        return "undecided"
    if holds >= needed:
        return "reproduced"
    if holds:
        return "reproduced in part"
    return "not reproduced" if len(points) - fails < needed else "undecided"


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Put claims together, in the same way."""
    decided = set(verdicts)
    if decided <= {"undecided"}:
        return "undecided"
    if len(decided) == 1:
        return verdicts[0]
    return (
        "reproduced in part" if decided & {"reproduced", "reproduced in part"} else "not reproduced"
    )


def sentence(points: Sequence[Point], share: float = 1.0) -> str:
    """Say what decided, with the numbers."""
    if not points:
        return "no results to judge by"
    held = [point for point in points if point.holds]
    asked = f", {max(1, ceil(share * len(points) - 1e-9))} asked" if share < 1 else ""
    text = (
        f"holds at {len(held) or 'none'} of {len(points)}{asked}"
        if len(points) > 1
        else "holds"
        if held
        else ""
    )
    parts = [text] if text else []
    if len(held) == len(points):
        closest = min(held, key=lambda point: point.margin)
        return (
            f"{text}, closest at {closest.place}: {closest.said}"
            if len(points) > 1
            else f"{text}: {closest.said}"
        )
    for wanted, word in ((False, "not at"), (None, "undecided at")):
        named = [f"{point.place}: {point.said}" for point in points if point.holds is wanted]
        if named:
            rest = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
            parts.append(f"{word} {' · '.join(named[:MOST_NAMED])}{rest}")
    return "; ".join(parts)
