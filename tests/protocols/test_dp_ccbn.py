"""DP-CCBN: the laws of every protocol, what is counted, and what it costs."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from house_suites import SampledSuite, VariantSuite

import sottovoce
from sottovoce import UsageError
from sottovoce.curator import Estimate, Marginal, dependence, mutual_information
from sottovoce.parties.demo import demo_table
from sottovoce.privacy import Budget, Domain
from sottovoce.protocols.dp_ccbn.plan import CandidatePlan
from sottovoce.protocols.dp_ccbn.scores import choose_all, scores_of
from sottovoce.protocols.dp_subn.usefulness import Sizes

KEYS: dict[str, Any] = {"key_bits": 512, "insecure_test_keys": True}
COLUMNS = ["sex", "race", "income", "relationship"]


class TestConformance(SampledSuite):
    protocol = "dp-ccbn"
    parameters: ClassVar[dict[str, Any]] = {"epsilon": 30.0, "aggregator": "masks"}
    rows = 1500


class TestConformanceOfOneShot(VariantSuite):
    protocol = "dp-ccbn"
    parameters: ClassVar[dict[str, Any]] = {"epsilon": 30.0, "search": "oneshot", **KEYS}
    rows = 600
    parties = 2


def run(**parameters: Any) -> sottovoce.Run:
    given: dict[str, Any] = {"seed": 3, "aggregator": "masks", "epsilon": 60.0, **parameters}
    return sottovoce.run("dp-ccbn", demo_table(2000, seed=5)[COLUMNS], **given)


@pytest.mark.parametrize("search", ["iterative", "oneshot"])
def test_without_noise_the_greedy_network_is_found(search: str) -> None:
    """At a huge epsilon every choice has the most information.

    A referee makes the same choices on the real tables.
    """
    done = run(search=search, epsilon=1000.0, theta=1e-3)
    assert done.domain is not None
    chosen = [tuple(family) for family in done.model["chosen"]]
    table = demo_table(2000, seed=5)[COLUMNS].astype(str)
    for at in range(1, len(chosen)):
        known = [family[-1] for family in chosen[:at]]
        best = max(
            told(table, (*parents, name), done.domain)
            for name in set(COLUMNS) - set(known)
            for parents in combinations(sorted(known), min(2, at))
        )
        assert told(table, chosen[at], done.domain) == pytest.approx(best, abs=1e-2)


def told(table: pd.DataFrame, family: tuple[str, ...], domain: Domain | None) -> float:
    assert domain is not None
    codes = [
        table[name].map({label: n for n, label in enumerate(domain.labels[name])}).to_numpy()
        for name in family
    ]
    cells = np.bincount(
        np.ravel_multi_index(codes, domain.shape(family)), minlength=domain.cells(family)
    )
    return dependence(Marginal.of(domain, family, cells), family[-1:])


def test_the_budget_of_each_batch() -> None:
    """Half of epsilon pays for d - 1 iterations, evenly, and half for the parameters (spec E15).

    Each iteration has a sensitivity of twice its number of tables.
    """
    done = run(attributes="binary", epsilon=60.0)
    releases = [release for release in done.report["privacy"]["releases"] if release["party"] == 1]
    structure = [release for release in releases if release["phase"] == "structure"]
    bits = len(done.model["chosen"])
    assert [release["epsilon"] for release in structure] == pytest.approx(
        [30 / (bits - 1)] * (bits - 1)
    )
    assert [release["sensitivity"] for release in structure] == [
        2 * (bits - i) * comb(i, min(i, 2)) for i in range(1, bits)
    ]
    assert sum(release["epsilon"] for release in releases) == pytest.approx(60)
    alone = run(attributes="binary", epsilon=60.0, search="oneshot")
    (once,) = [
        r
        for r in alone.report["privacy"]["releases"]
        if r["party"] == 1 and r["phase"] == "structure"
    ]
    assert (once["epsilon"], once["sensitivity"]) == (30.0, 2 * comb(bits, 3))


def test_the_papers_formulas_and_their_correction() -> None:
    """Known answers 19 and 20: what d C(d, k + 1) stands for is C(d + 1, k + 2)."""
    done = run(attributes="binary", aggregator="paillier", epsilon=200.0, most_parents=1, **KEYS)
    line = done.report["communication"]["formulas"][0]
    bits = len(done.model["chosen"])
    assert line["printed_rounds"] == bits * comb(bits, 2) * 4
    assert line["corrected_rounds"] == comb(bits + 1, 3) * 4
    assert line["measured_bytes"] < line["corrected_bytes"] < line["printed_bytes"]
    assert [sum((52 - i) * comb(i, k) for i in range(1, 52)) for k in (1, 2, 3)] == [
        comb(53, k + 2) for k in (1, 2, 3)
    ]


def test_the_predicted_cost_is_exact() -> None:
    for settings in (
        {},
        {"search": "oneshot"},
        {"epsilon": 0.01},
        {"attributes": "binary", "aggregator": "clear"},
    ):
        exchanged = run(**settings).report["communication"]
        assert {line["kind"] for line in exchanged["predicted"]} == set(exchanged["by_kind"])
        for line in exchanged["predicted"]:
            assert (line["messages"], line["payload_bytes"]) == (
                line["measured_messages"],
                line["measured_payload_bytes"],
            )


def test_without_a_network_single_attributes_get_all_of_epsilon() -> None:
    done = run(epsilon=0.01, delta=0)
    assert done.report["outcome"]["network"] == "none worth its noise: one-way tables"
    assert {release["epsilon"] for release in done.report["privacy"]["releases"]} == {0.01}
    assert (
        run(epsilon=0.01, mode="paper", aggregator="masks").report["outcome"]["network"]
        == "at most 1 parent"
    )


def plan_of(domain: Domain, most: int) -> CandidatePlan:
    return CandidatePlan(
        domain=domain, sizes=Sizes(domain, most), degree=2, budget=Budget.pure(1.0), weighted=False
    )


def test_every_set_is_covered_once() -> None:
    domain = Domain(
        {
            name: tuple(map(str, range(size)))
            for name, size in zip("abcde", (2, 3, 4, 2, 6), strict=True)
        }
    )
    for most in (1, 6, 12, 24, 1000):
        found = plan_of(domain, most).candidate_sets()
        assert all(len(own) == 1 or domain.cells(own) <= most for own in found)
        for size in range(1, 4):
            for own in combinations(domain.attributes, size):
                fits = size == 1 or domain.cells(own) <= most
                assert fits == any(set(own) <= set(other) for other in found)
        assert not any(set(own) < set(other) for own in found for other in found)


def test_one_shot_scores_are_those_of_the_tables() -> None:
    """Bits are scored by mutual information.

    Other attributes are scored by the distance from independence less what noise contributes.
    """
    generator = np.random.default_rng(2)
    for shape in ((2, 2, 2, 2), (2, 3, 4, 2)):
        domain = Domain(
            {name: tuple(map(str, range(size))) for name, size in zip("abcd", shape, strict=True)}
        )
        whole = Marginal.of(
            domain, domain.attributes, generator.gamma(0.3, size=int(np.prod(shape)))
        )
        plan = plan_of(domain, 24)
        counted = [Estimate(whole.project(own), 1e-12) for own in plan.candidate_sets()]
        chosen = choose_all(counted, ("b",), plan=plan, rows=1000)
        for at in range(1, 4):
            families = plan.candidates(chosen[:at])
            tables = [whole.project(family) for family in families]
            scores = [
                mutual_information(table, family[-1:], base=2)
                if max(shape) == 2
                else dependence(table, family[-1:])
                for table, family in zip(tables, families, strict=True)
            ]
            again = scores_of(
                [Estimate(table, 1e-12) for table in tables], families, domain, rows=1000
            )
            assert again == pytest.approx(scores, abs=1e-6)
            assert chosen[at] == families[int(np.argmax(scores))]


def test_noise_alone_is_no_dependence() -> None:
    """Independent attributes with large tables score no more than those with small ones."""
    generator = np.random.default_rng(4)
    domain = Domain(
        {
            name: tuple(map(str, range(size)))
            for name, size in zip("abcd", (2, 2, 16, 16), strict=True)
        }
    )
    families = [("a", "b"), ("a", "c"), ("c", "d")]
    found = []
    for _ in range(60):
        counted = [
            Estimate(
                Marginal.of(
                    domain,
                    own,
                    20000 / domain.cells(own) + generator.laplace(0, 20, domain.cells(own)),
                ),
                800.0,
            )
            for own in families
        ]
        found.append(scores_of(counted, families, domain, rows=20000))
    # The distance of the largest tables from independence is .12 by noise alone.
    assert np.abs(np.mean(found, axis=0)).max() < 0.03


def test_too_many_candidates_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sottovoce.protocols.dp_ccbn.plan.MAX_TABLES", 5)
    with pytest.raises(
        UsageError, match="at most 5 candidates to count at once, found 6: set most_parents lower"
    ):
        run(search="oneshot", most_parents=1)
    with pytest.raises(UsageError, match="two or more labels for attributes=binary"):
        sottovoce.run(
            "dp-ccbn",
            pd.DataFrame({"a": ["x"] * 3}),
            attributes="binary",
            seed=1,
            aggregator="masks",
        )


def test_an_attribute_without_parents_depends_on_nothing() -> None:
    domain = Domain({"a": ("0", "1"), "b": ("0", "1", "2")})
    table = Marginal(("a", "b"), np.array([[40.0, 0.0, 0.0], [0.0, 30.0, 30.0]]))
    alone = Estimate(table.project(("b",)), 1.0)
    both = Estimate(table, 1.0)
    scores = scores_of([alone, both], [("b",), ("a", "b")], domain, rows=100)
    assert scores[0] == 0.0
    assert scores[1] > 0.3
