"""Claims of a paper, held against results: a small closed algebra, so that a verdict is never typed in.

    below     a line has less of a figure than others have, perhaps than a part of it
    falls     it gets less along x;  rises: more
    flat      it hardly changes along x
    near      it is what the paper prints
    between   it lies within bounds
    best_at   it is least where x is said to be

A claim is judged point by point, from means over seeds: a point holds, or does not, or is undecided, where a difference is
below two standard errors of it. With one seed there is no such error, and what differs is decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf, sqrt
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from .series import Measured, Place, Rows, Series, figure_shown, level, place_shown, series

__all__ = [
    "Between",
    "BestAt",
    "Below",
    "Claim",
    "Falls",
    "Flat",
    "Judged",
    "Near",
    "Point",
    "Printed",
    "Rises",
    "Verdict",
    "judge_claim",
    "overall",
]

Verdict: TypeAlias = Literal["reproduced", "reproduced in part", "not reproduced", "undecided"]
ERRORS: Final = 2.0
MOST_NAMED: Final = 3
"""Points that a sentence names."""


class Point(NamedTuple):
    """What was decided at one place."""

    holds: bool | None
    place: str
    said: str
    margin: float
    """How far it is from the border, as a part of what is compared."""


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
            raise ValueError(f"expected as many values as x of {self.line}, found {len(self.values)} and {len(self.x)}")


class Look(NamedTuple):
    """What a claim is judged by, beside its own line."""

    rows: Rows
    x: str
    y: str
    where: Mapping[str, Any]
    printed: Sequence[Printed]
    title: str
    """What x is called."""

    def at(self, place: Place) -> str:
        return f"{self.title} {place_shown(place)}"


class _Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
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
    ours: bool = False
    """A question of ours: it is answered, and counts for nothing in the paper's verdict."""


class Below(_Claim, frozen=True, kw_only=True, tag="below"):
    """At every x the line is below each of the others, times `factor`."""

    than: str | list[str]
    factor: float = 1.0
    ties: bool = False
    """Whether what is exactly as large will do."""

    def points(self, own: Series, look: Look) -> Iterator[Point]:
        for other in _listed(self.than):
            theirs: Series = series(look.rows, line=other, x=look.x, y=look.y, where=look.where)
            flat = level(look.rows, line=other, x=look.x, y=look.y, where=look.where)
            theirs = dict.fromkeys(own, flat) if flat and not theirs else theirs
            for place, mean in own.items():
                if place in theirs:
                    point = _less(mean, theirs[place], look.at(place), factor=self.factor, other=other)
                    yield point._replace(holds=True) if self.ties and point.margin == 0 else point


class Falls(_Claim, frozen=True, kw_only=True, tag="falls"):
    """The last is below the first, and no step goes up."""

    def points(self, own: Series, look: Look) -> Iterator[Point]:
        return _steps(list(own.items()), look, down=True)


class Rises(_Claim, frozen=True, kw_only=True, tag="rises"):
    """The last is above the first, and no step goes down."""

    def points(self, own: Series, look: Look) -> Iterator[Point]:
        return _steps(list(own.items()), look, down=False)


class Flat(_Claim, frozen=True, kw_only=True, tag="flat"):
    """Largest and least differ by at most this part of the mean."""

    within: float

    def points(self, own: Series, look: Look) -> Iterator[Point]:
        if len(own) < 2:
            return
        least, most = _least(own), max(own, key=lambda at: own[at].mean)
        level = abs(sum(mean.mean for mean in own.values()) / len(own))
        room = self.within * level - (own[most].mean - own[least].mean)
        said = (
            f"from {figure_shown(own[least].mean)} at {look.at(least)} to {figure_shown(own[most].mean)} at {place_shown(most)}"
        )
        holds = _decide(room, sqrt(own[least].error ** 2 + own[most].error ** 2))
        yield Point(holds, f"all {look.title}", said, room / (level or 1.0))


class Near(_Claim, frozen=True, kw_only=True, tag="near"):
    """Each differs from the printed number by at most this part of it."""

    within: float

    def points(self, own: Series, look: Look) -> Iterator[Point]:
        for numbers in look.printed:
            if numbers.line != self.line or numbers.y != look.y:
                continue
            for place, value in zip(numbers.x, numbers.values, strict=True):
                if place in own and all(look.where.get(key) == wanted for key, wanted in numbers.where.items()):
                    slack = self.within * abs(value)
                    point = _inside(own[place], value - slack, value + slack, look.at(place))
                    yield point._replace(said=f"{figure_shown(own[place].mean)}, printed {figure_shown(value)}")


class Between(_Claim, frozen=True, kw_only=True, tag="between"):
    """Each lies within these bounds."""

    low: float = -inf
    high: float = inf

    def points(self, own: Series, look: Look) -> Iterator[Point]:
        for place, mean in own.items():
            yield _inside(mean, self.low, self.high, look.at(place))


class BestAt(_Claim, frozen=True, kw_only=True, tag="best_at"):
    """The least is at an x within these bounds."""

    low: float
    high: float

    def points(self, own: Series, look: Look) -> Iterator[Point]:
        known = [at for at in own if not isinstance(at, str) and self.low <= at <= self.high]
        inside: Series = {at: mean for at, mean in own.items() if at in known}
        outside: Series = {at: mean for at, mean in own.items() if at not in known}
        if inside and outside:
            here, there = _least(inside), _least(outside)
            point = _less(inside[here], outside[there], look.at(here))
            said = f"{figure_shown(inside[here].mean)} against {figure_shown(outside[there].mean)} at {place_shown(there)}"
            yield point._replace(said=said)


