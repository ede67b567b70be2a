"""One-way tables: the laws of every protocol, and the baseline that they are."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from house_suites import SampledSuite, VariantSuite

import sottovoce


class TestConformance(SampledSuite):
    protocol = "one-way"
    parameters: ClassVar[dict[str, Any]] = {"aggregator": "masks"}


class TestConformanceAsPrinted(VariantSuite):
    protocol = "one-way"
    mode = "paper"
    parameters: ClassVar[dict[str, Any]] = {"key_bits": 512, "insecure_test_keys": True}


def test_single_attributes_are_right_and_dependence_is_lost() -> None:
    done = sottovoce.run("one-way", rows=20_000, seed=1, epsilon=100.0, aggregator="masks")
    two, _ = done.judgement["utility"]["distances"]
    assert two["average"] == pytest.approx(two["one_way"], abs=0.01)
    assert done.synthetic is not None
    assert len(done.synthetic) == 20_000
    assert done.report["privacy"]["epsilon"] == {
        "public": 100.0,
        "curator": 100.0,
        "other_party": 100.0,
    }


def test_one_attribute_of_one_label_runs() -> None:
    import pandas as pd

    done = sottovoce.run("one-way", pd.DataFrame({"a": ["x"] * 9}), seed=1, aggregator="masks")
    assert done.synthetic is not None
    assert done.synthetic["a"].tolist() == ["x"] * 9
