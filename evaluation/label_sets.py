"""The four distributions on which CLLDP is measured (Xue et al. 2024, section 7.1).

There is an attribute of 50 values and a label of 5. Labels are uniform. Given one of the first four
labels the attribute is uniform, too. Given the fifth label it is

    U(1, 50)      uniform
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

__all__ = ["LABEL_SETS", "conditional_of", "label_set"]

LABEL_SETS: Final = ("U(1,50)", "N(25,1)", "N(25,0.3)", "D(25)")
VALUES: Final = 50
LABELS: Final = 5
VARIANCES: Final = {"U(1,50)": inf, "N(25,1)": 1.0, "N(25,0.3)": 0.3, "D(25)": 0.0}


def conditional_of(name: str) -> npt.NDArray[np.float64]:
    """Compute Pr[s | l], a row for each label.

    >>> from sottovoce.privacy.local.belief import beliefs
    >>> [round(float(beliefs(conditional_of(name))[0]), 4) for name in LABEL_SETS]
    [0.02, 0.3829, 0.6387, 1.0]
    """
    if name not in VARIANCES:
        raise UsageError(f"expected one of {', '.join(LABEL_SETS)}, found {name!r}")
    conditional = np.full((LABELS, VALUES), 1 / VALUES)
    variance = VARIANCES[name]
    if variance == 0:
        conditional[-1] = np.arange(1, VALUES + 1) == 25
    elif variance < inf:
        scale = sqrt(2 * variance)
        below = np.array([erf((edge - 25) / scale) for edge in np.arange(0.5, VALUES + 1)])
        conditional[-1] = np.diff(below) / (below[-1] - below[0])
    return conditional


def label_set(name: str, *, rows: int = 100_000, seed: int = 0) -> pd.DataFrame:
    """Draw a table of `value` and `label`, which are numbered from 1."""
    import pandas as pd

    conditional = conditional_of(name)
    generator = np.random.Generator(np.random.Philox(seed))
    labels = generator.integers(0, LABELS, rows)
    values = np.empty(rows, np.int64)
    for label in range(LABELS):
        indices = np.flatnonzero(labels == label)
        values[indices] = generator.choice(VALUES, len(indices), p=conditional[label])
    return pd.DataFrame({"value": (values + 1).astype(str), "label": (labels + 1).astype(str)})
