"""Claims of a paper, held against results: a small closed algebra, so that a verdict is never typed
in.

    below     a line has less of a figure than others have, perhaps than a part of it
    falls     it gets less along x;  rises: more
    widens    it becomes a smaller part of another along x
    flat      it hardly changes along x
    near      it is what the paper prints
    between   it lies within bounds
    best_at   it is least where x is said to be

A claim is judged place by place, from means over seeds; `points` decides each, and puts them
together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, sqrt
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from .points import Point, Verdict, absent, inside, less, sentence, verdict_of
from .series import (
    Measured,
    Place,
    Rows,
    Series,
    figure_shown,
    fits,
    level,
    measured,
    place_shown,
    series,
)

__all__ = [
    "Below",
    "Between",
    "BestAt",
    "Claim",
    "Falls",
    "Flat",
    "Judged",
    "Near",
    "Printed",
    "Rises",
    "Widens",
    "judge_claim",
]


class Judged(NamedTuple):
    """A verdict on a claim, of one line."""

    line: str
    verdict: Verdict
    sentence: str
    points: tuple[Point, ...]


class Printed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Numbers that a paper prints of a line."""

    line: str
    y: str
    x: list[Place]
    values: list[float]
    where: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if len(self.x) != len(self.values):
            raise ValueError(
                f"expected as many values as x of {self.line}, found {len(self.values)} and {len(self.x)}"
            )


class Look(NamedTuple):
    """What a claim is judged by, beside its own line."""

    rows: Rows
    x: str
    y: str
    where: Mapping[str, Any]
    printed: Sequence[Printed]
    title: str
    """What x is called."""
    wanted: Sequence[Place] = ()
    """Where it is claimed, if not everywhere."""

    def asks(self, place: Place) -> bool:
        """Say whether something is claimed of a place, and some line was run there."""
        claimed = place in self.wanted or not self.wanted
        return claimed and any(
            row.get(self.x) == place and fits(row, self.where) for row in self.rows
        )

    def at(self, place: Place) -> str:
        return f"{self.title} {place_shown(place)}"


class _Claim(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"
):
    says: str
    """In words of ours."""
    at: str = ""
    """Where the paper says it."""
    why: str = ""
    """What is known about it; shown where the data did not confirm it."""
    line: str
    also: list[str] = []
    """Lines of ours of which the same is asked; they do not count for the paper's."""
    y: str | list[str]
    where: dict[str, Any] = {}
    each: str = ""
    """A column: the claim is of each of its values apart."""
    x: list[Place] = []
    """Where it is claimed; everywhere, if not said."""
    along: str = ""
    """What x is, if not the picture's."""
    share: float = 1.0
    """At how many of its places it must hold: 0 is "in some cases", at one; .5 "in most", .9 "in
    almost all".
    """
    ours: bool = False
    """A question of ours: it is answered, and counts for nothing in the paper's verdict."""


class Below(_Claim, frozen=True, kw_only=True, tag="below"):
    """At every x the line is below each of the others, times `factor` and `plus` something."""

    than: str | list[str]
    factor: float = 1.0
    plus: float = 0.0
    ties: bool = False
    """Whether what is exactly as large will do."""

    def points(self, own: Series, look: Look) -> Iterator[Point]:
        for other in _listed(self.than):
            theirs: Series = series(look.rows, line=other, x=look.x, y=look.y, where=look.where)
            flat = level(look.rows, line=other, x=look.x, y=look.y, where=look.where)
            theirs = dict.fromkeys(own, flat) if flat and not theirs else theirs
            if own and not theirs:
                yield absent(f"all {look.title}", f"no results of {other}")
            yield from (
                absent(look.at(place))
                for place in theirs
                if own and place not in own and look.asks(place)
            )
            for place, mean in own.items() if theirs else ():
                if place not in theirs:
                    yield absent(look.at(place), f"no results of {other}")
                    continue
                point = less(
                    mean,
                    theirs[place],
                    look.at(place),
                    factor=self.factor,
                    plus=self.plus,
                    other=other,
                )
                alike = point.margin == 0 == point.chance
                yield point._replace(holds=True) if self.ties and alike else point