Claim: TypeAlias = Below | Falls | Rises | Flat | Near | Between | BestAt


def judge_claim(
    claim: Claim,
    rows: Rows,
    *,
    x: str,
    printed: Sequence[Printed] = (),
    titles: Mapping[str, str] = MappingProxyType({}),
) -> list[Judged]:
    """Judge a claim of its own line, then of those that stand beside and are there; `titles` names figures and x."""
    there = {row.get("line") for row in rows}
    lines = [claim.line, *(line for line in claim.also if line in there)]
    return [_judge(claim, line, rows, x=claim.along or x, printed=printed, titles=titles) for line in lines]


def _judge(claim: Claim, line: str, rows: Rows, *, x: str, printed: Sequence[Printed], titles: Mapping[str, str]) -> Judged:
    points: list[Point] = []
    figures = _listed(claim.y)
    for y in figures:
        for where in _apart(claim, rows):
            named = [titles.get(y, y)] if len(figures) > 1 else []
            named += [str(where[claim.each])] if claim.each else []
            around = f"{', '.join(named)}, " if named else ""
            own = _at(series(rows, line=line, x=x, y=y, where=where), claim)
            points += [
                point._replace(place=f"{around}{point.place}")
                for point in claim.points(own, Look(rows, x, y, where, printed, titles.get(x, x)))
            ]
    return Judged(line, verdict_of(points), _sentence(points), tuple(points))


def _apart(claim: Claim, rows: Rows) -> Iterator[dict[str, Any]]:
    if not claim.each:
        yield claim.where
        return
    values = [row[claim.each] for row in rows if claim.each in row and row[claim.each] is not None]
    for value in dict.fromkeys(values):
        yield {**claim.where, claim.each: value}


def _at(own: Series, claim: Claim) -> dict[Place, Measured]:
    return {place: mean for place, mean in own.items() if not claim.x or place in claim.x}


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _least(own: Series) -> Place:
    return min(own, key=lambda at: own[at].mean)


def _decide(difference: float, error: float) -> bool | None:
    return None if difference == 0 or abs(difference) < ERRORS * error else difference > 0


def _less(one: Measured, than: Measured, place: str, *, factor: float = 1.0, other: str = "") -> Point:
    border = factor * than.mean
    error = sqrt(one.error**2 + (factor * than.error) ** 2)
    against = f"{figure_shown(one.mean)} against {figure_shown(than.mean)}" + (f" of {other}" if other else "")
    return Point(_decide(border - one.mean, error), place, against, (border - one.mean) / (abs(border) or 1.0))


def _inside(mean: Measured, low: float, high: float, place: str) -> Point:
    room = min(mean.mean - low, high - mean.mean)
    holds = room >= 0 if abs(room) >= ERRORS * mean.error else None
    return Point(holds, place, figure_shown(mean.mean), room)


def _steps(own: Sequence[tuple[Place, Measured]], look: Look, *, down: bool) -> Iterator[Point]:
    """Compare the last with the first, and find the steps that go against it."""
    if len(own) < 2:
        return

    def step(one: tuple[Place, Measured], other: tuple[Place, Measured]) -> Point:
        (before, first), (after, last) = one, other
        point = _less(last, first, "") if down else _less(first, last, "")
        said = f"{figure_shown(first.mean)}, then {figure_shown(last.mean)}"
        return point._replace(place=f"from {look.at(before)} to {place_shown(after)}", said=said)

    yield step(own[0], own[-1])
    if len(own) > 2:
        yield from (point for point in (step(*both) for both in pairwise(own)) if point.holds is False)


def verdict_of(points: Sequence[Point]) -> Verdict:
    """Put points together: all, none, some, or nothing decided."""
    holds, fails = (sum(point.holds is wanted for point in points) for wanted in (True, False))
    if not holds and not fails:
        return "undecided"
    if holds == len(points):
        return "reproduced"
    return "reproduced in part" if holds else "not reproduced"


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Put claims together, in the same way."""
    decided = set(verdicts)
    if decided <= {"undecided"}:
        return "undecided"
    if len(decided) == 1:
        return verdicts[0]
    return "reproduced in part" if decided & {"reproduced", "reproduced in part"} else "not reproduced"


def _sentence(points: Sequence[Point]) -> str:
    """Say what decided, with the numbers."""
    if not points:
        return "no results to judge by"
    held = [point for point in points if point.holds]
    text = f"holds at {len(held) or 'none'} of {len(points)}" if len(points) > 1 else "holds" if held else ""
    parts = [text] if text else []
    if len(held) == len(points):
        closest = min(held, key=lambda point: point.margin)
        return f"{text}, closest at {closest.place}: {closest.said}" if len(points) > 1 else f"{text}: {closest.said}"
    for wanted, word in ((False, "not at"), (None, "undecided at")):
        named = [f"{point.place}: {point.said}" for point in points if point.holds is wanted]
        if named:
            rest = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
            parts.append(f"{word} {' · '.join(named[:MOST_NAMED])}{rest}")
    return "; ".join(parts)
