"""Drawn rows as a table of labels, with the attributes that no model has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..privacy.domain import Domain
from .sampling import SampleCodes

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["decode_rows"]


def decode_rows(
    domain: Domain, attributes: Sequence[str], codes: Sequence[SampleCodes]
) -> pd.DataFrame:
    """Write rows of these attributes as a table of the whole domain.

    An attribute of the domain that is not among them has a single label, which every row gets.
    """
    drawn = dict(zip(attributes, codes, strict=True))
    single_label = np.zeros(len(codes[0]), np.uint8)
    return domain.decode([drawn.get(name, single_label) for name in domain.attributes])
