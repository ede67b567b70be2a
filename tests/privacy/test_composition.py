"""Losses of disjoint parts: the accounted bound against every pair of neighbouring tables."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Literal

import numpy as np
import pandas as pd
import pytest

from sottovoce.crypto import RandomStream, RandomTree
from sottovoce.messages import BudgetError, MisuseError, UsageError, thread_wires
from sottovoce.parties import Part, Party, Records, read_schema
from sottovoce.privacy import Accountant, laplace

Relation = Literal["replace-one", "add-or-remove-one"]
Rows = tuple[tuple[str, str], ...]

ROWS = tuple(product("xyz", "01"))
SCHEMA = read_schema({"group": ["x", "y", "z"], "flag": ["0", "1"]})


@cache
def records_of(rows: Rows) -> Records:
    table = pd.DataFrame(rows, columns=["group", "flag"], dtype=object)
    return Records(table, schema=SCHEMA)


def party_of(rows: Rows, *, relation: Relation, budget: float = 1e9) -> Party:
    accountant = Accountant(party=1, parties=1, budget=budget, neighbours=relation)
    return Party(
        thread_wires(2)[1],
        protocol="parts",
        kinds=(),
        records=records_of(rows),
        accountant=accountant,
        randomness=RandomTree(1, role=1),
    )


def charged_counts(party: Party, *, plan: int) -> list[tuple[int, float]]:
    """Carry out a plan of nested partitions; give each release's exact count and its epsilon.

    Which partitions are made and which parts have releases follows from the plan alone.
    """
    choices = np.random.default_rng(plan)
    adds = party.accountant.neighbours == "add-or-remove-one"
    counts: list[tuple[int, float]] = []

    def spend(records: Records, part: Part | None) -> None:
        for _ in range(int(choices.integers(0, 3))):
            epsilon = float(choices.choice([0.25, 0.5, 1.0, 2.0]))
            flagged = choices.random() < 0.5
            count = records.count("flag", "1") if flagged else len(records)
            mechanism = laplace(count, sensitivity=1, epsilon=epsilon)
            party.release(mechanism, to=0, of=part)
            counts.append((count, epsilon))

    with party.phase("plan"):
        spend(party.records, None)
        frontier: list[Part | None] = [None, None]
        for _ in range(2):
            parts: list[Part] = []
            for within in frontier:
                by_value = adds or choices.random() < 0.5
                attribute = str(choices.choice(["group", "flag"]))
                size = int(choices.integers(1, 4))
                parts += (
                    party.partition(by=attribute, within=within)
                    if by_value
                    else party.partition(into=size, seed=plan, within=within)
                )
            for part in parts:
                spend(part.records, part)
            frontier = [part for part in parts if choices.random() < 0.4]
    return counts


def neighbours_of(rows: Rows, *, relation: Relation) -> list[Rows]:
    if relation == "add-or-remove-one":
        return [rows[:place] + rows[place + 1 :] for place in range(len(rows))]
    return [
        (*rows[:place], other, *rows[place + 1 :])
        for place in range(len(rows))
        for other in ROWS
        if other != rows[place]
    ]


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("plan", range(12))
def test_no_neighbours_lose_more_than_is_accounted(relation: Relation, plan: int) -> None:
    """Laplace noise on counts has an exact worst case: each changed count loses its epsilon.

    Far out in both tails the log-likelihood ratio of a count that changes by c is c times epsilon,
    and releases have independent noise. So the largest loss of all releases is the sum.
    """
    sizes = (2, 3) if relation == "add-or-remove-one" else (3,)
    tables: dict[Rows, list[tuple[int, float]]] = {}
    accounted = set()
    for size in (*sizes, sizes[0] - 1):
        for rows in product(ROWS, repeat=size):
            party = party_of(rows, relation=relation)
            tables[rows] = charged_counts(party, plan=plan)
            accounted.add(party.accountant.spent)
    assert len(accounted) == 1, "the accounted loss depends on records"
    (bound,) = accounted
    worst = max(
        sum(
            epsilon * abs(count - other)
            for (count, epsilon), (other, _) in zip(tables[rows], tables[near], strict=True)
        )
        for rows in tables
        if len(rows) == sizes[-1]
        for near in neighbours_of(rows, relation=relation)
    )
    assert worst <= bound * (1 + 1e-12)


def spent_on_each(parts: str | int, *, relation: Relation, epsilon: float = 1.0) -> float:
    """Spend epsilon on the exact size of every part of one partition."""
    party = party_of((("x", "0"), ("y", "1"), ("z", "1")), relation=relation)
    with party.phase("p"):
        made = party.partition(by=parts) if isinstance(parts, str) else party.partition(into=parts)
        for part in made:
            party.release(laplace(len(part.records), sensitivity=1, epsilon=epsilon), to=0, of=part)
    return party.accountant.spent


def test_the_bounds_are_reached() -> None:
    """A record that moves loses epsilon twice, one that stays or comes loses it once."""
    assert spent_on_each("group", relation="replace-one") == 2.0
    assert spent_on_each("group", relation="add-or-remove-one") == 1.0
    assert spent_on_each(3, relation="replace-one") == 1.0


def test_a_record_that_moves_loses_what_is_spent_within_both_parts() -> None:
    """It leaves a half of one group, and comes into a half of another: each loses once.

    Halves are dealt out by rows, so a record whose values differ stays in its half of a group.
    """
    rows = tuple((group, "0") for group in ("x", "x", "y", "y"))
    party = party_of(rows, relation="replace-one")
    with party.phase("p"):
        for group in party.partition(by="group"):
            for half in party.partition(into=2, within=group):
                party.release(laplace(0, sensitivity=1, epsilon=1.0), to=0, of=half)
                party.release(laplace(0, sensitivity=1, epsilon=0.5), to=0, of=half)
    assert party.accountant.spent == 3.0


def test_two_partitions_of_the_same_records_add_up() -> None:
    party = party_of((("x", "0"),) * 4, relation="replace-one", budget=2.0)
    with party.phase("p"):
        for seed in range(2):
            for part in party.partition(into=2, seed=seed):
                party.release(laplace(0, sensitivity=1, epsilon=1.0), to=0, of=part)
        assert party.accountant.spent == 2.0
        with pytest.raises(BudgetError, match=r"party 1's records, found 2\.5"):
            party.release(laplace(0, sensitivity=1, epsilon=0.5), to=0)


def test_rows_are_not_dealt_out_where_a_row_may_come_or_go() -> None:
    party = party_of((("x", "0"),) * 4, relation="add-or-remove-one")
    with pytest.raises(MisuseError, match="expected parts by the value of an attribute"):
        party.partition(into=2)
    assert len(party.partition(by="group")) == 3


def test_only_parts_of_this_party_are_known() -> None:
    """A part of another party, with the same records, is not one of this party's."""
    party, other = (party_of((("x", "0"),) * 4, relation="replace-one") for _ in range(2))
    with party.phase("p"):
        foreign = other.partition(into=2)[0]
        for part in (foreign,):
            with pytest.raises(MisuseError, match=r"found part 1 of 2$"):
                party.release(laplace(0, sensitivity=1, epsilon=1.0), to=0, of=part)
        with pytest.raises(MisuseError, match=r"found part 1 of 2$"):
            party.partition(by="group", within=foreign)
    assert not party.accountant.releases


