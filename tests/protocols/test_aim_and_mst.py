"""What AIM, MST and FLAIM have in common: Gaussian noise alone, and rows where there is no pair."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.messages import UsageError
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job

PROTOCOLS = ["aim", "mst", "flaim", "aug-flaim"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"delta": 0.0}, "expected a delta above 0 for {}.*--delta 1e-9, or take dp-subn"),
        ({"noise": "laplace"}, "expected noise=gaussian for {}, found laplace"),
        ({"epsilon": 1e-9}, "expected a larger epsilon"),
    ],
)
def test_what_gaussian_noise_cannot_do_is_refused_in_one_line(
    protocol: str, parameters: dict[str, Any], match: str
) -> None:
    with pytest.raises(UsageError, match=match.format(protocol)) as error:
        instantiate(Job(protocol=protocol, parameters=parameters, parties=2))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("protocol", "rounds"),
    [("aim", "rounds"), ("mst", "turns"), ("flaim", "rounds"), ("aug-flaim", "rounds")],
)
def test_one_attribute_is_drawn_by_itself(protocol: str, rounds: str) -> None:
    """It has no pair; then its table has the whole budget."""
    table = pd.DataFrame({"a": np.arange(500) % 3, "f": 0}).astype(str)
    run = sottovoce.run(
        protocol,
        table,
        schema={"a": ["0", "1", "2"], "f": ["0"]},
        parties=2,
        aggregator="clear",
        seed=1,
        judge=False,
    )
    assert run.model is not None
    assert not run.model[rounds]
    assert run.report["privacy"]["epsilon"]["public"] == pytest.approx(1.0)
    assert run.synthetic is not None
    assert len(run.synthetic) == 500
    # The noise of a count has a deviation of about 13.
    assert run.synthetic["a"].value_counts().to_numpy() == pytest.approx(500 / 3, abs=60)
