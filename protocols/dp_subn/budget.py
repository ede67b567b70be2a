"""The budget of a run: how it is split among the phases that look at records."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields

from ...messages import UsageError
from ...privacy import Budget

__all__ = ["PhaseBudgets"]


@dataclass(frozen=True, slots=True)
class PhaseBudgets:
    """The budgets of the four phases that look at records, all in the same unit."""

    correlations: Budget
    initialisation: Budget
    update: Budget
    parameters: Budget

    @classmethod
    def of(cls, whole: Budget, *shares: float) -> PhaseBudgets:
        """Split a budget by four shares."""
        return cls(*(whole.share(share) for share in shares))

    @classmethod
    def split(cls, whole: Budget, shares: str, *, phases: Collection[str]) -> PhaseBudgets:
        """Split a budget by shares such as 0.3,0,0.1,0.6, which must sum to 1.

        Args:
            whole: The budget of the whole run.
            shares: A share for each of the four phases.
            phases: The phases that look at records; the others get no share.

        Raises:
            UsageError: the shares are not four numbers that sum to 1, or a phase has a share that
                it does not need, or none.
        """
        try:
            parts = [float(part) for part in shares.split(",")]
        except ValueError:
            parts = []
        # The comparisons are written so that a NaN fails them.
        if len(parts) != 4 or not min(parts) >= 0 or not abs(sum(parts) - 1) <= 1e-9:
            raise UsageError(
                f"expected budget=a,b,c,d, four shares that sum to 1, found {shares!r}"
            )
        for number, (field, part) in enumerate(zip(fields(cls), parts, strict=True), start=1):
            if field.name in phases and part == 0:
                raise UsageError(
                    f"expected a share of the budget for phase {number}, {field.name}, in "
                    f"budget={shares}, found 0"
                )
            if field.name not in phases and part > 0:
                raise UsageError(
                    f"expected no share of the budget for phase {number}, {field.name}, in "
                    f"budget={shares}, as it looks at no record: found {part:g}"
                )
        return cls.of(whole, *parts)
