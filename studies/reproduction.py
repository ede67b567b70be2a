"""A reproduction: the results of a table or figure, and the verdict on each of its claims."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ..evaluation.points import Verdict
from ..evaluation.verdicts import ClaimVerdict
from .cells import Row, StudyResult
from .items import Item

__all__ = ["JudgedClaim", "Reproduction"]


class JudgedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim of a paper, and what the results say of it."""

    says: str
    at: str
    why: str
    ours: bool
    """Whether the claim is ours and not the paper's."""
    judged: list[ClaimVerdict]
    """The verdict on the claim's own line first, then on the lines beside it."""

    @property
    def verdict(self) -> Verdict:
        return self.judged[0].verdict


class Reproduction(NamedTuple):
    """The results of one item, and what they say of its claims."""

    item: Item
    rows: list[Row]
    judgements: list[JudgedClaim]
    verdict: Verdict
    result: StudyResult
    seconds: float
