"""The result of a reproduction: rows of results, and the verdict on each claim."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..evaluation.claims import Claim
from ..evaluation.points import Verdict, overall
from ..evaluation.verdicts import ClaimVerdict, judge_claim
from .cell import Row
from .cells import StudyResult
from .items import Item

__all__ = ["JudgedClaim", "Reproduction", "claim_verdicts", "judge_item"]


class JudgedClaim(NamedTuple):
    """A claim, and the verdicts on it."""

    claim: Claim
    verdicts: list[ClaimVerdict]
    """The verdict on the claim's own line, then those on our lines beside it."""

    @property
    def verdict(self) -> Verdict:
        return self.verdicts[0].verdict


class Reproduction(NamedTuple):
    """What a reproduction found."""

    item: Item
    study: StudyResult
    judgements: list[JudgedClaim]
    seconds: float

    @property
    def rows(self) -> list[Row]:
        return self.study.rows

    @property
    def rows_left(self) -> int:
        """Number of rows whose runs have not been made."""
        return sum(row["status"] == "not run" for row in self.rows)

    @property
    def verdict(self) -> Verdict:
        """The verdict on all claims of the paper."""
        return overall(claim_verdicts(self.judgements))

    @property
    def choices(self) -> list[str]:
        """What the paper does not give and its claims' verdicts hang on, each once."""
        claims = [judgement.claim for judgement in self.judgements if not judgement.claim.ours]
        claims = claims or [judgement.claim for judgement in self.judgements]
        return list(dict.fromkeys(claim.choice for claim in claims if claim.choice))


def claim_verdicts(judgements: Sequence[JudgedClaim]) -> list[Verdict]:
    """List the verdicts that count: the paper's claims, or our questions if there is no other."""
    papers = [judgement.verdict for judgement in judgements if not judgement.claim.ours]
    return papers or [judgement.verdict for judgement in judgements]


def judge_item(item: Item, rows: Sequence[Row]) -> list[JudgedClaim]:
    """Judge the item's claims by rows of results."""
    picture = item.picture
    figures = [panel.y for panel in picture.panel]
    titles = {
        panel.y: panel.title if figures.count(panel.y) == 1 else _shared_title(panel.y)
        for panel in picture.panel
    }
    titles[picture.x] = picture.x_title or picture.x
    return [
        JudgedClaim(
            claim, judge_claim(claim, rows, x=picture.x, printed=item.printed, titles=titles)
        )
        for claim in item.claim
    ]


def _shared_title(figure: str) -> str:
    """Name a figure that several panels draw; one of marginals by its number of attributes."""
    match = re.search(r"_(\d+)$", figure)
    return f"{match[1]}-way" if match else figure
