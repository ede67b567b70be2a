"""What is published of users: marginals, as numbers of users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...curator import Marginal
from ...privacy import Domain
from ...privacy.domain import marginal_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["published"]


def published(domain: Domain, tables: Sequence[Marginal], *, users: int) -> pd.DataFrame:
    """Write distributions as numbers of users, to a thousandth."""
    counts = [np.round(own.values * users, 3).reshape(-1) for own in tables]  # noqa: PD011 - not of pandas
    return marginal_table(domain, [own.attributes for own in tables], counts)