class Falls(_Claim, frozen=True, kw_only=True, tag="falls"):
    """The last is below the first, and no step goes up."""

    def points(self, own: Series, look: Look) -> Iterator[Point]:
        return _steps(list(own.items()), look, down=True)


class Rises(_Claim, frozen=True, kw_only=True, tag="rises"):
    """The last is above the first, and no step goes down."""

    def points(self, own: Series, look: Look) -> Iterator[Point]:
        return _steps(list(own.items()), look, down=False)


class Widens(_Claim, frozen=True, kw_only=True, tag="widens"):
    """The line's part of each of the others falls along x, or, `towards` the low end, rises."""

    than: str | list[str]
    towards: Literal["high", "low"] = "high"

    def points(self, own: Series, look: Look) -> Iterator[Point]:
        for other in _listed(self.than):
            theirs = series(look.rows, line=other, x=look.x, y=look.y, where=look.where)
            if own and not theirs:
                yield absent(f"all {look.title}", f"no results of {other}")
            parts = [
                (place, _part(mean, theirs[place]))
                for place, mean in own.items()
                if place in theirs
            ]
            for point in _steps(parts, look, down=self.towards == "high"):
                yield point._replace(said=f"{point.said} of {other}")


class Flat(_Claim, frozen=True, kw_only=True, tag="flat"):
    """Largest and least differ by at most this part of the mean."""

    within: float

    def points(self, own: Series, look: Look) -> Iterator[Point]:
        if len(own) < 2:
            return
        least, most = _least(own), max(own, key=lambda at: own[at].mean)
        level = abs(sum(mean.mean for mean in own.values()) / len(own))
        room = self.within * level - (own[most].mean - own[least].mean)
        said = f"from {figure_shown(own[least].mean)} at {look.at(least)} to {figure_shown(own[most].mean)} at {place_shown(most)}"
        # Above the least by no more than that; which two are farthest apart was looked for among
        # all pairs.
        pairs = len(own) * (len(own) - 1) // 2
        above = own[least].moved(plus=self.within * level)
        point = less(own[most], above, f"all {look.title}", tries=pairs)
        alike = own[least].mean == own[most].mean
        yield point._replace(
            said=said, margin=room / (level or 1.0), holds=True if alike else point.holds
        )


class Near(_Claim, frozen=True, kw_only=True, tag="near"):
    """Each differs from the printed number by at most this part of it."""

    within: float

    def points(self, own: Series, look: Look) -> Iterator[Point]:
        for numbers in look.printed:
            if numbers.line != self.line or numbers.y != look.y:
                continue
            for place, value in zip(numbers.x, numbers.values, strict=True):
                if not all(look.where.get(key) == wanted for key, wanted in numbers.where.items()):
                    continue
                if place in own:
                    slack = self.within * abs(value)
                    point = inside(own[place], value - slack, value + slack, look.at(place))
                    figure, _, more = point.said.partition(" ")
                    yield point._replace(
                        said=f"{figure}, printed {figure_shown(value)} {more}".rstrip()
                    )
                elif own and look.asks(place):
                    yield absent(look.at(place), f"no results, printed {figure_shown(value)}")


class Between(_Claim, frozen=True, kw_only=True, tag="between"):
    """Each lies within these bounds."""

    low: float = -inf
    high: float = inf

    def points(self, own: Series, look: Look) -> Iterator[Point]:
        for place, mean in own.items():
            yield inside(mean, self.low, self.high, look.at(place))
        known = dict.fromkeys(row.get(look.x) for row in look.rows)
        yield from (
            absent(look.at(place))
            for place in known
            if own and place is not None and place not in own and look.asks(place)
        )


class BestAt(_Claim, frozen=True, kw_only=True, tag="best_at"):
    """The least is at an x within these bounds; elsewhere it may be less by this part at most."""

    low: float
    high: float
    within: float = 0.0

    def points(self, own: Series, look: Look) -> Iterator[Point]:
        known = [at for at in own if not isinstance(at, str) and self.low <= at <= self.high]
        within: Series = {at: mean for at, mean in own.items() if at in known}
        outside: Series = {at: mean for at, mean in own.items() if at not in known}
        if within and outside:
            here, there = _least(within), _least(outside)
            point = less(
                within[here],
                outside[there],
                look.at(here),
                factor=1 + self.within,
                tries=len(outside),
            )
            said = f"{figure_shown(within[here].mean)} against {figure_shown(outside[there].mean)} at {place_shown(there)}"
            yield point._replace(said=said)


