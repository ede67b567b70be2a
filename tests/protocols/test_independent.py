"""Independent: the laws of every protocol, and each party's own budget."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from house_suites import SampledSuite, VariantSuite

import sottovoce
from sottovoce import UsageError
from sottovoce.curator import Marginal
from sottovoce.parties.demo import demo_table
from sottovoce.protocols.independent import Independent, PrintedIndependent
from sottovoce.protocols.options import Mode
from sottovoce.runs.instance import instantiate
from sottovoce.runs.job import Job


class TestConformance(SampledSuite):
    protocol = "independent"
    parameters: ClassVar[dict[str, Any]] = {"epsilon": 20.0}
    rows = 1500


class TestConformanceOnBits(VariantSuite):
    protocol = "independent"
    parameters: ClassVar[dict[str, Any]] = {
        "epsilon": 60.0,
        "attributes": "binary",
        "most_parents": 1,
    }
    rows = 600
    parties = 2


def run(**parameters: Any) -> sottovoce.Run:
    given: dict[str, Any] = {"seed": 3, "epsilon": 30.0, **parameters}
    return sottovoce.run("independent", demo_table(3000, seed=5), **given)


def test_the_union_of_all_parties_tables_is_published() -> None:
    done = run(split="sizes:4,1,1")
    assert done.synthetic is not None
    assert len(done.synthetic) == 3000
    assert len(done.model["parents"]) == 3
    two, three = done.judgement["utility"]["distances"]
    assert two["average"] < two["one_way"]
    assert three["average"] < three["one_way"]


def test_each_party_spends_all_of_epsilon_on_its_own_records() -> None:
    privacy = run(epsilon=2.0, delta=0).report["privacy"]
    assert {tuple(own.values()) for own in privacy["by_party"].values()} == {(2.0,) * 6}
    # No party's privacy rests on another's: even the curator and all other parties together see
    # epsilon.
    assert set(privacy["coalitions"].values()) == {2.0}
    for party in (1, 2, 3):
        own = [release for release in privacy["releases"] if release["party"] == party]
        chosen = [release["epsilon"] for release in own if release["mechanism"] == "exponential"]
        assert sum(chosen) == pytest.approx(0.6)
        assert len(chosen) == 14


def test_a_party_with_few_records_has_no_network() -> None:
    """The k = 0 rule: nothing is spent on the structure."""
    done = run(epsilon=0.4, delta=0, split="sizes:98,1,1")
    first, second, third = done.model["parents"]
    assert any(first.values())
    assert not any([*second.values(), *third.values()])
    own = [release for release in done.report["privacy"]["releases"] if release["party"] == 2]
    assert [(release["mechanism"], release["epsilon"]) for release in own] == [
        ("multi-party-laplace", 0.4)
    ]


def test_the_dependences_of_different_parties_stay_apart() -> None:
    """Without noise the union has each party's own dependence.

    No single network of the union could have both.
    """
    same = pd.DataFrame({"x": ["a", "b"] * 500, "y": ["a", "b"] * 500})
    other = pd.DataFrame({"x": ["a", "b"] * 500, "y": ["b", "a"] * 500})
    done = sottovoce.run("independent", [same, other], seed=1, epsilon=1000.0)
    assert done.synthetic is not None
    drawn = done.synthetic
    assert (drawn["x"][:1000] == drawn["y"][:1000]).mean() > 0.99
    assert (drawn["x"][1000:] == drawn["y"][1000:]).mean() < 0.01


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match="two or more labels for attributes=binary"):
        sottovoce.run(
            "independent", pd.DataFrame({"a": ["x", "x"]}), parties=2, attributes="binary", seed=1
        )
    with pytest.raises(UsageError, match="beta"):
        run(beta=1.0)


class TestConformanceAsPrinted(VariantSuite):
    protocol = "independent"
    mode = "paper"
    parameters: ClassVar[dict[str, Any]] = {"epsilon": 20.0}
    rows = 1500


def test_as_printed_tables_are_taken_as_they_come() -> None:
    """The releases are the same. By default they are made to agree before the network is fitted."""
    tables = [
        Marginal(("x", "y"), np.array([[30.0, 10.0], [10.0, 30.0]])),
        Marginal(("y", "z"), np.array([[70.0, 20.0], [5.0, 5.0]])),
    ]
    agreeing, printed = (
        protocol.reconcile(tables, rows=100)
        for protocol in (instance("rigorous"), instance("paper"))
    )
    margins = [table.project(("y",)).values for table in agreeing]  # noqa: PD011 - ours
    assert margins[0] == pytest.approx(margins[1])
    assert printed == tables
    done = {mode: run(epsilon=3.0, mode=mode) for mode in ("rigorous", "paper")}
    assert done["rigorous"].model == done["paper"].model
    losses = [part.report["privacy"]["epsilon"] for part in done.values()]
    assert losses[0] == losses[1]
    agreed, as_they_come = (done[mode].synthetic for mode in ("rigorous", "paper"))
    assert agreed is not None
    assert as_they_come is not None
    assert not agreed.equals(as_they_come)


def instance(mode: Mode) -> Independent:
    protocol = instantiate(Job(protocol="independent", mode=mode))
    assert isinstance(protocol, Independent)
    assert isinstance(protocol, PrintedIndependent) == (mode == "paper")
    return protocol
