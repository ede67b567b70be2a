"""Rules: how the raw values of one attribute become codes.

An attribute has categories (`categories`), or it is numeric and has bins (`bins`). `Missing` says
what becomes of an absent value.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from ..privacy.domain import MAX_LABELS

__all__ = ["ABSENT", "INVALID", "MISSING_TEXTS", "Missing", "Rule"]

Missing: TypeAlias = Literal["refuse", "category", "drop", "infer"]
"""Refuse an absent value, give it a category of its own, or drop its row.

`infer` is a category for the protocol. In the published table it is replaced by values that follow
from the other rows (`curator.missing_values`).
"""

MISSING_TEXTS: Final = ("?", "", "NA", "N/A", "NaN", "nan", "<NA>", "null", "None")
"""Texts that stand for an absent value."""
ABSENT, INVALID = -1, -2
"""Codes of an absent value, and of a value outside the schema."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """What categories and bins have in common."""

    missing: Missing = "refuse"
    missing_as: tuple[str, ...] = MISSING_TEXTS

    @property
    def fallback(self) -> int | None:
        """Code of every value that has no other code; `None` where such a value is refused."""
        return None

    @property
    def has_category(self) -> bool:
        """Whether absent values are a category of their own for the protocol."""
        return self.missing in ("category", "infer")

    def is_absent(self, text: str) -> bool:
        return self.missing != "refuse" and text in self.missing_as

    def with_missing(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        """Add the label of absent values, which is itself read as absent."""
        return (*labels, self.missing_as[0]) if self.has_category else labels

    def check_missing(self, labels: tuple[str, ...]) -> None:
        if not self.missing_as:
            raise ValueError("expected at least one text in missing_as, found none")
        if len(self.with_missing(labels)) > MAX_LABELS:
            raise ValueError(
                f"expected at most {MAX_LABELS} labels, "
                f"found {len(labels)} and one for missing values"
            )
        if self.has_category and self.missing_as[0] in labels:
            raise ValueError(
                "expected another category for missing values "
                f"than {self.missing_as[0]!r}, which is one"
            )