def test_a_partition_is_disjoint_and_complete() -> None:
    party = party_of(tuple(ROWS) * 3, relation="replace-one")
    for parts in (
        party.partition(into=4, seed=3),
        party.partition(by="group"),
        [part for half in party.partition(into=2) for part in party.partition(into=3, within=half)],
    ):
        assert sorted(row for part in parts for row in part.rows.tolist()) == list(range(18))
        assert [len(part.records) for part in parts] == [len(part.rows) for part in parts]
        assert all(part.rows.size for part in parts)


@pytest.mark.parametrize("arguments", [{}, {"by": "group", "into": 2}])
def test_a_partition_has_one_rule(arguments: dict[str, object]) -> None:
    party = party_of((("x", "0"),) * 4, relation="replace-one")
    with pytest.raises(MisuseError, match=r"partition\(by=ATTRIBUTE\) or partition\(into=NUMBER\)"):
        party.partition(**arguments)  # type: ignore[arg-type]


def test_a_partition_refuses_what_is_not_there() -> None:
    party = party_of((("x", "0"),) * 4, relation="replace-one")
    with pytest.raises(UsageError, match=r"expected an attribute of the schema \(group, flag\)"):
        party.partition(by="sex")
    with pytest.raises(UsageError, match="expected at least one part, found 0"):
        party.partition(into=0)


def test_a_release_is_about_users_or_about_a_part() -> None:
    accountant = Accountant(
        party=1, parties=1, budget=1.0, neighbours="replace-one", budget_of="user"
    )
    (path,) = accountant.partition(["part"], by_value=False)
    with pytest.raises(MisuseError, match="expected users or a part"):
        accountant.release(
            laplace(0, sensitivity=1, epsilon=1.0),
            to=0,
            phase="p",
            randomness=RandomStream(bytes(32)),
            users=(0, 1),
            part=path,
        )


def test_a_record_that_leaves_a_part_moves_no_other() -> None:
    """Rows are dealt out by their number among all rows, not by their place in the part."""

    def dealt(rows: Rows) -> list[set[int]]:
        party = party_of(rows, relation="replace-one")
        (part, *_) = party.partition(by="group")
        return [set(deal.rows.tolist()) for deal in party.partition(into=3, within=part)]

    whole = (("x", "0"),) * 12
    for row in range(12):
        moved = (*whole[:row], ("y", "0"), *whole[row + 1 :])
        assert dealt(moved) == [deal - {row} for deal in dealt(whole)]
