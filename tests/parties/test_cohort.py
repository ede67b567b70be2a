"""Cohorts: results do not depend on their number, and sums have the distribution of reports."""

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
    public_generator,
)
from sottovoce.parties.user_values import cell_values, parity_values
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


def ignore_progress(done: int, of: int) -> None:
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


def reported(cohorts: list[Cohort], assigned: Assignment, *, key: bytes = b"k" * 16) -> np.ndarray:
    supports = []
    for cohort in cohorts:
        reports = CohortReports(
            cohort,
            assigned,
            cell_values(cohort.records, QUESTIONS),
            ignore_progress,
            UserWords(key),
            by_users=(),
        )
        windows = reports.draw(RandomStream(None))
        supports += [
            np.concatenate(assigned.unpack(window.packed, window.users.astype(np.int64)))
            for window in windows
        ]
    return np.asarray(np.sum(supports, axis=0))


@pytest.mark.parametrize("copies", [None, 1000])
def test_results_do_not_depend_on_the_number_of_cohorts(copies: int | None) -> None:
    users = ROWS if copies is None else copies
    multiplicities = (
        None
        if copies is None
        else public_generator(b"key", "users").multinomial(users, np.full(ROWS, 1 / ROWS))
    )
    assigned = assignment(users)
    supports = [
        reported(
            [
                Cohort(share(party, parties), copies=multiplicities)
                for party in range(1, parties + 1)
            ],
            assigned,
        )
        for parties in (1, 2, 5)
    ]
    assert supports[0].tolist() == supports[1].tolist() == supports[2].tolist()
    cohorts = [Cohort(share(party, 4), copies=multiplicities) for party in (1, 2, 3, 4)]
    numbers = np.concatenate([part for cohort in cohorts for _, part in cohort.windows()])
    assert sorted(numbers.tolist()) == list(range(users))
    assert sum(map(len, cohorts)) == users


def test_a_row_stands_behind_its_copies() -> None:
    multiplicities = np.random.default_rng(3).integers(0, 4, ROWS)
    cohort = Cohort(share(2, 3), copies=multiplicities)
    ((rows, users),) = cohort.windows()
    numbers = cohort.records.numbers
    assert numbers is not None
    assert np.bincount(rows, minlength=len(numbers)).tolist() == multiplicities[numbers].tolist()
    rows_of_users = np.repeat(np.arange(ROWS), multiplicities)
    assert np.array_equal(rows_of_users[users], numbers[rows])


def test_separate_tables_are_numbered_one_after_another() -> None:
    records = Records(TABLE, schema=SCHEMA)
    ((rows, users),) = Cohort(records, before=500).windows()
    assert np.array_equal(users, rows + 500)


@pytest.mark.parametrize("with_replacement", [False, True])
def test_sums_have_the_law_of_reports(with_replacement: bool) -> None:
    """Means, variances and covariances of all supports agree over many runs of two cohorts."""
    runs, users = 500, 900 if with_replacement else ROWS
    assigned, cohorts = assignment(users), [share(party, 2) for party in (1, 2)]
    by_reports, by_sums = [], []
    for run in range(runs):
        key = run.to_bytes(16, "little")
        copies = (
            public_generator(key, "users").multinomial(users, np.full(ROWS, 1 / ROWS))
            if with_replacement
            else None
        )
        again = Assignment(
            users, key if with_replacement else b"key", assigned.randomizers, assigned.sizes
        )
        by_reports.append(
            reported([Cohort(records, copies=copies) for records in cohorts], again, key=key)
        )
        split = (
            public_generator(key, "cohorts").multinomial(assigned.sizes, [0.5, 0.5])
            if with_replacement
            else None
        )
        sums = [
            CohortSums(
                Cohort(records),
                again,
                cell_values(records, QUESTIONS),
                ignore_progress,
                None if split is None else split[:, index],
                by_users=(),
            ).draw(RandomStream(key + bytes([index]) * 16))
            for index, records in enumerate(cohorts)
        ]
        assert sum(sums_of_cohort[0] for sums_of_cohort in sums).tolist() == assigned.sizes.tolist()  # type: ignore[union-attr]
        by_sums.append(sum(sums_of_cohort[1] for sums_of_cohort in sums))
    reported_sums, drawn_sums = np.array(by_reports, float), np.array(by_sums, float)
    deviation = np.sqrt((reported_sums.var(axis=0) + drawn_sums.var(axis=0)) / runs)
    assert (np.abs(reported_sums.mean(axis=0) - drawn_sums.mean(axis=0)) < 6.5 * deviation).all()
    scale = np.sqrt(np.outer(reported_sums.var(axis=0), reported_sums.var(axis=0)))
    assert (
        np.abs(np.cov(reported_sums.T) - np.cov(drawn_sums.T)) < 7.5 * scale * np.sqrt(4 / runs)
    ).all()


def test_parities_are_those_of_the_bits() -> None:
    records = Records(TABLE, schema=SCHEMA)
    bits = np.array(
        BinaryEncoding(records.domain).encode([np.asarray(records.codes(name)) for name in "abc"])
    )
    assert len(bits) == 2 + 1 + 3
    questions = [(0,), (1, 2), (0, 2, 5)]
    masks = np.array([[sum(1 << bit for bit in places)] for places in questions], np.uint64)
    values = parity_values(records, masks)
    rows, assigned = np.tile(np.arange(ROWS), 3), np.repeat([0, 1, 2], ROWS)
    expected = np.concatenate([bits[list(places)].sum(axis=0) % 2 for places in questions])
    assert np.array_equal(values(rows, assigned), expected)
