from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from k_means import spread_points

import sottovoce
from sottovoce.launch.conformance import ProtocolConformance

FAST: dict[str, Any] = {"aggregator": "masks", "no_rehearsal": True}


class TestConformance(ProtocolConformance):
    protocol = "k-means"
    parameters: ClassVar[dict[str, Any]] = {"aggregator": "masks"}


class TestConformanceInParts(TestConformance):
    protocol = "k-means-in-parts"


def three_groups(rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw points around three centres, a third around each."""
    centres = np.array([[20.0, 20.0], [45.0, 50.0], [70.0, 55.0]])
    generator = np.random.default_rng(5)
    points = centres[np.arange(rows) % 3] + generator.normal(0, 2, (rows, 2))
    return pd.DataFrame(points.round(2), columns=["x", "y"]), centres


@pytest.mark.parametrize("protocol", ["k-means", "k-means-in-parts"])
def test_it_finds_clusters_that_are_far_apart(protocol: str) -> None:
    """The referee is the table itself: its groups are ten standard deviations apart."""
    table, centres = three_groups(6000)
    run = sottovoce.run(
        protocol, table, parties=3, seed=1, epsilon=5.0, attributes="x=0:90,y=0:80", **FAST
    )
    assert run.model is not None
    estimates = np.array([[cluster["x"], cluster["y"]] for cluster in run.model["clusters"]])
    # A mean of 400 points or more has a noise of about 1, and a cluster a radius of 2.
    assert np.abs(estimates[np.argsort(estimates[:, 0])] - centres).max() < 5
    assert run.report["privacy"]["epsilon"]["public"] <= 5.0 * (1 + 1e-9)


def test_with_little_noise_it_is_k_means() -> None:
    """At epsilon 1000 the centres are those of Lloyd's iterations on the whole table."""
    table, _ = three_groups(900)
    run = sottovoce.run(
        "k-means", table, parties=3, seed=1, epsilon=1000.0, attributes="x=0:90,y=0:80", **FAST
    )
    points = table.to_numpy()
    scaled = 2 * points / np.array([90, 80]) - 1
    centres = np.repeat(np.linspace(-1, 1, 7)[1::2][:, None], 2, axis=1)
    for _ in range(5):
        nearest = ((scaled[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
        for cluster in set(nearest.tolist()):
            centres[cluster] = scaled[nearest == cluster].mean(axis=0)
    assert run.model is not None
    estimates = np.array([[cluster["x"], cluster["y"]] for cluster in run.model["clusters"]])
    assert np.abs(estimates - (centres + 1) / 2 * np.array([90, 80])).max() < 0.5


def test_without_a_lost_party_it_is_k_means_of_the_others() -> None:
    """The referee goes through the iterations with those whose records the report says are in."""
    table, _ = three_groups(600)
    parts = [table[party::4] for party in range(4)]
    scale, unmoved = np.array([90, 80]), 0

    def play(fault: list[str]) -> sottovoce.Run:
        return sottovoce.run(
            "k-means", parts, seed=1, epsilon=1000.0, attributes="x=0:90,y=0:80", iterations=3,
            on_loss="continue", min_parties=2, fault=fault, **FAST,
        )  # fmt: skip

    messages = int((play([]).ledger["sender"] == "party 2").sum())
    for sent in range(messages + 1):
        run = play([f"party 2 dies after {sent} messages"])
        sums_with = 6
        for loss in run.report["losses"]:
            assert (loss["party"], loss["batches_with"] + loss["batches_without"]) == (2, 6)
            sums_with = loss["batches_with"]
        centres = np.repeat(np.linspace(-1, 1, 7)[1::2][:, None], 2, axis=1)
        for iteration in range(3):
            if sums_with == 2 * iteration + 1:
                unmoved += 1
                continue
            members = [part for party, part in enumerate(parts, 1) if party != 2]
            if sums_with > 2 * iteration:
                members = parts
            scaled = 2 * pd.concat(members).to_numpy() / scale - 1
            nearest = ((scaled[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
            for cluster in set(nearest.tolist()):
                centres[cluster] = scaled[nearest == cluster].mean(axis=0)
        assert run.model is not None
        estimates = np.array([[cluster["x"], cluster["y"]] for cluster in run.model["clusters"]])
        assert np.abs(estimates - (centres + 1) / 2 * scale).max() < 0.5, sent
    assert unmoved > 0


def test_spread_centres_find_what_the_diagonal_does_not() -> None:
    """Clusters in three corners: from the diagonal two of them share a centre for good."""
    generator = np.random.default_rng(6)
    corners = np.array([[9.0, 72.0], [81.0, 8.0], [81.0, 72.0]])
    points = corners[np.arange(3000) % 3] + generator.normal(0, 2, (3000, 2))
    table = pd.DataFrame(points, columns=["x", "y"])

    def farthest(start: int) -> float:
        """Run it, and say how far a corner is from the nearest centre."""
        run = sottovoce.run(
            "k-means", table, parties=3, seed=1, epsilon=100.0, clusters=3, start=start,
            attributes="x=0:90,y=0:80", **FAST,
        )  # fmt: skip
        assert run.model is not None
        centres = np.array([[cluster["x"], cluster["y"]] for cluster in run.model["clusters"]])
        distances = np.linalg.norm(corners[:, None] - centres[None], axis=2)
        return float(distances.min(axis=1).max())

    assert farthest(0) > 20
    assert farthest(4) > 20  # a spread start can end in a local optimum, too
    assert farthest(1) < 2


@pytest.mark.parametrize(("number", "columns"), [(2, 1), (4, 2), (9, 3)])
def test_first_centres_are_spread_over_the_bounds(number: int, columns: int) -> None:
    """They are reproducible, within the bounds, and farther apart than points at random."""
    spread, again = (
        spread_points(number, columns=columns, generator=np.random.default_rng(3)) for _ in range(2)
    )
    assert np.array_equal(spread, again)
    assert np.abs(spread).max() < 1
    distances = np.linalg.norm(spread[:, None] - spread[None], axis=2)
    nearest = distances[~np.eye(number, dtype=bool)].min()
    # Balls of this radius fit between the points, and between each point and the faces.
    assert np.abs(spread).max() <= 1 - nearest / 2 + 1 / 4
    random = [np.random.default_rng(seed).uniform(-1, 1, (number, columns)) for seed in range(20)]
    assert nearest > np.median(
        [
            np.linalg.norm(points[:, None] - points[None], axis=2)[
                ~np.eye(number, dtype=bool)
            ].min()
            for points in random
        ]
    )


@pytest.mark.parametrize("text", ["age", "age=1", "age=1:x", "age=2:1", ""])
def test_bounds_are_checked(text: str) -> None:
    with pytest.raises(sottovoce.UsageError, match="in attributes, found"):
        sottovoce.run("k-means", rows=60, attributes=text)


def test_an_audit_finds_no_more_than_is_claimed() -> None:
    audit = sottovoce.audit("k-means", runs=200, seed=1, aggregator="masks", iterations=2)
    assert audit.ok, audit
