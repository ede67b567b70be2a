"""The four distributions on which CLLDP is measured (Xue et al. 2024, section 7.1): an attribute of
50 values and a label of 5.

Labels are even, and of the first four the attribute is even. Of the fifth it is

    U(1, 50)      even, too
    N(25, 1)      normal, rounded to whole numbers from 1 to 50
    N(25, 0.3)    the same with variance 0.3: its standard deviation is .55 (spec C16)
    D(25)         25
"""

from __future__ import annotations

from math import erf, inf, sqrt
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from ..messages import UsageError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LABEL_SETS", "label_set", "likely_of"]

LABEL_SETS: Final = ("U(1,50)", "N(25,1)", "N(25,0.3)", "D(25)")
VALUES: Final = 50
LABELS: Final = 5
VARIANCES: Final = {"U(1,50)": inf, "N(25,1)": 1.0, "N(25,0.3)": 0.3, "D(25)": 0.0}


def likely_of(name: str) -> npt.NDArray[np.float64]:
    """Compute Pr[s | l], a line for each label.

    >>> from sottovoce.privacy.local.belief import beliefs
    >>> [round(float(beliefs(likely_of(name))[0]), 4) for name in LABEL_SETS]
    [0.02, 0.3829, 0.6387, 1.0]
    """
    if name not in VARIANCES:
        raise UsageError(f"expected one of {', '.join(LABEL_SETS)}, found {name!r}")
    found = np.full((LABELS, VALUES), 1 / VALUES)
    variance = VARIANCES[name]
    if variance == 0:
        found[-1] = np.arange(1, VALUES + 1) == 25
    elif variance < inf:
        scale = sqrt(2 * variance)
        below = np.array([erf((edge - 25) / scale) for edge in np.arange(0.5, VALUES + 1)])
        found[-1] = np.diff(below) / (below[-1] - below[0])
    return found


def label_set(name: str, *, rows: int = 100_000, seed: int = 0) -> pd.DataFrame:
    """Draw a table of `value` and `label`, which are numbered from 1."""
    import pandas as pd

    likely, generator = likely_of(name), np.random.Generator(np.random.Philox(seed))
    labels = generator.integers(0, LABELS, rows)
    values = np.empty(rows, np.int64)
    for label in range(LABELS):
        own = np.flatnonzero(labels == label)
        values[own] = generator.choice(VALUES, len(own), p=likely[label])
    return pd.DataFrame({"value": (values + 1).astype(str), "label": (labels + 1).astype(str)})
