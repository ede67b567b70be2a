"""Applying a published classifier: a naive Bayes model or a decision tree, to a table whose columns
a schema makes codes of.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from ..curator.decision_tree import Tree
from ..curator.naive_bayes import NaiveBayes
from ..messages import UsageError
from ..parties import Records, Schema, load, read_schema
from ..privacy import Domain

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["KINDS", "Accuracy", "Classifier", "accuracy", "read_classifier"]

SCHEMA_FILE: Final = "schema.json"
KINDS: Final = ("naive-bayes", "decision-tree")


class Accuracy(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of rows whose label is predicted right."""

    label: str
    rows: int
    model: float
    majority: float
    """Of always answering the label that most of these rows have."""


class Classifier:
    """A model, and the schema that it was learnt with."""

    def __init__(self, model: Mapping[str, Any], schema: Schema) -> None:
        kind = model.get("kind")
        if kind not in KINDS:
            raise UsageError(f"expected a model of kind {' or '.join(KINDS)}, found {kind!r}")
        self.kind = str(kind)
        try:
            self.label, self.labels = str(model["label"]), tuple(map(str, model["labels"]))
            self._model = (
                NaiveBayes.read(model) if kind == "naive-bayes" else Tree.read(model["tree"])
            )
            self._check()
            coded = {name: tuple(model["attributes"][name]) for name in self.attributes}
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
                f"expected a {kind} model as a run writes it, found {type(error).__name__}: {error}"
            ) from None
        known = schema.domain.labels
        for name, labels in {**coded, self.label: self.labels}.items():
            if known.get(name) != labels:
                raise UsageError(
                    f"expected the schema of the model's run, found other labels of {name}: give --schema"
                )
        self._fit(schema.domain)
        self.schema = Schema(
            {name: rule for name, rule in schema.attributes.items() if name in self.attributes}
        )
        self.whole = Schema(
            {
                name: rule
                for name, rule in schema.attributes.items()
                if name in {*self.attributes, self.label}
            }
        )
        """With the label."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """What is read of a row."""
        if isinstance(self._model, NaiveBayes):
            return tuple(self._model.likely)
        return tuple(self._model.attributes)

    def _check(self) -> None:
        """Refuse numbers that no run writes; shapes are held against the schema by the labels."""
        classes = len(self.labels)
        if isinstance(self._model, NaiveBayes):
            tables = [self._model.prior[:, None], *self._model.likely.values()]
            if len(tables) < 2 or any(own.ndim != 2 or len(own) != classes for own in tables):
                raise ValueError(f"expected tables with a line for each of {classes} labels")
            if not all(np.isfinite(own).all() and (own >= 0).all() for own in tables):
                raise ValueError("expected probabilities, found other numbers")
        elif (
            not all(0 <= own.label < classes for own in self._model.nodes)
            or self.label in self._model.attributes
        ):
            raise ValueError(
                f"expected ends with one of {classes} labels, and no test of the label"
            )

    def _fit(self, domain: Domain) -> None:
        """Refuse tables and tests of values that the domain has not."""
        sizes = dict(zip(self.attributes, domain.shape(self.attributes), strict=True))
        if isinstance(self._model, NaiveBayes):
            fits = all(own.shape[1] == sizes[name] for name, own in self._model.likely.items())
        else:
            tests = [own.test for own in self._model.nodes if own.test is not None]
            fits = all(0 <= value < sizes[own.attribute] for own in tests for value in own[1])
        if not fits:
            raise UsageError(
                "expected a model and a schema of one domain, found others: give the schema of its run"
            )

    def predict(self, table: str | pd.DataFrame) -> npt.NDArray[np.object_]:
        """Predict the label of every row of a table, which need not have it."""
        return np.array(self.labels, dtype=object)[self._codes(*self._read(table))]

    def codes(self, records: Records) -> npt.NDArray[np.int64]:
        """Predict the labels of records, as codes."""
        return self._codes(self._columns(records), len(records))

    def likely(self, table: str | pd.DataFrame) -> npt.NDArray[np.float64]:
        """Say how likely each label is, for each row; a tree is sure."""
        columns, rows = self._read(table)
        if isinstance(self._model, Tree):
            return np.eye(len(self.labels))[self._codes(columns, rows)]
        scores = self._model.scores(columns)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def _read(self, table: str | pd.DataFrame) -> tuple[dict[str, npt.NDArray[Any]], int]:
        # A tree of one end reads nothing of a row.
        records = load(table, schema=self.schema if self.attributes else None)
        return self._columns(records) if self.attributes else {}, len(records)

    def _columns(self, records: Records) -> dict[str, npt.NDArray[Any]]:
        return {name: np.asarray(records.codes(name)) for name in self.attributes}

    def _codes(self, columns: Mapping[str, npt.NDArray[Any]], rows: int) -> npt.NDArray[np.int64]:
        if isinstance(self._model, Tree):
            return self._model.predict(columns, rows)
        return np.asarray(
            np.argmax(self._model.scores(columns), axis=1), np.int64
        )  # of equal ones the first


def accuracy(classifier: Classifier, records: Records) -> Accuracy:
    """Compare predictions with the labels that rows have."""
    true = np.asarray(records.codes(classifier.label)).astype(np.int64)
    counts = np.bincount(true, minlength=len(classifier.labels))
    return Accuracy(
        label=classifier.label,
        rows=len(records),
        model=float(np.mean(classifier.codes(records) == true)),
        majority=float(counts.max() / len(records)),
    )


def read_classifier(path: Path, *, schema: Path | None = None) -> Classifier:
    """Read model.json, or that of a run's folder; without a schema, the one beside it."""
    file = path / "model.json" if path.is_dir() else path
    beside = schema or file.parent / SCHEMA_FILE
    try:
        model = json.loads(file.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"expected a model at {file}, found {getattr(error, 'strerror', None) or 'no text'}"
        ) from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise UsageError(f"expected JSON in {file}, found {error}") from None
    if not isinstance(model, dict):
        raise UsageError(f"expected a model in {file}, found a {type(model).__name__}")
    if not beside.is_file():
        raise UsageError(
            f"expected the schema of the model's run at {beside}, found none: give --schema"
        )
    return Classifier(model, read_schema(beside))
