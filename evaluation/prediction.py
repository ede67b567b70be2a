"""Prediction with a published classifier: a naive Bayes model or a decision tree.

A schema turns the columns of a table into the codes that the classifier reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from ..curator.decision_tree import Tree
from ..curator.marginal import Codes, Numbers
from ..curator.naive_bayes import NaiveBayes
from ..messages import UsageError
from ..parties import COMMAS, SCHEMA_FILE, CsvForm, Records, Schema, load, read_schema

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["KINDS", "Accuracy", "Classifier", "accuracy", "read_classifier"]

KINDS: Final = ("naive-bayes", "decision-tree")


class Accuracy(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of rows whose label is predicted right."""

    label: str
    rows: int
    model: float
    """Accuracy of the classifier."""
    majority: float
    """Accuracy of always predicting the label that most of these rows have."""


class Model(Protocol):
    """The part of a classifier that reads codes."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes from which the label is predicted."""
        ...

    def check(self, sizes: Mapping[str, int], *, labels: int) -> None:
        """Raise a `ValueError` if the model does not fit the attributes and the labels."""
        ...

    def predict(self, codes: Mapping[str, Codes], people: int) -> npt.NDArray[np.int64]:
        """Predict the label of each person."""
        ...

    def probabilities(self, codes: Mapping[str, Codes], people: int, *, labels: int) -> Numbers:
        """Compute the probability of each label, a row for each person."""
        ...


class Classifier:
    """A model together with the schema with which it was learnt."""

    def __init__(self, model: Mapping[str, Any], schema: Schema) -> None:
        """Check the contents of a model.json against the schema of its run."""
        self.kind = str(model.get("kind"))
        if self.kind not in KINDS:
            raise UsageError(
                f"expected a model of kind {' or '.join(KINDS)}, found {model.get('kind')!r}"
            )
        try:
            self.label, self.labels = str(model["label"]), tuple(map(str, model["labels"]))
            self._model: Model = (
                NaiveBayes.from_builtins(model)
                if self.kind == "naive-bayes"
                else Tree.from_builtins(model["tree"])
            )
            known_labels = {name: tuple(model["attributes"][name]) for name in self.attributes}
            self._check({name: len(labels) for name, labels in known_labels.items()})
        except (
            KeyError,
            TypeError,
            ValueError,
            IndexError,
            AttributeError,
            OverflowError,
            RecursionError,
        ) as error:
            raise UsageError(
                f"expected a {self.kind} model as a run writes it, "
                f"found {type(error).__name__}: {error}"
            ) from None
        for name, labels in {**known_labels, self.label: self.labels}.items():
            if schema.domain.labels.get(name) != labels:
                raise UsageError(
                    "expected the schema of the model's run, "
                    f"found other labels of {name}: give --schema"
                )
        self.schema = _restricted(schema, self.attributes)
        """Rules of the attributes that the model reads."""
        self.schema_with_label = _restricted(schema, (*self.attributes, self.label))

    @property
    def attributes(self) -> tuple[str, ...]:
        """Attributes from which the label is predicted."""
        return self._model.attributes

    def predict(
        self, table: str | pd.DataFrame, *, form: CsvForm = COMMAS
    ) -> npt.NDArray[np.object_]:
        """Predict the label of every row of a table, which need not have the label."""
        codes, rows = self._read(table, form=form)
        return np.array(self.labels, dtype=object)[self._model.predict(codes, rows)]

    def predict_codes(self, records: Records) -> npt.NDArray[np.int64]:
        """Predict the labels of records, as codes."""
        return self._model.predict(self._codes(records), len(records))

    def probabilities(self, table: str | pd.DataFrame) -> Numbers:
        """Compute the probability of each label for every row. A tree predicts with certainty."""
        codes, rows = self._read(table, form=COMMAS)
        return self._model.probabilities(codes, rows, labels=len(self.labels))

    def _check(self, sizes: Mapping[str, int]) -> None:
        """Refuse numbers that no run writes."""
        self._model.check(sizes, labels=len(self.labels))
        if self.label in sizes:
            raise ValueError(f"expected attributes other than the label {self.label}")

    def _read(self, table: str | pd.DataFrame, *, form: CsvForm) -> tuple[dict[str, Codes], int]:
        # A tree that is a single leaf reads no attribute, and an empty schema would read no rows.
        records = load(table, schema=self.schema if self.attributes else None, form=form)
        return self._codes(records), len(records)

    def _codes(self, records: Records) -> dict[str, Codes]:
        return {name: np.asarray(records.codes(name)) for name in self.attributes}


def accuracy(classifier: Classifier, records: Records) -> Accuracy:
    """Compare the predictions with the labels of the records."""
    labels = np.asarray(records.codes(classifier.label)).astype(np.int64)
    counts = np.bincount(labels, minlength=len(classifier.labels))
    return Accuracy(
        label=classifier.label,
        rows=len(records),
        model=float(np.mean(classifier.predict_codes(records) == labels)),
        majority=float(counts.max() / len(records)),
    )


def read_classifier(path: Path, *, schema: Path | None = None) -> Classifier:
    """Read model.json, or that of a run's folder. The default schema is the one beside it."""
    file = path / "model.json" if path.is_dir() else path
    schema_file = schema or file.parent / SCHEMA_FILE
    try:
        model = json.loads(file.read_text())
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no text"
        raise UsageError(f"expected a model at {file}, found {reason}") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise UsageError(f"expected JSON in {file}, found {error}") from None
    if not isinstance(model, dict):
        raise UsageError(f"expected a model in {file}, found a {type(model).__name__}")
    if not schema_file.is_file():
        raise UsageError(
            f"expected the schema of the model's run at {schema_file}, found none: give --schema"
        )
    return Classifier(model, read_schema(schema_file))


def _restricted(schema: Schema, names: tuple[str, ...]) -> Schema:
    return Schema({name: rule for name, rule in schema.attributes.items() if name in names})
