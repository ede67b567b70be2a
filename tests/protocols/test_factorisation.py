"""Exhaustive factorisation of PrivIncr's cliques, against all orders one by one."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

import sottovoce
from sottovoce import UsageError
from sottovoce.curator import JunctionTree
from sottovoce.parties.demo import demo_table
from sottovoce.privacy import Domain
from sottovoce.protocols.privincr import factoring
from sottovoce.protocols.privincr.factoring import (
    Factor,
    clique_size,
    conditions_of,
    factorise,
    factorise_cliques,
    is_block,
)


def made_up(number: int, *, seed: int) -> tuple[Domain, dict[frozenset[str], float]]:
    """Draw a domain and the information of its pairs."""
    rng = np.random.default_rng(seed)
    names = [f"x{place}" for place in range(number)]
    domain = Domain({name: tuple(map(str, range(rng.integers(2, 9)))) for name in names})
    return domain, {frozenset(pair): float(rng.exponential()) for pair in combinations(names, 2)}


def cells_of(factors: list[Factor], domain: Domain) -> int:
    return sum(domain.cells((*factor.heads, *factor.given)) for factor in factors)


def fewest_cells(
    domain: Domain, information: dict[frozenset[str], float], separator: set[str], sigma: float
) -> int:
    """Try every order in which heads can be removed."""
    fewest = None
    heads = [name for name in domain.attributes if name not in separator]
    for order in permutations(heads):
        left, cells = [*domain.attributes], 0
        for head in order:
            if is_block(left, domain=domain, sigma=sigma):
                cells += domain.cells(left)
                break
            left.remove(head)
            given = conditions_of(head, left, domain=domain, information=information)
            cells += domain.cells((head, *given))
        fewest = cells if fewest is None else min(fewest, cells)
    assert fewest is not None
    return fewest


@pytest.mark.parametrize(
    ("names", "sigma", "expected"),
    [("abc", 24, True), ("abc", 23, False), ("bc", 12, True), ("bc", 1, True), ("c", 1, True)],
)
def test_a_table_of_sigma_cells_or_a_pair_is_measured_at_once(
    names: str, sigma: float, expected: bool
) -> None:
    """A pair of any size is one table, as it cannot be taken apart."""
    domain = Domain({"a": ("0", "1"), "b": ("0", "1", "2"), "c": ("0", "1", "2", "3")})
    assert is_block([*names], domain=domain, sigma=sigma) == expected


@pytest.mark.parametrize("seed", range(8))
def test_conditions_by_minimal_redundancy_and_maximal_relevance(seed: int) -> None:
    """Each is the one with the largest difference of means, as Peng et al. write it."""
    domain, information = made_up(7, seed=seed)
    head, *others = domain.attributes
    chosen: list[str] = []
    while left := [name for name in others if name not in chosen]:
        gains = {
            name: information[frozenset((head, name))]
            - (np.mean([information[frozenset((name, one))] for one in chosen]) if chosen else 0)
            for name in left
        }
        best = max(gains, key=lambda name: gains[name])
        if chosen and (gains[best] <= 0 or domain.cells((head, best, *chosen)) > 4096):
            break
        chosen.append(best)
    found = conditions_of(head, others, domain=domain, information=information)
    assert found == tuple(name for name in others if name in chosen)


@pytest.mark.parametrize("search", ["greedy", "exhaustive"])
@pytest.mark.parametrize("users", [600, 30_000, 300_000])
def test_the_cliques_of_a_tree_share_the_users(users: int, search: factoring.Search) -> None:
    """Each of three cliques is taken apart for a third of them, by what it shares."""
    domain, information = made_up(9, seed=5)
    names = domain.attributes
    cliques = (names[:4], names[3:7], names[6:])
    tree = JunctionTree(domain, cliques, ((0, 1, names[3:4]), (1, 2, names[6:7])))
    found = factorise_cliques(
        tree, information=information, users=users, variance=0.5, search=search
    )
    sigma = clique_size(users / 3, variance=0.5)
    assert found == {
        number: factorise(
            clique, separator, domain=domain, information=information, sigma=sigma, search=search
        )
        for number, clique, separator in zip(
            range(3), cliques, ((), names[3:4], names[6:7]), strict=True
        )
    }


@pytest.mark.parametrize("seed", range(12))
def test_no_order_has_fewer_cells(seed: int) -> None:
    domain, information = made_up(6, seed=seed)
    separator = {*domain.attributes[: seed % 3]}
    sigma = float([1, 40, 200][seed % 3])
    factors = factorise(
        domain.attributes,
        [*separator],
        domain=domain,
        information=information,
        sigma=sigma,
        search="exhaustive",
    )
    assert cells_of(factors, domain) == fewest_cells(domain, information, separator, sigma)
    drawn = {*separator}
    for factor in factors:  # each head is drawn once, after all that it is given
        assert {*factor.given} <= drawn
        assert not {*factor.heads} & drawn
        drawn |= {*factor.heads}
    assert drawn == {*domain.attributes}


def test_it_is_better_than_the_heuristic_at_times_and_never_worse() -> None:
    ratios = []
    for seed in range(30):
        domain, information = made_up(7, seed=seed)
        greedy, best = (
            cells_of(
                factorise(
                    domain.attributes,
                    [],
                    domain=domain,
                    information=information,
                    sigma=20.0,
                    search=search,
                ),
                domain,
            )
            for search in ("greedy", "exhaustive")
        )
        ratios.append(best / greedy)
    assert max(ratios) <= 1
    assert min(ratios) < 0.95


def test_larger_cliques_are_taken_apart_by_the_heuristic(monkeypatch: pytest.MonkeyPatch) -> None:
    domain, information = made_up(6, seed=3)

    def factors(search: factoring.Search) -> list[Factor]:
        return factorise(
            domain.attributes, [], domain=domain, information=information, sigma=9, search=search
        )

    assert factors("exhaustive") != factors("greedy")
    monkeypatch.setattr(factoring, "MAX_SEARCHED", 6)  # as many as there are
    assert factors("exhaustive") != factors("greedy")
    monkeypatch.setattr(factoring, "MAX_SEARCHED", 5)
    assert factors("exhaustive") == factors("greedy")


@pytest.mark.parametrize("more", [{"mode": "paper", "test": "plain"}, {"learning": "tests"}])
def test_runs_take_it(more: dict[str, str]) -> None:
    table = demo_table(3000, seed=2)[["education", "education-num", "age", "hours-per-week", "sex"]]
    outcome = sottovoce.run(
        "privincr",
        table,
        epsilon=6.0,
        phi=0.1,
        factorisation="exhaustive",
        synthetic_rows=500,
        seed=1,
        **more,  # type: ignore[arg-type]
    )
    assert outcome.synthetic is not None
    assert outcome.model["tree"]["factors"]


def test_the_default_variant_takes_nothing_apart() -> None:
    with pytest.raises(UsageError, match="factorisation=exhaustive with learning=tests or"):
        sottovoce.run("privincr", demo_table(50, seed=1), epsilon=1.0, factorisation="exhaustive")
