"""Kinds of claims that a paper makes about its results.

    below     a line has less of a figure than others, perhaps than a part of it
    falls     it decreases along x
    rises     it increases along x
    widens    its ratio to another line decreases along x
    flat      it hardly changes along x
    near      it is what the paper prints
    between   it lies within bounds
    best_at   it is least where the paper says so

Each kind decides single points from means over seeds (`points`). `judging` makes verdicts of them,
so that no verdict is ever typed in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Literal, TypeAlias

import msgspec

from .points import Point, absent, inside, less
from .results import Results
from .series import Condition, Place, SeedMean, Series, format_figure, format_place, ratio_of

__all__ = [
    "BelowClaim",
    "BetweenClaim",
    "Claim",
    "FallClaim",
    "FlatClaim",
    "MinimumClaim",
    "NearClaim",
    "RiseClaim",
    "WideningClaim",
    "as_list",
]


class _Claim(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"
):
    says: str
    """The claim in our words."""
    at: str = ""
    """Where the paper makes it."""
    why: str = ""
    """A known reason; it is shown if the data did not confirm the claim."""
    choice: str = ""
    """What the paper does not give, with our value, if the verdict hangs on it and names it."""
    line: str
    also: list[str] = []
    """Lines of ours that are judged in the same way. They do not count for the paper."""
    y: str | list[str]
    where: dict[str, Condition] = {}
    each: str = ""
    """A column: the claim is made for each of its values separately."""
    x: list[Place] = []
    """Values of x for which it is claimed; empty if for all."""
    along: str = ""
    """The column of x, if it is not that of the picture."""
    share: float = 1.0
    """Share of the points at which it must hold.

    0 means one point ("in some cases"), .5 "in most", .9 "in almost all".
    """
    ours: bool = False
    """Whether this is a question of ours. It does not count for the paper."""


class BelowClaim(_Claim, frozen=True, kw_only=True, tag="below"):
    """At every x the line is below each of the others, times `factor`, plus `plus`."""

    than: str | list[str]
    factor: float = 1.0
    plus: float = 0.0
    than_for: dict[str, str | list[str]] = {}
    """For lines of `also`: what they are compared with instead of `than`, like with like."""
    ties: bool = False
    """Whether equal values satisfy it."""

    def points(self, means: Series, results: Results) -> Iterator[Point]:
        for name in as_list(self.than) if means else ():
            yield from self._points(means, results, name)

    def _points(self, means: Series, results: Results, name: str) -> Iterator[Point]:
        others: Series = results.series(name)
        if not others and (level := results.constant(name)):
            others = dict.fromkeys(means, level)
        if not others:
            yield absent(results.everywhere, f"no results of {name}")
            return
        for place in others:
            if place not in means and results.is_expected(place):
                yield absent(results.name(place))
        for place, mean in means.items():
            if place not in others:
                yield absent(results.name(place), f"no results of {name}")
                continue
            point = less(
                mean,
                others[place],
                results.name(place),
                factor=self.factor,
                plus=self.plus,
                name=name,
            )
            is_tie = point.margin == 0 == point.chance
            yield point._replace(holds=True) if self.ties and is_tie else point


class FallClaim(_Claim, frozen=True, kw_only=True, tag="falls"):
    """The last value is below the first, and no step goes up."""

    def points(self, means: Series, results: Results) -> Iterator[Point]:
        return _steps(list(means.items()), results, down=True)


class RiseClaim(_Claim, frozen=True, kw_only=True, tag="rises"):
    """The last value is above the first, and no step goes down."""

    def points(self, means: Series, results: Results) -> Iterator[Point]:
        return _steps(list(means.items()), results, down=False)


class WideningClaim(_Claim, frozen=True, kw_only=True, tag="widens"):
    """The line's ratio to each of the others falls along x, or rises with `towards` the low end."""

    than: str | list[str]
    than_for: dict[str, str | list[str]] = {}
    """For lines of `also`: what they are compared with instead of `than`, like with like."""
    towards: Literal["high", "low"] = "high"

    def points(self, means: Series, results: Results) -> Iterator[Point]:
        for name in as_list(self.than):
            others = results.series(name)
            if means and not others:
                yield absent(results.everywhere, f"no results of {name}")
            ratios = [
                (place, ratio_of(mean, others[place]))
                for place, mean in means.items()
                if place in others
            ]
            for point in _steps(ratios, results, down=self.towards == "high"):
                yield point._replace(text=f"{point.text} of {name}")


