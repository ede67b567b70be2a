"""Drawn rows as rows of labels, with the attributes that no model has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..privacy.domain import Domain, LabelledRows
from .sampling import SampleCodes

__all__ = ["decode_rows"]


def decode_rows(
    domain: Domain, attributes: Sequence[str], codes: Sequence[SampleCodes]
) -> LabelledRows:
    """Write rows of these attributes with all attributes of the domain.

    An attribute of the domain that is not among them has a single label, which every row gets.
    """
    drawn = dict(zip(attributes, codes, strict=True))
    single_label = np.zeros(len(codes[0]), np.uint8)
    return domain.rows([drawn.get(name, single_label) for name in domain.attributes])
