"""Made-up values: what a file that fits the schema could hold."""

from typing import Any

import numpy as np
import pytest

from sottovoce.parties import DEMO_SCHEMA, Schema, read_schema
from sottovoce.parties.made_up import made_up_codes
from sottovoce.parties.made_up_values import made_up_values
from sottovoce.parties.records import texts_of

RULES: dict[str, Any] = {
    "bmi": {"bins": 7, "range": [10, 60], "kind": "numbers"},
    "tiny": {"edges": [0, 1e-6, 2.5e-6], "kind": "numbers"},
    "visits": {"edges": [0, 0.5, 5, 40], "kind": "integers"},
    "height": {"bins": 12, "range": [140, 200], "decimal": ",", "unit": "cm"},
    "share": {"edges": [0, 33, 100], "kind": "numbers", "unit": "%", "missing": "category"},
    "born": {"by": "year", "range": ["1920-01-01", "2023-12-31"]},
    "admitted": {
        "edges": ["2023-01-01", "2023-06-30", "2023-12-31"],
        "formats": ["%d.%m.%Y", "%Y-%m-%d"],
    },
    "day": {"by": "weekday", "formats": ["%d/%m/%Y"]},
    "month": {"by": "month-of-year"},
    "called": {"by": "hour"},
    "left": {"by": "hour", "formats": ["%I:%M %p"], "missing": "category"},
    "ward": ["A", "B", "C"],
    "smoker": {"categories": ["no", "yes"], "spellings": {"N": "no"}, "missing": "infer"},
    "country": {"categories": ["France", "Italy"], "other": "elsewhere"},
}


@pytest.mark.parametrize("schema", [read_schema(RULES), DEMO_SCHEMA], ids=["all rules", "demo"])
def test_each_value_is_read_as_the_code_that_it_was_made_of(schema: Schema) -> None:
    generator = np.random.default_rng(1)
    coded = made_up_codes(schema, rows=5000, generator=generator)
    raw = made_up_values(coded, schema=schema, generator=generator)
    for codes, encoded in zip(coded.codes, schema.encode(raw), strict=True):
        np.testing.assert_array_equal(codes, encoded)


def test_values_are_written_as_in_a_file() -> None:
    schema = read_schema(RULES)
    generator = np.random.default_rng(1)
    coded = made_up_codes(schema, rows=5000, generator=generator)
    raw = made_up_values(coded, schema=schema, generator=generator)
    texts = {name: set(texts_of(raw, name)) for name in RULES}
    assert min(map(float, texts["bmi"])) >= 10
    assert max(map(float, texts["bmi"])) <= 60
    assert len(texts["bmi"]) > 1000
    assert texts["visits"] == {str(number) for number in range(41)}
    assert all(text.endswith(" cm") and "." not in text for text in texts["height"])
    assert "?" in texts["share"]
    assert "?" not in texts["bmi"]
    assert "30.06.2023" in texts["admitted"]
    assert "01/01/2024" in texts["day"]
    assert texts["ward"] == {"A", "B", "C"}