class FlatClaim(_Claim, frozen=True, kw_only=True, tag="flat"):
    """The largest and the least value differ by at most this share of the mean."""

    within: float

    def points(self, means: Series, results: Results) -> Iterator[Point]:
        if len(means) < 2:
            return
        least, most = _least(means), max(means, key=lambda place: means[place].mean)
        average = abs(sum(mean.mean for mean in means.values()) / len(means))
        room = self.within * average - (means[most].mean - means[least].mean)
        # The pair with the largest difference was chosen among all pairs.
        pairs = len(means) * (len(means) - 1) // 2
        border = means[least].moved(plus=self.within * average)
        point = less(means[most], border, results.everywhere, tries=pairs)
        is_equal = means[least].mean == means[most].mean
        low, high = format_figure(means[least].mean), format_figure(means[most].mean)
        yield point._replace(
            text=f"from {low} at {results.name(least)} to {high} at {format_place(most)}",
            margin=room / (average or 1.0),
            holds=True if is_equal else point.holds,
        )


class NearClaim(_Claim, frozen=True, kw_only=True, tag="near"):
    """Each value differs from the printed number by at most this share of it."""

    within: float

    def points(self, means: Series, results: Results) -> Iterator[Point]:
        for numbers in results.printed:
            conditions = numbers.where.items()
            if (
                numbers.line == self.line
                and numbers.y == results.y
                and all(results.where.get(key) == wanted for key, wanted in conditions)
            ):
                for place, value in zip(numbers.x, numbers.values, strict=True):
                    yield from self._points(means, results, place, value)

    def _points(
        self, means: Series, results: Results, place: Place, value: float
    ) -> Iterator[Point]:
        printed = f"printed {format_figure(value)}"
        if place in means:
            slack = self.within * abs(value)
            point = inside(means[place], value - slack, value + slack, results.name(place))
            figure, _, rest = point.text.partition(" ")
            yield point._replace(text=f"{figure}, {printed} {rest}".rstrip())
        elif means and results.is_expected(place):
            yield absent(results.name(place), f"no results, {printed}")


class BetweenClaim(_Claim, frozen=True, kw_only=True, tag="between"):
    """Each value lies within these bounds."""

    low: float = -inf
    high: float = inf

    def points(self, means: Series, results: Results) -> Iterator[Point]:
        for place, mean in means.items():
            yield inside(mean, self.low, self.high, results.name(place))
        if not means:
            return
        for other in dict.fromkeys(row.get(results.x) for row in results.rows):
            if other is not None and other not in means and results.is_expected(other):
                yield absent(results.name(other))


class MinimumClaim(_Claim, frozen=True, kw_only=True, tag="best_at"):
    """The least value is at an x within these bounds; others may be less by a share of it."""

    low: float
    high: float
    within: float = 0.0

    def points(self, means: Series, results: Results) -> Iterator[Point]:
        places = [
            place
            for place in means
            if not isinstance(place, str) and self.low <= place <= self.high
        ]
        within: Series = {place: mean for place, mean in means.items() if place in places}
        outside: Series = {place: mean for place, mean in means.items() if place not in places}
        if within and outside:
            here, there = _least(within), _least(outside)
            point = less(
                within[here],
                outside[there],
                results.name(here),
                factor=1 + self.within,
                tries=len(outside),
            )
            best, other = format_figure(within[here].mean), format_figure(outside[there].mean)
            yield point._replace(text=f"{best} against {other} at {format_place(there)}")


Claim: TypeAlias = (
    BelowClaim
    | FallClaim
    | RiseClaim
    | WideningClaim
    | FlatClaim
    | NearClaim
    | BetweenClaim
    | MinimumClaim
)


def as_list(value: str | list[str]) -> list[str]:
    """Make a list of one name or several."""
    return [value] if isinstance(value, str) else value


def _least(means: Series) -> Place:
    return min(means, key=lambda place: means[place].mean)


def _steps(
    means: Sequence[tuple[Place, SeedMean]], results: Results, *, down: bool
) -> Iterator[Point]:
    """Compare the last value with the first, and find the steps in the wrong direction.

    A step goes from the best value so far to a later one.
    """
    if len(means) < 2:
        return

    def step(first: tuple[Place, SeedMean], last: tuple[Place, SeedMean], *, tries: int) -> Point:
        (start, before), (end, after) = first, last
        lower, higher = (after, before) if down else (before, after)
        return less(lower, higher, "", tries=tries)._replace(
            place=f"from {results.name(start)} to {format_place(end)}",
            text=f"{format_figure(before.mean)}, then {format_figure(after.mean)}",
        )

    yield step(means[0], means[-1], tries=1)
    best = means[0]
    for later in means[1:]:
        point = step(best, later, tries=len(means) - 1)
        # Equal values are no wrong step, and the first and the last were compared already.
        is_first_to_last = (best, later) == (means[0], means[-1])
        if point.holds is False and point.margin and not is_first_to_last:
            yield point
        best = min(best, later, key=lambda item: item[1].mean if down else -item[1].mean)
