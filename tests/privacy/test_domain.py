"""A domain: what its codes stand for, and which codes it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.messages import UsageError
from sottovoce.privacy.domain import Domain, LabelledRows
from sottovoce.runs.table import Table

DOMAIN = Domain({"sex": ("f", "m"), "city": ("Bonn", "Kiel", "Ulm")})


def test_codes_stand_for_labels() -> None:
    table = DOMAIN.decode([np.array([0, 1]), np.array([2, 0])])
    assert table.astype(str).to_numpy().tolist() == [["f", "Ulm"], ["m", "Bonn"]]
    assert DOMAIN.decode([np.array([], int), np.array([], int)]).empty


@pytest.mark.parametrize("city", [[-1, 0], [0, 3], [-1, -1], [3, 3], [-1, 3]])
def test_a_code_without_a_label_is_refused(city: list[int]) -> None:
    """pandas would publish -1 as a missing value."""
    with pytest.raises(ValueError, match=f"codes of city below 3, found {min(city)} to"):
        DOMAIN.decode([np.array([0, 1]), np.array(city)])


def test_an_attribute_has_a_label() -> None:
    with pytest.raises(UsageError, match="labels of city, found 0"):
        Domain({"city": ()})


def test_labelled_rows_are_published_as_a_table_of_pandas_is() -> None:
    """Codes are written as they are, without a DataFrame in between."""
    rows = DOMAIN.rows([np.array([1, 0, 1]), np.array([2, 2, 0], np.uint8)])
    assert Table.of(rows) == Table.of(rows.frame())
    assert Table.of(rows).csv() == b"sex,city\nm,Ulm\nf,Ulm\nm,Bonn\n"
    assert (rows.columns, len(rows)) == (("sex", "city"), 3)


def test_rows_without_attributes_are_none() -> None:
    assert len(LabelledRows({}, ())) == 0
    assert len(LabelledRows({"sex": ("f", "m")}, [np.array([1, 0, 1])])) == 3
