import pandas as pd
import pytest

import sottovoce
from sottovoce.launch.conformance import ProtocolConformance


class TestConformance(ProtocolConformance):
    protocol = "noisy-mean"


def test_the_mean() -> None:
    table = pd.DataFrame({"age": [*range(20, 60), 500]})  # 500 counts as the upper bound
    run = sottovoce.run("noisy-mean", table, parties=2, seed=3, epsilon=1000, low=0, high=100)
    expected = (sum(range(20, 60)) + 100) / 41
    # Each party's noise exceeds 4 with probability exp(-40).
    assert abs(run.report["outcome"]["mean"] - expected) < 8 / 41


def test_bounds_are_checked() -> None:
    with pytest.raises(sottovoce.UsageError, match="low below high"):
        sottovoce.run("noisy-mean", rows=60, low=5, high=5)
