"""Classification: how well a classifier that learns from the synthetic table predicts real people.

A linear support vector machine (squared hinge loss, C = 1, attributes one-hot), as the papers have
it, tested on a fifth of the real table. Two references stand beside it: the same learner on the
other four fifths of the real table, and the majority.

An attribute that alone decides the label (education-num decides education) makes any comparison
meaningless; such attributes are named in a note and can be dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from ..messages import UsageError
from ..parties import Records
from ..privacy.domain import Domain

__all__ = ["Classified", "Target", "classify", "read_target", "revealing"]

Labels = npt.NDArray[np.int64]
TRAINED: Final = 0.8


class Classified(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of the tested people whose label was predicted wrong."""

    target: str
    classes: int
    tested: int
    synthetic: float
    real: float
    """Of the same learner on real rows."""
    majority: float
    """Of always answering the most frequent label."""
    dropped: tuple[str, ...]


class Target(msgspec.Struct, frozen=True):
    """What is to be predicted: an attribute, or whether it has one of some labels."""

    text: str
    attribute: str
    positive: tuple[int, ...] | None = None

    @property
    def classes(self) -> int:
        return 0 if self.positive is None else 2

    def of(self, records: Records) -> Labels:
        codes = records.codes(self.attribute)
        return (
            codes.astype(np.int64)
            if self.positive is None
            else np.isin(codes, self.positive).astype(np.int64)
        )


def read_target(domain: Domain, text: str) -> Target:
    """Read `income`, `education>=Bachelors` (in the schema's order of labels), or
    `race=White|Black`.

    >>> read_target(Domain({"age": ("young", "middle", "old")}), "age>=middle").positive
    (1, 2)
    """
    if text in domain.labels:
        return Target(text, text)
    name, sign, wanted = text.partition(">=")
    if not sign:
        name, sign, wanted = text.partition("=")
    domain.shape([name])
    labels = domain.labels[name]
    chosen = [wanted] if sign == ">=" else wanted.split("|")
    if wrong := [label for label in chosen if label not in labels]:
        some = ", ".join(labels[:8]) + (", ..." if len(labels) > 8 else "")
        raise UsageError(
            f"expected a label of {name} ({some}) in --classify {text}, found {wrong[0]!r}"
        )
    if sign == ">=":
        return Target(text, name, tuple(range(labels.index(wanted), len(labels))))
    return Target(text, name, tuple(labels.index(label) for label in chosen))


def revealing(real: Records, target: Target) -> list[str]:
    """List the other attributes whose value alone decides the label of every row."""
    labels = target.of(real)
    found = []
    for name in real.domain.attributes:
        if name == target.attribute:
            continue
        table = np.zeros((real.domain.cells([name]), int(labels.max()) + 1), np.int64)
        np.add.at(table, (real.codes(name), labels), 1)
        if table.max(axis=1).sum() == len(real) and np.count_nonzero(table.sum(axis=0)) > 1:
            found.append(name)
    return found


def classify(
    real: Records,
    synthetic: Records,
    target: Target,
    *,
    drop: Sequence[str] = (),
    seed: int = 0,
    test: Records | None = None,
) -> Classified:
    """Train on the synthetic table, test on real people: a fifth of the real table, or a table of
    their own.
    """
    real.domain.shape(drop)
    names = [
        name for name in real.domain.attributes if name != target.attribute and name not in drop
    ]
    if not names:
        raise UsageError(
            f"expected attributes from which to predict {target.text}, found all dropped"
        )
    if test is None:
        order = np.random.Generator(np.random.Philox(seed)).permutation(len(real))
        end = int(TRAINED * len(real))
        trained, tested, held = order[:end], order[end:], real
    else:
        trained, tested, held = np.arange(len(real)), np.arange(len(test)), test
    if not len(trained) or not len(tested):
        raise UsageError(f"expected at least 2 rows to classify, found {len(real)}")
    known, wanted = target.of(real)[trained], target.of(held)[tested]
    questions = _one_hot(held, names)[tested]
    answers = _learn(_one_hot(synthetic, names), target.of(synthetic), seed=seed).predict(questions)
    reference = _learn(_one_hot(real, names)[trained], known, seed=seed).predict(questions)
    majority = np.bincount(known).argmax()
    return Classified(
        target=target.text,
        classes=target.classes or real.domain.cells([target.attribute]),
        tested=len(tested),
        synthetic=float(np.mean(answers != wanted)),
        real=float(np.mean(reference != wanted)),
        majority=float(np.mean(majority != wanted)),
        dropped=tuple(drop),
    )


class _Always:
    """What is learnt from rows of one label."""

    def __init__(self, label: int) -> None:
        self._label = label

    def predict(self, questions: Any) -> Labels:
        return np.full(questions.shape[0], self._label)


def _learn(rows: Any, labels: Labels, *, seed: int) -> Any:
    if len(np.unique(labels)) < 2:
        return _Always(int(labels[0]))
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import LinearSVC
    except ImportError:
        raise UsageError(
            "expected scikit-learn for --classify, found none: pip install 'sottovoce[evaluation]'"
        ) from None
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # a thousandth more or less is not what is compared
        return LinearSVC(C=1.0, random_state=seed % (1 << 32), max_iter=2000).fit(rows, labels)


def _one_hot(records: Records, names: Sequence[str]) -> Any:
    from scipy import sparse

    sizes = records.domain.shape(names)
    starts = np.cumsum([0, *sizes])
    columns = np.stack(
        [records.codes(name) + start for name, start in zip(names, starts, strict=False)], axis=1
    )
    ends = np.arange(len(records) + 1) * len(names)
    return sparse.csr_matrix(
        (np.ones(columns.size), columns.reshape(-1), ends), shape=(len(records), int(starts[-1]))
    )
