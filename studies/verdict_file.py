"""`verdict.json`: the result of a reproduction in short, for programs and for the index."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ..evaluation.points import Verdict
from ..messages import UsageError
from .datasets import DatasetFile
from .reproduction import JudgedClaim, Reproduction

__all__ = ["ClaimEntry", "LineEntry", "VerdictFile", "read_verdict", "verdict_json"]


class LineEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one line."""

    line: str
    verdict: Verdict
    decided_by: str


class ClaimEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a claim."""

    says: str
    source: str = msgspec.field(name="at")
    """Where the paper makes the claim."""
    ours: bool
    choice: str
    """What the paper does not give and the verdict hangs on, with our value."""
    verdict: Verdict
    line: str
    decided_by: str
    beside: list[LineEntry]
    """The verdicts on our lines, which do not count for the paper."""


class VerdictFile(msgspec.Struct, frozen=True, kw_only=True):
    """What verdict.json holds."""

    name: str
    title: str
    paper: str
    where: str
    verdict: Verdict
    choices: list[str]
    """What the paper does not give and the verdict hangs on."""
    quick: bool
    runs: int
    failed: int
    left: int
    """Number of rows whose runs have not been made."""
    seconds: float
    data: dict[str, str]
    """By dataset, how its file differs from the published one."""
    sha256: dict[str, str]
    claims: list[ClaimEntry]


def verdict_json(result: Reproduction, *, files: Sequence[DatasetFile], quick: bool) -> bytes:
    """Write the result in short."""
    item = result.item
    verdict = VerdictFile(
        name=item.name,
        title=item.title,
        paper=item.paper,
        where=item.where,
        verdict=result.verdict,
        choices=result.choices,
        quick=quick,
        runs=result.study.cells,
        failed=len(result.study.failures),
        left=result.rows_left,
        seconds=round(result.seconds, 1),
        data={file.dataset: file.kind for file in files},
        sha256={file.dataset: file.digest for file in files},
        claims=[_claim_entry(judgement) for judgement in result.judgements],
    )
    return (json.dumps(msgspec.to_builtins(verdict), indent=2) + "\n").encode()


def _claim_entry(judgement: JudgedClaim) -> ClaimEntry:
    claim = judgement.claim
    first, *beside = judgement.verdicts
    return ClaimEntry(
        says=claim.says,
        source=claim.at,
        ours=claim.ours,
        choice=claim.choice,
        verdict=first.verdict,
        line=first.line,
        decided_by=first.sentence,
        beside=[
            LineEntry(line=other.line, verdict=other.verdict, decided_by=other.sentence)
            for other in beside
        ],
    )


def read_verdict(path: Path) -> VerdictFile:
    """Read a verdict.json; an error names the file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=VerdictFile)
    except msgspec.DecodeError as error:
        raise UsageError(
            f"expected the verdict of a reproduction in {path}, found {error}: remove its folder"
        ) from None
