"""Impossible combinations: no record counts with one, and no published row has one."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sottovoce
from sottovoce.curator.impossible_cells import possible_codes, possible_pairs
from sottovoce.curator.marginal import Marginal
from sottovoce.parties import load, read_plan, read_schema, write_schema
from sottovoce.privacy import Domain
from sottovoce.privacy.impossible import first_possible, impossible_rows, make_possible

LABELS: dict[str, Any] = {
    "age": ["0-14", "15-24", "25-64", "65+"],
    "sex": ["f", "m"],
    "marital": ["married", "never", "widowed"],
    "income": ["none", "low", "high"],
}
NEVER: list[dict[str, Any]] = [
    {"age": ["0-14"], "marital": ["married", "widowed"]},
    {"age": ["0-14"], "income": ["low", "high"]},
    {"age": "15-24", "sex": ["m"], "marital": ["widowed"]},
]
SCHEMA = {**LABELS, "never": NEVER}


def people(rows: int = 1200) -> pd.DataFrame:
    generator = np.random.default_rng(4)
    table = pd.DataFrame(
        {name: generator.choice(labels, rows) for name, labels in LABELS.items()}, dtype=object
    )
    is_child = table["age"] == "0-14"
    table.loc[is_child, "marital"] = "never"
    table.loc[is_child, "income"] = "none"
    return table


def breaks(table: pd.DataFrame) -> int:
    """Count rows that break a rule, by comparing texts."""
    is_wrong = pd.Series(data=False, index=table.index)
    for rule in NEVER:
        texts = {name: [v] if isinstance(v, str) else v for name, v in rule.items()}
        is_wrong |= np.logical_and.reduce([table[name].isin(v) for name, v in texts.items()])
    return int(is_wrong.sum())


@pytest.mark.parametrize(
    "protocol",
    [
        "adaptive-pairs",
        "aim",
        "dp-subn",
        "dp-ccbn",
        "independent",
        "jtree",
        "one-way",
        "calm",
        "privincr",
        "one-way-ldp",
    ],
)
def test_no_protocol_publishes_an_impossible_row(protocol: str) -> None:
    """At this epsilon noise alone would make many: the referee counts them without the rules."""
    epsilon = 1.0 if protocol == "calm" else 0.1
    options: dict[str, Any] = {"parties": 2, "epsilon": epsilon, "seed": 5, "judge": False}
    if protocol not in ("calm", "privincr", "one-way-ldp", "independent"):
        options["aggregator"] = "masks"
    free = sottovoce.run(protocol, people(), schema=LABELS, **options).synthetic
    bound = sottovoce.run(protocol, people(), schema=SCHEMA, **options)
    assert free is not None
    assert bound.synthetic is not None
    assert breaks(free) > 0
    assert breaks(bound.synthetic) == 0
    assert len(bound.synthetic) == len(free)
    assert json.loads(bound.files["schema.json"])["never"][1] == NEVER[1]


def test_what_is_declared_improves_the_table() -> None:
    """Zeros that hold in the records, over five seeds; the seeds are fixed."""
    distances = []
    for schema in (LABELS, SCHEMA):
        options: dict[str, Any] = {"schema": schema, "epsilon": 0.3, "judge": False}
        tables = [
            sottovoce.run(
                "adaptive-pairs", people(), seed=seed, parties=1, aggregator="clear", **options
            ).synthetic
            for seed in range(5)
        ]
        distances.append(
            np.mean([sottovoce.evaluate(people(), t).tvd["2"] for t in tables if t is not None])
        )
    assert distances[1] < distances[0]


def test_a_record_that_breaks_a_rule_counts_as_a_near_one() -> None:
    table = pd.DataFrame(
        [
            ("0-14", "f", "married", "none"),
            ("0-14", "f", "widowed", "high"),
            ("15-24", "m", "widowed", "low"),
            ("65+", "m", "widowed", "low"),
        ],
        columns=[*LABELS],
    )
    records = load(table, schema=read_schema(SCHEMA))
    rows = list(zip(*(records.column(name) for name in LABELS), strict=True))
    # The last attribute of the rule gives way, to the next label. Where two rules are broken by
    # different attributes, the age that they share is a change fewer.
    assert rows == [
        ("0-14", "f", "never", "none"),
        ("15-24", "f", "widowed", "high"),
        ("15-24", "m", "never", "low"),
        ("65+", "m", "widowed", "low"),
    ]


def test_a_replaced_record_changes_one_mapped_record() -> None:
    """So sensitivity stays as it is: each record is mapped by itself."""
    generator = np.random.default_rng(2)
    table = pd.DataFrame({name: generator.choice(v, 60) for name, v in LABELS.items()})
    other = table.copy()
    other.loc[17] = ["0-14", "m", "widowed", "high"]
    schema = read_schema(SCHEMA)
    first, second = (load(t, schema=schema) for t in (table, other))
    differ = {
        int(row)
        for name in LABELS
        for row in np.flatnonzero(first.codes(name) != second.codes(name))
    }
    assert differ <= {17}


def rules(generator: np.random.Generator, sizes: dict[str, int]) -> list[dict[str, list[int]]]:
    drawn = []
    for _ in range(generator.integers(1, 7)):
        names = generator.choice([*sizes], generator.integers(1, 4), replace=False)
        drawn.append(
            {
                str(name): sorted(
                    generator.choice(
                        sizes[name], generator.integers(1, sizes[name] + 1), replace=False
                    ).tolist()
                )
                for name in names
            }
        )
    return drawn


@pytest.mark.parametrize("seed", range(40))
def test_rules_against_enumeration(seed: int) -> None:
    """Every cell of a small domain, under random rules, against a plain loop."""
    generator = np.random.default_rng(seed)
    sizes = {"a": 3, "b": 2, "c": 4, "d": 2}
    never = rules(generator, sizes)
    cells = [dict(zip(sizes, cell, strict=True)) for cell in product(*map(range, sizes.values()))]
    columns = {name: np.array([cell[name] for cell in cells]) for name in sizes}
    wrong = [any(all(cell[n] in codes for n, codes in r.items()) for r in never) for cell in cells]
    assert impossible_rows(never, columns).tolist() == wrong
    possible = first_possible(never, sizes)
    assert (possible is None) == all(wrong)
    if possible is None:
        return
    assert not wrong[cells.index(possible)]
    right = [index for index, is_wrong in enumerate(wrong) if not is_wrong]
    mapped = make_possible(never, columns, sizes)
    for index, cell in enumerate(cells):
        target = {name: int(mapped[name][index]) for name in sizes}
        assert not wrong[cells.index(target)]
        changes = [sum(cells[other][n] != cell[n] for n in sizes) for other in right]
        assert sum(target[n] != cell[n] for n in sizes) == min(changes)
    # Drawn rows: impossible ones change, all others stay.
    drawn = {name: generator.integers(size, size=500) for name, size in sizes.items()}
    fixed = possible_codes(never, drawn, sizes)
    assert not impossible_rows(never, fixed).any()
    stays = ~impossible_rows(never, drawn)
    assert all((fixed[name][stays] == drawn[name][stays]).all() for name in sizes)


def test_labels_are_taken_from_rows_that_agree() -> None:
    """Of 300 married children each gets what other children are: never, in all cases."""
    drawn = {
        "age": np.repeat([0, 0, 1], [300, 100, 600]),
        "marital": np.concatenate([np.full(300, 2), np.full(100, 1), np.arange(600) % 3]),
        "sex": np.arange(1000) % 2,
    }
    sizes = {"age": 2, "marital": 3, "sex": 2}
    fixed = possible_codes([{"age": [0], "marital": [0, 2]}], drawn, sizes)
    assert (fixed["marital"][:400] == 1).all()
    fixed = possible_codes([{"marital": [2], "age": [0]}], drawn, sizes)
    assert (fixed["age"][:300] == 1).all()


def test_tables_of_pairs_keep_their_singles() -> None:
    generator = np.random.default_rng(3)
    names = ("a", "b", "c")
    domain = Domain(
        dict.fromkeys(names, ("0", "1", "2")), never=({"b": (0,), "a": (1, 2)}, {"c": (2,)})
    )
    joint = generator.random((3, 3, 3))
    joint[1:, 0, :] = 0
    joint[:, :, 2] = 0
    joint /= joint.sum()
    noisy = joint + 0.02 * generator.random((3, 3, 3))
    pairs: dict[tuple[str, ...], Marginal] = {
        ("a", "b"): Marginal(("a", "b"), noisy.sum(axis=2)),
        ("b", "c"): Marginal(("b", "c"), noisy.sum(axis=0)),
    }
    singles = {
        name: Marginal((name,), joint.sum(axis=tuple({0, 1, 2} - {place})))
        for place, name in enumerate(names)
    }
    tables, shares = possible_pairs(domain, pairs, singles)
    left, right = tables["a", "b"].values, tables["b", "c"].values  # noqa: PD011
    last = shares["c"].values  # noqa: PD011
    assert (left[1:, 0] == 0).all()
    assert (right[:, 2] == 0).all()
    assert last[2] == 0
    for pair, table in tables.items():
        for name in pair:
            margin = table.project((name,)).values / table.total  # noqa: PD011
            share = shares[name].values / shares[name].total  # noqa: PD011
            assert margin == pytest.approx(share, abs=1e-6)
    free, same = possible_pairs(Domain(domain.labels), pairs, singles)
    assert free == pairs
    assert same == singles


NUMBERS: dict[str, Any] = {
    "age": {"edges": [0, 14, 18, 99], "missing": "category"},
    "weight": {"edges": [0, 10.5, 200], "kind": "numbers"},
    "born": {"edges": ["1920-01-01", "1999-12-31", "2024-12-31"]},
    "kind": ["a", "b"],
}


@pytest.mark.parametrize(
    ("entry", "labels"),
    [
        ({"age": {"to": 14}, "kind": "a"}, {"age": ["[0, 14]"], "kind": ["a"]}),
        ({"age": {"from": 15}, "kind": ["a"]}, {"age": ["(14, 18]", "(18, 99]"], "kind": ["a"]}),
        ({"age": {"from": 15, "to": 18}, "kind": "a"}, {"age": ["(14, 18]"], "kind": ["a"]}),
        ({"age": ["?"], "kind": "a"}, {"age": ["?"], "kind": ["a"]}),
        ({"weight": {"to": 10.5}, "kind": "b"}, {"weight": ["[0, 10.5]"], "kind": ["b"]}),
        (
            {"born": {"from": "2000-01-01"}, "kind": "b"},
            {"born": ["(1999-12-31, 2024-12-31]"], "kind": ["b"]},
        ),
    ],
)
def test_entries(entry: dict[str, Any], labels: dict[str, list[str]]) -> None:
    schema = read_schema({**NUMBERS, "never": [entry]})
    assert schema.never == ({name: tuple(texts) for name, texts in labels.items()},)
    assert read_schema(json.loads(write_schema(schema))) == schema


@pytest.mark.parametrize(
    ("never", "complaint"),
    [
        ([{"age": {"to": 15}, "kind": "a"}], r"ends where bins end, found an end in \(14, 18\]"),
        ([{"age": {"to": 5}, "kind": "a"}], r"found an end in \[0, 14\]"),
        ([{"age": {}, "kind": "a"}], '\'age\': expected "from" or "to"'),
        ([{"age": {"above": 3}, "kind": "a"}], "above"),
        ([{"age": {"from": 100}, "kind": "a"}], "at least one bin"),
        ([{"born": {"from": 2000}, "kind": "a"}], "a date such as"),
        ([{"kind": {"to": 5}}], "a list of labels of 'kind', found a range"),
        ([{"kind": ["c"]}], r"labels of 'kind' \(a, b\), found 'c'"),
        ([{"kind": []}], "different labels"),
        ([{"kinds": ["a"]}], "an attribute of the schema, found 'kinds'"),
        ([{}], "an object with labels"),
        ([{"kind": ["a"]}, "b"], "an object with labels"),
        ([{"kind": ["a"]}, {"kind": ["b"]}], "leave some row possible"),
    ],
)
def test_wrong_entries(never: list[Any], complaint: str) -> None:
    with pytest.raises(sottovoce.UsageError, match=complaint) as caught:
        read_schema({**NUMBERS, "never": never})
    assert "'never' in the schema: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_attribute_may_be_called_never() -> None:
    schema = read_schema({"never": ["a", "b"], "other": ["c"]})
    assert schema.domain.attributes == ("never", "other")
    assert not schema.never


def test_private_attributes_have_no_impossible_combinations() -> None:
    with pytest.raises(sottovoce.UsageError, match="expected no private attributes beside it"):
        read_plan({"a": ["x", "y"], "b": "private", "never": [{"a": ["x"]}]})


def test_rules_follow_the_columns_that_are_kept() -> None:
    schema = read_schema(SCHEMA)
    kept = schema.select(sottovoce.parties.ColumnChoice(drop=("income",)))
    assert len(kept.never) == 2
    assert [*kept.domain.project(["marital", "age"]).never] == [{"age": (0,), "marital": (0, 2)}]
