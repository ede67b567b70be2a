"""The fit of networks, against their divergence cell by cell, and against known networks."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

import sottovoce
from sottovoce.curator import BayesianNetwork, Marginal, mutual_information
from sottovoce.curator.information import entropy
from sottovoce.evaluation.network_fit import network_fit
from sottovoce.parties import DEMO_SCHEMA, Records, load
from sottovoce.parties.counting import CodedTable
from sottovoce.parties.demo import demo_table
from sottovoce.privacy import BinaryEncoding, Domain

DOMAIN = Domain({"a": ("0", "1", "2"), "b": ("0", "1"), "c": ("0", "1"), "d": ("0", "1", "2")})


def dependent_records(rows: int, *, seed: int) -> Records:
    """Draw records in which each attribute follows the one before in two rows of three."""
    generator = np.random.default_rng(seed)
    codes = [generator.integers(0, 3, rows)]
    for size in DOMAIN.shape(DOMAIN.attributes[1:]):
        noise = generator.integers(0, size, rows)
        codes.append(np.where(generator.random(rows) < 2 / 3, codes[-1] % size, noise))
    return Records(CodedTable([column.astype(np.uint8) for column in codes], DOMAIN))


def random_network(domain: Domain, *, seed: int) -> BayesianNetwork:
    generator = np.random.default_rng(seed)
    order = [str(name) for name in generator.permutation(domain.attributes)]
    return BayesianNetwork(
        domain,
        {
            name: [parent for parent in order[:place] if generator.random() < 0.5]
            for place, name in enumerate(order)
        },
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_divergence_is_that_of_all_cells(seed: int) -> None:
    """KL of the records' distribution from the network's, summed over every cell."""
    records = dependent_records(400, seed=seed)
    network = random_network(DOMAIN, seed=seed)
    tables = [Marginal.of(DOMAIN, family, records.marginal(family)) for family in network.families]
    joint = records.marginal(DOMAIN.attributes) / len(records)
    divergence = 0.0
    for cell, share in zip(
        product(*map(range, DOMAIN.shape(DOMAIN.attributes))), joint, strict=True
    ):
        if share == 0:
            continue
        described = 1.0
        for family, table in zip(network.families, tables, strict=True):
            place = tuple(cell[DOMAIN.attributes.index(name)] for name in family)
            described *= table.values[place] / table.values[place[:-1]].sum()
        divergence += share * np.log2(share / described)
    fit = network_fit(records, {"parents": network.parents})
    assert fit is not None
    assert fit.divergence == pytest.approx(divergence, abs=1e-9)


def test_the_entropy_falls_by_what_parents_tell() -> None:
    """H(N) = sum of H(X) - sum of I(X; Pa(X)), as section III-B of Su et al. has it."""
    records = dependent_records(3000, seed=1)
    network = random_network(DOMAIN, seed=3)
    assert network.degree >= 2
    alone = sum(
        entropy(Marginal.of(DOMAIN, (name,), records.marginal((name,))), base=2)
        for name in DOMAIN.attributes
    )
    told = sum(
        mutual_information(
            Marginal.of(DOMAIN, family, records.marginal(family)), family[-1:], base=2
        )
        for family in network.families
        if len(family) > 1
    )
    fit = network_fit(records, {"parents": network.parents, "counted": []})
    assert fit is not None
    assert fit.independent == pytest.approx(alone)
    assert fit.entropy == pytest.approx(alone - told)
    assert fit.divergence >= 0


def test_networks_of_bits_and_of_attributes_are_compared_by_the_same_numbers() -> None:
    """Bits chained within their attribute tell what independent attributes tell."""
    records = dependent_records(1000, seed=5)
    encoding = BinaryEncoding(DOMAIN)
    chained = {
        bit: list(encoding.of(name)[:place])
        for name in DOMAIN.attributes
        for place, bit in enumerate(encoding.of(name))
    }
    whole = network_fit(records, {"parents": dict.fromkeys(DOMAIN.attributes, ())})
    bits = network_fit(records, {"parents": chained})
    assert whole is not None
    assert bits is not None
    assert bits.entropy == pytest.approx(whole.entropy) == pytest.approx(whole.independent)
    assert bits.divergence == pytest.approx(whole.divergence)


def test_a_complete_network_leaves_nothing_out() -> None:
    records = dependent_records(200, seed=2)
    names = DOMAIN.attributes
    complete = {name: names[:place] for place, name in enumerate(names)}
    fit = network_fit(records, {"parents": complete})
    assert fit is not None
    assert fit.divergence == pytest.approx(0, abs=1e-9)


def test_networks_of_several_parties_are_averaged() -> None:
    records = dependent_records(500, seed=7)
    parents = [random_network(DOMAIN, seed=seed).parents for seed in (1, 2, 3)]
    fits = [network_fit(records, {"parents": one}) for one in parents]
    together = network_fit(records, {"parents": parents})
    assert together is not None
    assert together.networks == 3
    assert together.entropy == pytest.approx(np.mean([fit.entropy for fit in fits if fit]))


def test_more_combinations_than_a_number_can_tell() -> None:
    """Forty attributes of four labels have 2^80 combinations; 64 records have 6 bits."""
    domain = Domain({f"x{place}": ("0", "1", "2", "3") for place in range(40)})
    column = np.arange(64)
    codes = [((column >> 2 * (place % 3)) & 3).astype(np.uint8) for place in range(40)]
    records = Records(CodedTable(codes, domain))
    fit = network_fit(records, {"parents": dict.fromkeys(domain.attributes, ())})
    assert fit is not None
    assert fit.entropy == pytest.approx(80)
    assert fit.divergence == pytest.approx(80 - 6)


@pytest.mark.parametrize(
    "model",
    [
        None,
        [],
        {"cliques": []},
        {"parents": 3},
        {"parents": {"a": []}},
        {"parents": {"a": ["b"], "b": ["a"], "c": [], "d": []}},
        {"parents": {"a": ["e"], "b": [], "c": [], "d": []}},
        {"parents": []},
    ],
)
def test_models_that_hold_no_network_of_these_records(model: object) -> None:
    assert network_fit(dependent_records(20, seed=0), model) is None


def test_runs_are_judged_by_their_networks() -> None:
    table = demo_table(1500, seed=3)
    names = ["relationship", "education", "sex", "income"]
    labels = DEMO_SCHEMA.domain.project(names).labels
    records = load(table, schema=DEMO_SCHEMA)
    outcome = sottovoce.run(
        "dp-subn",
        table,
        schema={name: list(labels[name]) for name in names},
        epsilon=4.0,
        parties=2,
        seed=1,
        aggregator="masks",
    )
    network = outcome.judgement["utility"]["network"]
    least = min(
        network_fit(records_of(records, names), {"parents": parents}).entropy  # type: ignore[union-attr]
        for parents in trees(names)
    )
    assert least - 1e-9 <= network["entropy"] <= network["independent"] + 1e-9
    assert network["networks"] == 1


def records_of(records: Records, names: list[str]) -> Records:
    """Keep only these attributes."""
    domain = records.domain.project(names)
    return Records(CodedTable([records.codes(name) for name in names], domain))


def trees(names: list[str]) -> list[dict[str, list[str]]]:
    """List all networks of at most one parent over four attributes, up to directions."""
    forests = []
    for edges in combinations(list(combinations(names, 2)), 3):
        parents: dict[str, list[str]] = {name: [] for name in names}
        reached, left = {names[0]}, list(edges)
        while tied := [edge for edge in left if len(reached & {*edge}) == 1]:
            (first, second) = tied[0]
            parent, child = (first, second) if first in reached else (second, first)
            parents[child] = [parent]
            reached.add(child)
            left.remove(tied[0])
        if len(reached) == len(names):
            forests.append(parents)
    return forests
