"""A classifier for scikit-learn whose training labels are protected: `sottovoce.LabelClassifier`.

`fit` runs a protocol in this process and keeps the published model. Each row is a user who reports
by herself. It needs scikit-learn (`pip install 'sottovoce[evaluation]'`).
"""

from __future__ import annotations

import json
import numbers
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..evaluation.prediction import Classifier
from ..messages import ArgumentError, UsageError
from ..parties import Categories, Schema, blocks, infer, merge, read_schema, write_schema
from ..protocols import find
from .result import Run
from .run import Mode, run
from .unseen import UsualValues, within_bins

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import assert_all_finite, check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError:
    raise UsageError(
        "expected scikit-learn for LabelClassifier, found none: pip install 'sottovoce[evaluation]'"
    ) from None

__all__ = ["LabelClassifier"]

LABEL = "label"


class LabelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes or a decision tree, learnt without anyone seeing a label.

        LabelClassifier(epsilon=2.0).fit(X, y).predict(X)

    Args:
        protocol: "clldp-naive-bayes", "clldp-decision-tree" or "label-dp".
        epsilon: Privacy loss of a row's label.
        schema: Categories and bins of the columns: a JSON file, or a dictionary. Without it they
            are inferred from X, which is not private. A number outside all bins goes into the
            nearest bin. With an inferred schema a value that training did not have is taken for
            the nearest number, or for the most frequent value of its column. With your own schema
            it is an error, unless the schema says `other`.
        random_state: Seed, which makes the fit reproducible to the byte, and not private.
        mode: "rigorous", or "paper".
        parameters: Parameters of the protocol, such as {"belief": "none"}.

    `fit` sets `classes_`, `model_` (the published model) and `report_` (cost and privacy loss).
    """

    def __init__(
        self,
        protocol: str = "clldp-naive-bayes",
        *,
        epsilon: float = 1.0,
        schema: str | Path | Mapping[str, Any] | None = None,
        random_state: Any = None,
        mode: Mode = "rigorous",
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.protocol = protocol
        self.epsilon = epsilon
        self.schema = schema
        self.random_state = random_state
        self.mode = mode
        self.parameters = parameters

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - as scikit-learn calls it
        """Learn from the reports of all rows."""
        self._require_label()
        table = self._table(X, reset=True)
        if y is None:
            raise ArgumentError("LabelClassifier requires y to be passed, but the target y is None")
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        check_classification_targets(labels)
        if len(labels) != len(table):
            raise ArgumentError(
                f"expected a label for each of {len(table)} rows, found {len(labels)}"
            )
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ArgumentError("expected at least two classes in y, found one class")
        attributes = {} if self.schema is None else dict(read_schema(self.schema).attributes)
        attributes = attributes or dict(merge([infer(blocks(table))]).attributes)
        names = [str(column) for column in table.columns]
        if missing := [name for name in attributes if name not in names and name != LABEL]:
            raise UsageError(
                f"expected a column {missing[0]!r}, as the schema says, found {', '.join(names)}"
            )
        label = LABEL
        while label in names:  # the protected label must have no column's name
            label += "_"
        rules = {name: rule for name, rule in attributes.items() if name in names}
        schema = Schema({**rules, label: _numbered(len(self.classes_))})
        if reserved := {"label", "epsilon"} & {*(self.parameters or {})}:
            raise UsageError(
                f"expected parameters without {', '.join(sorted(reserved))}, "
                "which fit sets, found them"
            )
        parameters = {"label": label, "epsilon": self.epsilon, **(self.parameters or {})}
        seed = None if self.random_state is None else _seed(self.random_state)
        result: Run = run(
            self.protocol,
            within_bins(table, schema).assign(**{label: codes.astype(str)}),
            parties=1,
            seed=seed,
            mode=self.mode,
            schema=json.loads(write_schema(schema)),
            judge=False,
            **parameters,
        )
        self.model_, self.report_ = result.model, result.report
        self._classifier = Classifier(result.model, schema)
        self._usual = UsualValues.of(table, Schema(rules)) if self.schema is None else None
        return self

    def _require_label(self) -> None:
        """Refuse a protocol that learns no label."""
        kind = find(self.protocol)
        if "label" not in kind.Parameters.__struct_fields__:
            raise UsageError(
                f"expected a protocol that learns a label, found {kind.name}: "
                "take clldp-naive-bayes, clldp-decision-tree or label-dp"
            )

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803
        """Predict the label of each row."""
        check_is_fitted(self)
        codes = self._classifier.predict(self._rows(X))
        return np.asarray(self.classes_[codes.astype(int)])

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:  # noqa: N803
        """Estimate each label's probability, which is 0 or 1 for a decision tree."""
        check_is_fitted(self)
        return self._classifier.probabilities(self._rows(X))

    def _rows(self, rows: Any) -> Any:
        table, schema = self._table(rows, reset=False), self._classifier.schema
        if self._usual is None:
            return within_bins(table, schema)
        return self._usual.fill(table, schema)

    def _table(self, rows: Any, *, reset: bool) -> Any:
        """Take a DataFrame as it is, and anything else as numbers in columns x0, x1, ..."""
        import pandas as pd

        if isinstance(rows, pd.DataFrame):
            names = rows.columns.map(str)
            if not names.is_unique:
                raise ArgumentError("expected columns of different names, found some twice")
            validate_data(self, rows, reset=reset, skip_check_array=True)
            return rows.reset_index(drop=True).set_axis(names, axis=1)
        try:
            checked = validate_data(self, rows, reset=reset, dtype="numeric")
        except ValueError:
            if np.asarray(rows).dtype.kind not in "OSU":
                raise
            raise ArgumentError(
                "expected numbers in an array without names of columns, found texts: "
                "pass pandas.DataFrame(X, columns=[...])"
            ) from None
        return pd.DataFrame(checked, columns=[f"x{index}" for index in range(checked.shape[1])])


def _seed(random_state: Any) -> int:
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(1 << 31))


def _numbered(classes: int) -> Categories:
    return Categories(categories=tuple(map(str, range(classes))))
