"""One attribute of other records: all others stay, and no row becomes impossible."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sottovoce.parties import Records
from sottovoce.parties.counting import CodedTable
from sottovoce.privacy import Domain

LABELS: dict[str, tuple[str, ...]] = {
    "age": ("child", "adult"),
    "town": ("Oslo", "Rome"),
    "married": ("no", "yes"),
}


@pytest.mark.parametrize("has_rules", [False, True])
def test_other_attributes_stay_as_they_are(*, has_rules: bool) -> None:
    """A child that would be married keeps its own label: to map it would change its age."""
    domain = Domain(LABELS, never=({"age": (0,), "married": (1,)},) if has_rules else ())
    generator = np.random.default_rng(1)
    age, town, others = generator.integers(2, size=(3, 200)).astype(np.uint8)
    married = (age & generator.integers(2, size=200)).astype(np.uint8)
    of_table = Records(CodedTable([age, town, married], domain))
    # Of the other table only the labels matter.
    other = Records(CodedTable([np.ones_like(age), town, others], domain))
    mixed = of_table.with_attribute_of(other, "married")
    assert np.array_equal(mixed.codes("age"), age)
    assert np.array_equal(mixed.codes("town"), town)
    expected = np.where(age == 0, married, others) if has_rules else others
    assert np.array_equal(mixed.codes("married"), expected)


def test_raw_columns_are_taken_as_they_are() -> None:
    table = Records(pd.DataFrame({"age": [1, 2, 3], "town": ["Oslo", "Rome", "Oslo"]}))
    other = Records(pd.DataFrame({"age": [7, 8, 9], "town": ["Bern", "Bern", "Oslo"]}))
    mixed = table.with_attribute_of(other, "town")
    assert mixed.column("age").tolist() == ["1", "2", "3"]
    assert mixed.column("town").tolist() == ["Bern", "Bern", "Oslo"]
