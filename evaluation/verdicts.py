"""Verdicts on a paper's claims, from the results of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from .claims import BelowClaim, Claim, WideningClaim, as_list
from .points import Point, Verdict, sentence, verdict_of
from .results import PrintedValues, Results
from .series import Condition, Row, matches

__all__ = ["ClaimVerdict", "judge_claim"]


class ClaimVerdict(NamedTuple):
    """The verdict on a claim about one line."""

    line: str
    verdict: Verdict
    sentence: str
    points: tuple[Point, ...]


def judge_claim(
    claim: Claim,
    rows: Sequence[Row],
    *,
    x: str,
    printed: Sequence[PrintedValues] = (),
    titles: Mapping[str, str] = MappingProxyType({}),
) -> list[ClaimVerdict]:
    """Judge a claim about its own line, then about the lines of `also` that have results.

    Args:
        claim: The claim.
        rows: Results of runs.
        x: The column of x, if the claim does not name another one.
        printed: Numbers that the paper prints.
        titles: Names of columns in sentences.
    """
    present = {row.get("line") for row in rows}
    lines = [claim.line, *(line for line in claim.also if line in present)]
    return [
        _judge(
            _claim_of(claim, line), line, rows, x=claim.along or x, printed=printed, titles=titles
        )
        for line in lines
    ]


def _claim_of(claim: Claim, line: str) -> Claim:
    """Make the claim about a line of `also`, which may be compared with lines of its own."""
    if isinstance(claim, BelowClaim | WideningClaim) and line in claim.than_for:
        return msgspec.structs.replace(claim, than=claim.than_for[line])
    return claim


def _judge(
    claim: Claim,
    line: str,
    rows: Sequence[Row],
    *,
    x: str,
    printed: Sequence[PrintedValues],
    titles: Mapping[str, str],
) -> ClaimVerdict:
    points: list[Point] = []
    figures = as_list(claim.y)
    for y in figures:
        for where in _groups(claim, rows):
            names = [titles.get(y, y)] if len(figures) > 1 else []
            names += [str(where[claim.each])] if claim.each else []
            prefix = "".join(f"{name}, " for name in names)
            results = Results(rows, x, y, where, printed, titles.get(x, x), claim.x)
            means = {
                place: mean
                for place, mean in results.series(line).items()
                if not claim.x or place in claim.x
            }
            points += [
                point._replace(place=f"{prefix}{point.place}")
                for point in claim.points(means, results)
            ]
    verdict = verdict_of(points, claim.share)
    return ClaimVerdict(line, verdict, sentence(points, claim.share), tuple(points))


def _groups(claim: Claim, rows: Sequence[Row]) -> Iterator[dict[str, Condition]]:
    """List the conditions of each group of rows that is judged separately."""
    if not claim.each:
        yield claim.where
        return
    values = [
        row[claim.each]
        for row in rows
        if row.get(claim.each) is not None and matches(row, claim.where)
    ]
    for value in dict.fromkeys(values):
        yield {**claim.where, claim.each: value}
