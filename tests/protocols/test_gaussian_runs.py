"""Runs with Gaussian noise: the laws of every protocol, and what the ledger says of rho."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, sqrt
from typing import Any, ClassVar

import pytest
from house_suites import VariantSuite

import sottovoce
from sottovoce.parties.demo import demo_table
from sottovoce.privacy.conversion import epsilon_of, rho_of
from sottovoce.privacy.gaussian_loss import gaussian_of

MASKS: dict[str, Any] = {"noise": "gaussian", "aggregator": "masks"}
KEYS: dict[str, Any] = {"key_bits": 512, "insecure_test_keys": True}


class TestNoisyMarginals(VariantSuite):
    protocol = "noisy-marginals"
    parameters: ClassVar[Mapping[str, Any]] = {
        "noise": "gaussian",
        "marginals": "sex, sex*race",
        **KEYS,
    }


class TestNoisyMarginalsAlone(VariantSuite):
    protocol = "noisy-marginals"
    parties = 1
    parameters: ClassVar[Mapping[str, Any]] = {
        "noise": "gaussian",
        "marginals": "sex, sex*race",
        "aggregator": "clear",
    }


class TestOneWay(VariantSuite):
    protocol = "one-way"
    parameters: ClassVar[Mapping[str, Any]] = MASKS


class TestDPSUBN(VariantSuite):
    protocol = "dp-subn"
    parameters: ClassVar[Mapping[str, Any]] = {"epsilon": 4.0, **MASKS}
    rows = 3000


class TestDPSUBNOnBits(VariantSuite):
    protocol = "dp-subn"
    parameters: ClassVar[Mapping[str, Any]] = {
        "epsilon": 4.0,
        "attributes": "binary",
        "largest_view": 6,
        "theta": 40.0,
        **MASKS,
    }
    rows = 2000
    parties = 2


class TestJTree(VariantSuite):
    protocol = "jtree"
    parameters: ClassVar[Mapping[str, Any]] = MASKS
    rows = 600


class TestJTreeByVotes(VariantSuite):
    protocol = "jtree"
    parameters: ClassVar[Mapping[str, Any]] = {"together": "votes", **MASKS}
    rows = 600


class TestJTreeByOneHolder(VariantSuite):
    protocol = "jtree"
    parties = 1
    parameters: ClassVar[Mapping[str, Any]] = {"noise": "gaussian", "aggregator": "clear"}
    rows = 600


class TestJTreeByChoices(VariantSuite):
    protocol = "jtree"
    parameters: ClassVar[Mapping[str, Any]] = {"structure": "top", **MASKS}
    rows = 600


class TestJTreeByThreshold(VariantSuite):
    protocol = "jtree"
    parameters: ClassVar[Mapping[str, Any]] = {"structure": "svt", **MASKS}
    rows = 600


class TestJTreeByASum(VariantSuite):
    protocol = "jtree"
    parameters: ClassVar[Mapping[str, Any]] = {"structure": "laplace", **MASKS}
    rows = 600


class TestJTreeByScores(VariantSuite):
    protocol = "jtree"
    parameters: ClassVar[Mapping[str, Any]] = {"structure": "gauss", **MASKS}
    rows = 600


class TestDPCCBN(VariantSuite):
    protocol = "dp-ccbn"
    parameters: ClassVar[Mapping[str, Any]] = {"epsilon": 8.0, **MASKS}
    rows = 2000


class TestDPCCBNInOneShot(VariantSuite):
    protocol = "dp-ccbn"
    parameters: ClassVar[Mapping[str, Any]] = {"epsilon": 8.0, "search": "oneshot", **MASKS}
    rows = 2000


class TestDistDiffGen(VariantSuite):
    protocol = "dist-diff-gen"
    parties = 2
    parameters: ClassVar[Mapping[str, Any]] = {"specialisations": 4, **MASKS}


class TestIndependent(VariantSuite):
    protocol = "independent"
    parameters: ClassVar[Mapping[str, Any]] = {"epsilon": 8.0, "delta": 1e-3}
    rows = 1500


RUNS: list[tuple[str, dict[str, Any]]] = [
    ("noisy-marginals", {"ways": 2}),
    ("one-way", {}),
    ("dp-subn", {"epsilon": 4.0}),
    ("dp-subn", {"epsilon": 4.0, "attributes": "binary", "largest_view": 6, "theta": 40.0}),
    ("jtree", {}),
    ("jtree", {"together": "votes"}),
    ("jtree", {"structure": "top"}),
    ("jtree", {"structure": "svt"}),
    ("jtree", {"structure": "laplace"}),
    ("jtree", {"structure": "gauss"}),
    ("dp-ccbn", {"epsilon": 8.0}),
    ("dp-ccbn", {"epsilon": 8.0, "search": "oneshot"}),
    ("adaptive-pairs", {}),
    ("aim", {}),
    ("mst", {}),
    ("flaim", {}),
    ("aug-flaim", {}),
]


@pytest.mark.usefixtures("few_weighted_rows")
@pytest.mark.parametrize(("name", "parameters"), RUNS)
def test_a_run_costs_the_rho_of_its_epsilon(name: str, parameters: dict[str, Any]) -> None:
    """Parts of the budget add up to it, and it is converted once.

    The budget is of Gaussian loss where nothing is released but sums, and else of rho.

    What a run spends of its budget is at most all of it, and at least four fifths.
    """
    delta = 1e-6
    done = sottovoce.run(
        name,
        demo_table(3000, seed=4),
        parties=3,
        seed=6,
        judge=False,
        delta=delta,
        **{"epsilon": 1.0, **parameters, **MASKS},
    )
    privacy = done.report["privacy"]
    claimed = done.report["parameters"]["epsilon"]
    alone = name in ("one-way", "adaptive-pairs", "noisy-marginals")
    whole = gaussian_of(claimed, delta=delta) if alone else rho_of(claimed, delta=delta)
    for party in (1, 2, 3):
        releases = [release for release in privacy["releases"] if release["party"] == party]
        for view in ("public", "curator", "other_party"):
            spent = sum(release["seen"][view]["rho"] for release in releases)
            assert spent <= whole * (1 + 1e-9)
        everything = sum(release["rho"] for release in releases)
        assert 0.8 * whole <= everything <= whole * (1 + 1e-9)
        summed = [r for r in releases if r["mechanism"] == "multi-party-gaussian"]
        assert summed
        for release in summed:
            assert release["epsilon"] == inf
            # The noise has the deviation D / sqrt(2 rho) for the sensitivity D in L2.
            like = release["sensitivity"] / sqrt(2 * release["rho"])
            assert release["scale"] == pytest.approx(like, rel=1e-3)
    for view in ("public", "curator", "other_party"):
        assert privacy["rho"][view] <= whole * (1 + 1e-9)
        assert privacy["epsilon"][view] <= claimed * (1 + 1e-9)
        # A large pure release, as of the sparse vector technique, costs less as its epsilon.
        implied = epsilon_of(privacy["rho"][view], delta=delta)
        assert 0.9 * implied <= privacy["epsilon"][view] <= implied * (1 + 1e-6)
    assert privacy["claimed_delta"] == privacy["delta"] == delta


def test_independent_takes_the_budget_with_less_noise() -> None:
    """A party's tables have Gaussian noise where delta allows it and there are many of them."""
    laws = {}
    for delta in (0.0, 1e-300, 1e-6):
        done = sottovoce.run(
            "independent", demo_table(2000, seed=4), seed=6, judge=False, epsilon=2.0, delta=delta
        )
        releases = done.report["privacy"]["releases"]
        tables = {r["epsilon"] == inf for r in releases if r["mechanism"] != "exponential"}
        (laws[delta],) = tables
        assert max(done.report["privacy"]["epsilon"].values()) <= 2.0 * (1 + 1e-9)
    assert laws == {0.0: False, 1e-300: False, 1e-6: True}


@pytest.mark.parametrize(
    "name", ["noisy-marginals", "one-way", "dp-subn", "jtree", "dp-ccbn", "adaptive-pairs"]
)
def test_without_delta_a_run_is_pure(name: str) -> None:
    done = sottovoce.run(
        name, rows=600, seed=6, judge=False, delta=0, epsilon=1.0, aggregator="masks"
    )
    privacy = done.report["privacy"]
    assert privacy["claimed_delta"] == 0
    assert max(privacy["epsilon"].values()) <= 1.0 * (1 + 1e-9)
    assert {release["mechanism"] for release in privacy["releases"]} <= {
        "multi-party-laplace",
        "exponential",
    }
    assert done.report["chosen"]["noise"] == "laplace"
