"""The commands `sottovoce predict` and `sottovoce attack`.

The first applies a published classifier to a table. The second guesses labels from users' reports.
"""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..evaluation.label_attacks import AttackResult, label_attacks
from ..evaluation.prediction import Accuracy, accuracy, read_classifier
from ..messages import UsageError
from ..parties import (
    COMMAS,
    DEMO,
    DEMO_SCHEMA,
    CsvForm,
    Schema,
    blocks,
    infer,
    load,
    merge,
    read_schema,
)

__all__ = ["Predictions", "attack_table", "predict_table"]

MAX_EPSILON = 1000


class Predictions(NamedTuple):
    """The predictions of a classifier for a table."""

    csv: bytes
    """A column with the predicted label of every row."""
    accuracy: Accuracy | None
    """The share of right predictions; `None` if the table has no label, or other ones."""


def predict_table(
    model: Path, data: str, *, schema: Path | None = None, form: CsvForm = COMMAS
) -> Predictions:
    """Predict the label of every row of a table."""
    import pandas as pd

    classifier = read_classifier(model, schema=schema)
    _check_table(data)
    labels = np.asarray(classifier.predict(data, form=form))
    out = io.StringIO()
    pd.DataFrame({classifier.label: labels}).to_csv(out, index=False)
    right: Accuracy | None = None
    with contextlib.suppress(UsageError):  # the table has no label, or other ones
        right = accuracy(classifier, load(data, schema=classifier.schema_with_label, form=form))
    return Predictions(out.getvalue().encode(), right)


def attack_table(
    data: str,
    *,
    schema: Path | None,
    label: str,
    epsilons: Sequence[float],
    record_cap: float | None,
    seed: int,
    form: CsvForm = COMMAS,
) -> list[AttackResult]:
    """Simulate users' reports at each epsilon, and the guesses of adversaries."""
    for epsilon in epsilons:
        if not 0 < epsilon <= MAX_EPSILON or not math.isfinite(epsilon):
            raise UsageError(
                f"expected budgets above 0 and at most {MAX_EPSILON} for --epsilon, "
                f"found {epsilon:g}"
            )
        if record_cap is not None and not record_cap >= epsilon:
            raise UsageError(
                f"expected --record-cap of at least epsilon, {epsilon:g}, found {record_cap:g}"
            )
    _check_table(data)
    records = load(data, schema=_schema_of(data, schema, form=form), form=form)
    name = label or records.domain.attributes[-1]
    return [
        label_attacks(records, label=name, epsilon=epsilon, record_cap=record_cap, seed=seed)
        for epsilon in epsilons
    ]


def _check_table(data: str) -> None:
    if data != DEMO and not Path(data).exists():
        raise UsageError(f"expected a table at {data}, found none")


def _schema_of(data: str, schema: Path | None, *, form: CsvForm) -> Schema:
    """Read the schema; without one, infer it from the table."""
    if schema is not None:
        return read_schema(schema)
    return DEMO_SCHEMA if data == DEMO else merge([infer(blocks(data, form=form))])
