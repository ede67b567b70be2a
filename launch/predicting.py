"""`sottovoce predict`: a published classifier, applied to a table."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..evaluation.prediction import accuracy, read_classifier
from ..messages import UsageError
from ..parties import DEMO, load

__all__ = ["predict_table"]


def predict_table(model: Path, data: str, *, schema: Path | None = None) -> tuple[bytes, dict[str, Any] | None]:
    """Predict the label of every row: a CSV with one column; and how often that is right, if the table has the label, too."""
    import pandas as pd

    classifier = read_classifier(model, schema=schema)
    if data != DEMO and not Path(data).exists():
        raise UsageError(f"expected a table at {data}, found none")
    named = classifier.predict(data)
    out = io.StringIO()
    pd.DataFrame({classifier.label: np.asarray(named)}).to_csv(out, index=False)
    try:
        found = msgspec.to_builtins(accuracy(classifier, load(data, schema=classifier.whole)))
    except UsageError:  # without the label, or with others
        found = None
    return out.getvalue().encode(), found