Claim: TypeAlias = Below | Falls | Rises | Widens | Flat | Near | Between | BestAt


def judge_claim(
    claim: Claim,
    rows: Rows,
    *,
    x: str,
    printed: Sequence[Printed] = (),
    titles: Mapping[str, str] = MappingProxyType({}),
) -> list[Judged]:
    """Judge a claim of its own line, then of those that stand beside and are there; `titles` names
    figures and x.
    """
    there = {row.get("line") for row in rows}
    lines = [claim.line, *(line for line in claim.also if line in there)]
    return [
        _judge(claim, line, rows, x=claim.along or x, printed=printed, titles=titles)
        for line in lines
    ]


def _judge(
    claim: Claim,
    line: str,
    rows: Rows,
    *,
    x: str,
    printed: Sequence[Printed],
    titles: Mapping[str, str],
) -> Judged:
    points: list[Point] = []
    figures = _listed(claim.y)
    for y in figures:
        for where in _apart(claim, rows):
            named = [titles.get(y, y)] if len(figures) > 1 else []
            named += [str(where[claim.each])] if claim.each else []
            around = f"{', '.join(named)}, " if named else ""
            own = _at(series(rows, line=line, x=x, y=y, where=where), claim)
            look = Look(rows, x, y, where, printed, titles.get(x, x), claim.x)
            points += [
                point._replace(place=f"{around}{point.place}") for point in claim.points(own, look)
            ]
    return Judged(
        line, verdict_of(points, claim.share), sentence(points, claim.share), tuple(points)
    )


def _apart(claim: Claim, rows: Rows) -> Iterator[dict[str, Any]]:
    if not claim.each:
        yield claim.where
        return
    values = [
        row[claim.each]
        for row in rows
        if row.get(claim.each) is not None and fits(row, claim.where)
    ]
    for value in dict.fromkeys(values):
        yield {**claim.where, claim.each: value}


def _at(own: Series, claim: Claim) -> dict[Place, Measured]:
    return {place: mean for place, mean in own.items() if not claim.x or place in claim.x}


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _least(own: Series) -> Place:
    return min(own, key=lambda at: own[at].mean)


def _part(one: Measured, of: Measured) -> Measured:
    """Divide two means: seed by seed, where they have the same."""
    if one.by_seed.keys() == of.by_seed.keys() and one.by_seed and all(of.by_seed.values()):
        return measured({seed: value / of.by_seed[seed] for seed, value in one.by_seed.items()})
    part = one.mean / (of.mean or inf)
    error = sqrt(one.error**2 + (part * of.error) ** 2) / (abs(of.mean) or inf)
    return Measured(part, error, min(one.seeds, of.seeds), min(one.seeds, of.seeds))


def _steps(own: Sequence[tuple[Place, Measured]], look: Look, *, down: bool) -> Iterator[Point]:
    """Compare the last with the first, and find what goes against it: a place that is worse than
    the best before it.
    """
    if len(own) < 2:
        return

    def step(one: tuple[Place, Measured], other: tuple[Place, Measured], *, tries: int) -> Point:
        (before, first), (after, last) = one, other
        point = less(last, first, "", tries=tries) if down else less(first, last, "", tries=tries)
        said = f"{figure_shown(first.mean)}, then {figure_shown(last.mean)}"
        return point._replace(place=f"from {look.at(before)} to {place_shown(after)}", said=said)

    yield step(own[0], own[-1], tries=1)
    best = own[0]
    for later in own[1:]:
        against = step(best, later, tries=len(own) - 1)
        # Equal steps are none up; the first and the last were compared already.
        if against.holds is False and against.margin and (best, later) != (own[0], own[-1]):
            yield against
        best = min(best, later, key=lambda at: at[1].mean if down else -at[1].mean)
