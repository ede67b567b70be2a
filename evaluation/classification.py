"""Classification: errors on real people of a classifier that learns from the synthetic table.

As in the papers, the classifier is a linear support vector machine (squared hinge loss, C = 1,
one-hot attributes). It is tested on a fifth of the real table. There are two baselines: the same
learner on the other four fifths of the real table, and the most frequent label.

If one attribute alone determines the label, as education-num does education, no comparison has a
meaning. A note names such attributes, and they can be dropped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from ..messages import UsageError
from ..parties import Records
from ..privacy.domain import Domain

if TYPE_CHECKING:
    from scipy import sparse

__all__ = [
    "Misclassification",
    "Predictor",
    "Target",
    "classify",
    "determining",
    "learn",
    "one_hot",
    "one_hot_codes",
    "read_target",
    "split_rows",
]

Labels: TypeAlias = npt.NDArray[np.int64]
TRAINING_SHARE: Final = 0.8
TOLERANCE: Final = 1e-3
"""Gradient at which learning ends.

With a tenth of it shares of errors on Adult differ by .0001 at most, and learning takes 1.3 to 2
times as long (`benchmarks/learning_tolerance.py`).
"""


class Misclassification(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of the tested people whose label is predicted wrong."""

    target: str
    classes: int
    tested: int
    """Number of people in the test."""
    synthetic: float
    """Error of the classifier that learnt from the synthetic table."""
    real: float
    """Error of the classifier that learnt from the real table."""
    majority: float
    """Error of always predicting the most frequent label."""
    dropped: tuple[str, ...]
    """Attributes that the classifiers do not use."""


class Target(msgspec.Struct, frozen=True):
    """The label to predict: an attribute, or whether it has one of the `positive` codes."""

    text: str
    attribute: str
    positive: tuple[int, ...] | None = None

    def classes(self, domain: Domain) -> int:
        return domain.cells([self.attribute]) if self.positive is None else 2

    def of(self, records: Records) -> Labels:
        codes = records.codes(self.attribute)
        return (
            codes.astype(np.int64)
            if self.positive is None
            else np.isin(codes, self.positive).astype(np.int64)
        )


class Predictor(Protocol):
    """A classifier that has learnt."""

    def predict(self, rows: sparse.csr_matrix) -> Labels: ...


def read_target(domain: Domain, text: str) -> Target:
    """Read `income`, `education>=Bachelors` (in the schema's order), or `race=White|Black`.

    >>> read_target(Domain({"age": ("young", "middle", "old")}), "age>=middle").positive
    (1, 2)
    """
    if text in domain.labels:
        return Target(text, text)
    name, sign, value = text.partition(">=")
    if not sign:
        name, sign, value = text.partition("=")
    domain.shape([name])
    labels = domain.labels[name]
    positive = [value] if sign == ">=" else value.split("|")
    if unknown := [label for label in positive if label not in labels]:
        first = ", ".join(labels[:8]) + (", ..." if len(labels) > 8 else "")
        raise UsageError(
            f"expected a label of {name} ({first}) in --classify {text}, found {unknown[0]!r}"
        )
    if sign == ">=":
        return Target(text, name, tuple(range(labels.index(value), len(labels))))
    return Target(text, name, tuple(labels.index(label) for label in positive))


def determining(real: Records, target: Target) -> list[str]:
    """List the other attributes that each alone determine the label of every row."""
    labels = target.of(real)
    names = []
    for name in real.domain.attributes:
        if name == target.attribute:
            continue
        counts = np.zeros((real.domain.cells([name]), int(labels.max()) + 1), np.int64)
        np.add.at(counts, (real.codes(name), labels), 1)
        if counts.max(axis=1).sum() == len(real) and np.count_nonzero(counts.sum(axis=0)) > 1:
            names.append(name)
    return names


def classify(
    real: Records,
    synthetic: Records,
    target: Target,
    *,
    drop: Sequence[str] = (),
    seed: int = 0,
    test: Records | None = None,
) -> Misclassification:
    """Train on the synthetic table, and test on real people.

    The test is a fifth of the real table, drawn with `seed`, or the table `test`.
    """
    real.domain.shape(drop)
    names = [
        name for name in real.domain.attributes if name != target.attribute and name not in drop
    ]
    if not names:
        raise UsageError(
            f"expected attributes from which to predict {target.text}, found all dropped"
        )
    training, tested = split_rows(real, test, seed=seed)
    training_labels, test_labels = target.of(training), target.of(tested)
    inputs = one_hot(tested, names)
    candidate = learn(one_hot(synthetic, names), target.of(synthetic), seed=seed)
    reference = LearningTask(one_hot(training, names), training_labels, inputs, test_labels, seed)
    majority = np.bincount(training_labels).argmax()
    return Misclassification(
        target=target.text,
        classes=target.classes(real.domain),
        tested=len(tested),
        synthetic=float(np.mean(candidate.predict(inputs) != test_labels)),
        real=ERRORS_OF_REAL_ROWS.of(reference),
        majority=float(np.mean(majority != test_labels)),
        dropped=tuple(drop),
    )


