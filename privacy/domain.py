"""The domain: attributes and their labels, which are public.

They are agreed before anything is counted. A mechanism's sensitivity and the size of its answer
follow from them. A party's schema (`parties.schema`) says how raw values become codes of this
domain. The curator knows the domain alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from ..messages import Private, UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

__all__ = [
    "MAX_LABELS",
    "Domain",
    "LabelledRows",
    "intervals",
]

MAX_LABELS: Final = 1 << 16
"""Codes have 16 bits at most."""


class Domain(msgspec.Struct, frozen=True):
    """Attributes in order, and for each the labels of its codes 0, 1, 2 ..."""

    labels: dict[str, tuple[str, ...]]
    never: tuple[dict[str, tuple[int, ...]], ...] = ()
    """Combinations of codes that no record has (`privacy.impossible`)."""

    def __post_init__(self) -> None:
        for name, labels in self.labels.items():
            if not 1 <= len(labels) <= MAX_LABELS:
                raise UsageError(
                    f"expected 1 to {MAX_LABELS} labels of {name}, found {len(labels)}"
                )

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(self.labels)

    def shape(self, attributes: Sequence[str]) -> tuple[int, ...]:
        """List the numbers of labels of these attributes; an unknown one is a `UsageError`."""
        labels = self.labels
        try:
            return tuple([len(labels[attribute]) for attribute in attributes])
        except KeyError as error:
            raise UsageError(
                f"expected an attribute of the data ({', '.join(self.labels)}), found ",
                Private(repr(error.args[0])),
            ) from None

    def cells(self, attributes: Sequence[str]) -> int:
        """Count the cells of the marginal of these attributes."""
        return math.prod(self.shape(attributes))

    def project(self, attributes: Sequence[str]) -> Domain:
        """Keep only these attributes, in this order.

        >>> Domain({"sex": ("f", "m"), "age": ("young", "old")}).project(["age"]).attributes
        ('age',)
        """
        self.shape(attributes)
        return Domain(
            {attribute: self.labels[attribute] for attribute in attributes},
            tuple(rule for rule in self.never if rule.keys() <= set(attributes)),
        )

    def rows(self, codes: Sequence[npt.NDArray[np.integer]]) -> LabelledRows:
        """Take codes, which are an array for each attribute, as rows of labels.

        Raises:
            ValueError: a code has no label.
        """
        for (name, labels), column in zip(self.labels.items(), codes, strict=True):
            if len(column) and not (column.min() >= 0 and column.max() < len(labels)):
                raise ValueError(
                    f"expected codes of {name} below {len(labels)}, "
                    f"found {column.min()} to {column.max()}"
                )
        return LabelledRows(self.labels, codes)

    def decode(self, codes: Sequence[npt.NDArray[np.integer]]) -> pd.DataFrame:
        """Return a table of labels for codes, which are an array for each attribute.

        Raises:
            ValueError: a code has no label.
        """
        return self.rows(codes).frame()


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Rows of labels, as their codes. So what only passes rows on needs no pandas, which is slow.

    >>> import numpy as np
    >>> domain = Domain({"sex": ("f", "m"), "age": ("young", "old")})
    >>> (rows := domain.rows([np.array([1]), np.array([0])])).columns, len(rows)
    (('sex', 'age'), 1)
    """

    labels: Mapping[str, tuple[str, ...]]
    codes: Sequence[npt.NDArray[np.integer]]
    """The codes of each attribute."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(self.labels)

    def __len__(self) -> int:
        return len(self.codes[0]) if self.codes else 0

    def frame(self) -> pd.DataFrame:
        """Make a DataFrame of categories."""
        import pandas as pd

        return pd.DataFrame(
            {
                name: pd.Categorical.from_codes(column, categories=pd.Index(labels, dtype="str"))
                for (name, labels), column in zip(self.labels.items(), self.codes, strict=True)
            },
            copy=False,  # A table of millions of rows is there once.
        )


def intervals(labels: Sequence[str]) -> bool:
    """Tell whether these are labels of bins from low to high, as `parties.bins.Bins` has them.

    The last label may be another one, for missing values.

    >>> intervals(("[17, 30]", "(30, 45]", "?")), intervals(("Private", "State-gov"))
    (True, False)
    """
    is_bin = [label[:1] in "[(" and label[-1:] == "]" and ", " in label for label in labels]
    return all(is_bin[: max(len(labels) - 1, 1)]) and any(is_bin)
