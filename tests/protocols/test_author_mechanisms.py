"""The conformance suite on protocols that release every mechanism for authors."""

from __future__ import annotations

from pathlib import Path

import pytest
from house_suites import SampledSuite, VariantSuite


class AuthorConformance(SampledSuite):
    """The suite, with the protocols' module on the path of all ranks."""

    @pytest.fixture(autouse=True)
    def _module(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(Path(__file__).parent)
        monkeypatch.syspath_prepend(str(Path(__file__).parent))

    def test_the_budget_is_spent(self) -> None:
        """Fourteen parts are in rho, for half of epsilon; of delta the histogram has one half."""
        privacy = self._usual_run(self.protocol).report["privacy"]
        assert 0.4 < privacy["epsilon"]["public"] / 2.0 <= 1
        releases = [release for release in privacy["releases"] if release["party"] == 1]
        assert {release["mechanism"] for release in releases} == {
            "above-threshold",
            "discrete-gaussian",
            "discrete-laplace",
            "exponential",
            "quantile",
            "quantiles",
            "real-mean",
            "real-sum",
            "report-noisy-max",
            "secret-histogram",
            "sparse-vector",
        }


AuthorConformance.__test__ = False  # It is the base of the classes below.


class TestReplaced(AuthorConformance):
    protocol = "author_protocols:EveryMechanism"


class TestAddedOrRemoved(AuthorConformance, VariantSuite):
    protocol = "author_protocols:EveryMechanismApart"
