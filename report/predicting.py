"""`sottovoce predict` applies a published classifier to a table; `sottovoce attack` guesses labels
from users' reports.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..evaluation.label_attacks import AttackResult, label_attacks
from ..evaluation.prediction import accuracy, read_classifier
from ..messages import UsageError
from ..parties import DEMO, DEMO_SCHEMA, blocks, infer, load, merge, read_schema

__all__ = ["attack_table", "predict_table"]


def predict_table(
    model: Path, data: str, *, schema: Path | None = None
) -> tuple[bytes, dict[str, Any] | None]:
    """Predict the label of every row: a CSV with one column; and how often that is right, if the
    table has the label, too.
    """
    import pandas as pd

    classifier = read_classifier(model, schema=schema)
    if data != DEMO and not Path(data).exists():
        raise UsageError(f"expected a table at {data}, found none")
    named = classifier.predict(data)
    out = io.StringIO()
    pd.DataFrame({classifier.label: np.asarray(named)}).to_csv(out, index=False)
    try:
        found = msgspec.to_builtins(
            accuracy(classifier, load(data, schema=classifier.schema_with_label))
        )
    except UsageError:  # without the label, or with others
        found = None
    return out.getvalue().encode(), found


def attack_table(
    data: str,
    *,
    schema: Path | None,
    label: str,
    epsilons: Sequence[float],
    record_cap: float | None,
    seed: int,
) -> list[AttackResult]:
    """Let users report and adversaries guess, at each epsilon."""
    for epsilon in epsilons:
        if not 0 < epsilon <= 1000 or not math.isfinite(epsilon):
            raise UsageError(
                f"expected budgets above 0 and at most 1000 for --epsilon, found {epsilon:g}"
            )
        if record_cap is not None and not record_cap >= epsilon:
            raise UsageError(
                f"expected --record-cap of at least epsilon, {epsilon:g}, found {record_cap:g}"
            )
    if data != DEMO and not Path(data).exists():
        raise UsageError(f"expected a table at {data}, found none")
    rules = (
        read_schema(schema)
        if schema
        else DEMO_SCHEMA
        if data == DEMO
        else merge([infer(blocks(data))])
    )
    records = load(data, schema=rules)
    name = label or records.domain.attributes[-1]
    return [
        label_attacks(records, label=name, epsilon=own, record_cap=record_cap, seed=seed)
        for own in epsilons
    ]
