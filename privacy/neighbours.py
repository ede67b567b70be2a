"""Between which datasets a claim holds, and who has the budget. A protocol declares both."""

from __future__ import annotations

from typing import Literal

__all__ = ["BudgetHolder", "Neighbours"]

Neighbours = Literal["replace-one", "add-or-remove-one", "label-within-belief", "label-alone"]
"""The relation between neighbouring datasets.

    replace-one             one record is replaced by another
    add-or-remove-one       one record is added or removed
    label-within-belief     one record has another label, and attributes go with labels as they are
                            likely to; no report names attributes that more than omega of a label's
                            people have (`privacy.local.belief`)
    label-alone             one record has another label; attributes stay, and are sent as they are
"""

BudgetHolder = Literal["record", "user"]
"""Who has the budget: each record of the party, or each of the users for whom it acts."""