@dataclass(frozen=True, slots=True)
class LearningTask:
    """What a classifier learns from, and what it is tested on."""

    rows: sparse.csr_matrix
    labels: Labels
    test_rows: sparse.csr_matrix
    test_labels: Labels
    seed: int

    @property
    def digest(self) -> bytes:
        """A digest of all that the error follows from."""
        digest = hashlib.sha256(repr((self.rows.shape, self.test_rows.shape, self.seed)).encode())
        for numbers in (self.rows.indices, self.labels, self.test_rows.indices, self.test_labels):
            digest.update(np.asarray(numbers, np.int64).tobytes())
        return digest.digest()

    def error(self) -> float:
        """Learn, and compute the share of tested rows whose label is predicted wrong."""
        predictor = learn(self.rows, self.labels, seed=self.seed)
        return float(np.mean(predictor.predict(self.test_rows) != self.test_labels))


@dataclass(frozen=True, slots=True)
class KnownErrors:
    """Errors that were computed once: the runs of a sweep share their real rows."""

    by_digest: dict[bytes, float] = field(default_factory=dict)

    def of(self, task: LearningTask) -> float:
        """Find the error of a task, or compute it."""
        key = task.digest
        if key not in self.by_digest:
            self.by_digest[key] = task.error()
        return self.by_digest[key]


ERRORS_OF_REAL_ROWS: Final = KnownErrors()


def split_rows(real: Records, test: Records | None, *, seed: int) -> tuple[Records, Records]:
    """Split the real table into rows to learn from and rows to test on.

    The test is a fifth of the table, or the table `test`; then all real rows are learnt from.
    """
    if test is None:
        order = np.random.Generator(np.random.Philox(seed)).permutation(len(real))
        end = int(TRAINING_SHARE * len(real))
        training, tested = real.take(order[:end]), real.take(order[end:])
    else:
        training, tested = real, test
    if not len(training) or not len(tested):
        raise UsageError(f"expected at least 2 rows to classify, found {len(real)}")
    return training, tested


class _ConstantPredictor:
    """Predicts one label. It is learnt from rows that all have this label."""

    def __init__(self, label: int) -> None:
        self._label = label

    def predict(self, rows: sparse.csr_matrix) -> Labels:
        return np.full(rows.shape[0], self._label)


def learn(
    rows: sparse.csr_matrix,
    labels: Labels,
    *,
    seed: int,
    weights: npt.NDArray[np.float64] | None = None,
) -> Predictor:
    """Learn a classifier; a row of weight 3 counts as three rows."""
    if len(np.unique(labels)) < 2:
        return _ConstantPredictor(int(labels[0]))
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC
    except ImportError:
        raise UsageError(
            "expected scikit-learn for --classify, found none: pip install 'sottovoce[evaluation]'"
        ) from None
    import warnings

    with warnings.catch_warnings():
        # An error of a thousandth does not change the comparison.
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = LinearSVC(C=1.0, random_state=seed % (1 << 32), max_iter=2000, tol=TOLERANCE)
        predictor: Predictor = machine.fit(rows, labels, sample_weight=weights)
        return predictor


def one_hot(records: Records, names: Sequence[str]) -> sparse.csr_matrix:
    """Encode records, with a column for each label of each attribute."""
    return one_hot_codes([records.codes(name) for name in names], records.domain.shape(names))


def one_hot_codes(
    codes: Sequence[npt.NDArray[np.integer]], sizes: Sequence[int]
) -> sparse.csr_matrix:
    """Encode the codes of some attributes, of so many labels each."""
    from scipy import sparse

    starts = np.cumsum([0, *sizes])
    columns = np.stack(
        [column + start for column, start in zip(codes, starts, strict=False)], axis=1
    )
    rows = len(columns)
    ends = np.arange(rows + 1) * len(codes)
    return sparse.csr_matrix(
        (np.ones(columns.size), columns.reshape(-1), ends), shape=(rows, int(starts[-1]))
    )
