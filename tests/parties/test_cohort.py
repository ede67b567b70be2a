"""Cohorts: the same users whoever acts for them, and two fidelities of one law."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sottovoce.crypto import RandomStream, UserWords
from sottovoce.parties import Records, load, read_schema, read_split
from sottovoce.parties.cohort import (
    Cohort,
    CohortReports,
    CohortSums,
    cell_values,
    parity_values,
    public_generator,
)
from sottovoce.privacy import BinaryEncoding
from sottovoce.privacy.local import Assignment, DirectEncoding, OptimisedUnary

SCHEMA = read_schema({"a": ["0", "1", "2"], "b": ["x", "y"], "c": ["p", "q", "r", "s", "t"]})
ROWS = 240
GENERATOR = np.random.default_rng(11)
TABLE = pd.DataFrame(
    {
        "a": GENERATOR.choice(["0", "1", "2"], ROWS, p=[0.7, 0.2, 0.1]),
        "b": GENERATOR.choice(["x", "y"], ROWS),
        "c": GENERATOR.choice(list("pqrst"), ROWS),
    }
)
QUESTIONS = [("a",), ("a", "b"), ("c", "b")]


def nothing(done: int, of: int) -> None:
    assert 0 <= done <= of


def assignment(users: int) -> Assignment:
    randomizers = (
        DirectEncoding(3, epsilon=1.0),
        DirectEncoding(6, epsilon=1.0),
        OptimisedUnary(10, epsilon=1.0),
    )
    return Assignment(users, b"key", randomizers, np.array([users // 3] * 3))


def share(party: int, parties: int) -> Records:
    return load(TABLE, schema=SCHEMA, party=party, split=read_split("even", parties=parties))


def reported(cohorts: list[Cohort], asked: Assignment, *, key: bytes = b"k" * 16) -> np.ndarray:
    found = []
    for own in cohorts:
        reports = CohortReports(
            own, asked, cell_values(own.records, QUESTIONS), nothing, UserWords(key), by_users=()
        )
        windows = reports.draw(RandomStream(None))
        found += [
            np.concatenate(asked.unpack(window.packed, window.users.astype(np.int64)))
            for window in windows
        ]
    return np.asarray(np.sum(found, axis=0))


@pytest.mark.parametrize("copies", [None, 1000])
def test_results_do_not_depend_on_the_number_of_cohorts(copies: int | None) -> None:
    users = ROWS if copies is None else copies
    drawn = (
        None
        if copies is None
        else public_generator(b"key", "users").multinomial(users, np.full(ROWS, 1 / ROWS))
    )
    asked = assignment(users)
    found = [
        reported(
            [Cohort(share(party, parties), copies=drawn) for party in range(1, parties + 1)], asked
        )
        for parties in (1, 2, 5)
    ]
    assert found[0].tolist() == found[1].tolist() == found[2].tolist()
    own = [Cohort(share(party, 4), copies=drawn) for party in (1, 2, 3, 4)]
    numbers = np.concatenate([part for cohort in own for _, part in cohort.windows()])
    assert sorted(numbers.tolist()) == list(range(users))
    assert sum(map(len, own)) == users


def test_a_row_stands_behind_its_copies() -> None:
    drawn = np.random.default_rng(3).integers(0, 4, ROWS)
    cohort = Cohort(share(2, 3), copies=drawn)
    ((rows, users),) = cohort.windows()
    numbers = cohort.records.numbers
    assert numbers is not None
    assert np.bincount(rows, minlength=len(numbers)).tolist() == drawn[numbers].tolist()
    owner = np.repeat(np.arange(ROWS), drawn)
    assert np.array_equal(owner[users], numbers[rows])


def test_tables_of_ones_own_are_numbered_one_after_another() -> None:
    records = Records(TABLE, schema=SCHEMA)
    ((rows, users),) = Cohort(records, before=500).windows()
    assert np.array_equal(users, rows + 500)


@pytest.mark.parametrize("drawn_anew", [False, True])
def test_sums_have_the_law_of_reports(drawn_anew: bool) -> None:
    """Means, variances and covariances of all supports together, over many runs; two cohorts."""
    runs, users = 500, 900 if drawn_anew else ROWS
    asked, cohorts = assignment(users), [share(party, 2) for party in (1, 2)]
    by_reports, by_sums = [], []
    for run in range(runs):
        key = run.to_bytes(16, "little")
        copies = (
            public_generator(key, "users").multinomial(users, np.full(ROWS, 1 / ROWS))
            if drawn_anew
            else None
        )
        again = Assignment(users, key if drawn_anew else b"key", asked.randomizers, asked.sizes)
        by_reports.append(reported([Cohort(own, copies=copies) for own in cohorts], again, key=key))
        split = (
            public_generator(key, "cohorts").multinomial(asked.sizes, [0.5, 0.5])
            if drawn_anew
            else None
        )
        drawn = [
            CohortSums(
                Cohort(own),
                again,
                cell_values(own, QUESTIONS),
                nothing,
                None if split is None else split[:, at],
                by_users=(),
            ).draw(RandomStream(key + bytes([at]) * 16))
            for at, own in enumerate(cohorts)
        ]
        assert sum(told[0] for told in drawn).tolist() == asked.sizes.tolist()  # type: ignore[union-attr]
        by_sums.append(sum(np.concatenate(told[1]) for told in drawn))
    one, other = np.array(by_reports, float), np.array(by_sums, float)
    deviation = np.sqrt((one.var(axis=0) + other.var(axis=0)) / runs)
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < 6.5 * deviation).all()
    scale = np.sqrt(np.outer(one.var(axis=0), one.var(axis=0)))
    assert (np.abs(np.cov(one.T) - np.cov(other.T)) < 7.5 * scale * np.sqrt(4 / runs)).all()


def test_parities_are_those_of_the_bits() -> None:
    records = Records(TABLE, schema=SCHEMA)
    bits = np.array(
        BinaryEncoding(records.domain).encode([np.asarray(records.codes(name)) for name in "abc"])
    )
    assert len(bits) == 2 + 1 + 3
    questions = [(0,), (1, 2), (0, 2, 5)]
    values = parity_values(records, questions)
    rows, asked = np.tile(np.arange(ROWS), 3), np.repeat([0, 1, 2], ROWS)
    expected = np.concatenate([bits[list(own)].sum(axis=0) % 2 for own in questions])
    assert np.array_equal(values(rows, asked), expected)
