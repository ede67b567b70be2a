"""Noise replacement: the sum grows, it keeps one noise, and its true cost is accounted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sottovoce.curator import Curator
from sottovoce.messages import MisuseError
from sottovoce.parties import Party, read_schema
from sottovoce.privacy.shares import SelectedNoise
from sottovoce.protocols.introductions import introduce
from sottovoce.protocols.noise_replacement import (
    CuratorReplacement,
    NoiseReplacement,
    PartyReplacement,
)
from sottovoce.protocols.noise_replacement.rounds import batch_of, sum_out
from sottovoce.protocols.secure_sum.keys import KeyedParty, KeyHolder

Converse = Callable[..., Any]
SCHEMA = read_schema(
    {"a": ["0", "1"], "b": ["0", "1", "2"], "c": ["0", "1"], "d": ["0", "1", "2", "3"]}
)
STABLE: list[list[tuple[str, ...]]] = [[("a", "b"), ("c", "d")]] * 3
MOVING: list[list[tuple[str, ...]]] = [
    [("a", "b", "c"), ("d",)],
    [("a", "c"), ("d",), ("b", "d")],  # (a, c) from within (a, b, c); (b, d) is new
    [
        ("c", "a"),
        ("b", "d"),
        ("a", "b", "c"),
    ],  # (c, a) is (a, c) turned; (a, b, c) returns, still owned by party 1
]


def tables(parties: int = 3) -> list[pd.DataFrame]:
    made = []
    for party in range(1, parties + 1):
        generator = np.random.default_rng(party)
        made.append(
            pd.DataFrame(
                {
                    name: generator.integers(0, len(labels), 30).astype(str)
                    for name, labels in SCHEMA.domain.labels.items()
                }
            )
        )
    return made


def replace(
    converse: Converse,
    frontiers: list[list[tuple[str, ...]]],
    *,
    epsilon: float,
    audited: list[Any] | None = None,
    **more: Any,
) -> tuple[Any, list[Any], dict[int, dict[tuple[str, ...], np.ndarray]]]:
    """Run a round for each party.

    Returns the conversation, the running sums after each round, and each party's noise.
    """
    drawn: list[tuple[np.ndarray, np.ndarray]] = []
    plain = SelectedNoise.draw

    def spied(self: SelectedNoise, randomness: Any) -> Any:
        for counts, noise in plain(self, randomness):
            drawn.append((counts, noise))
            yield counts, noise

    noises: dict[int, dict[tuple[str, ...], np.ndarray]] = {}

    def party(me: Party) -> None:
        with me.phase("keys"):
            introduce(me, others=me.others)
            part = PartyReplacement(KeyedParty(me, exponent="half"), domain=me.records.domain)
        for turn in me.parties:
            with me.phase("update"):
                part.round(turn, count=me.records.marginal, epsilon=epsilon)
            if turn == me.number:
                noises[turn] = dict(part._noise)

    def curator(desk: Curator) -> list[Any]:
        desk.sums = audited
        with desk.phase("keys"):
            introduce(desk, others=desk.others)
            part = CuratorReplacement(KeyHolder(desk), domain=desk.domain, rows=90)
        kept = []
        for turn, frontier in zip(desk.parties, frontiers, strict=True):
            with desk.phase("update"):
                part.round(turn, frontier, epsilon=epsilon)
            kept.append(dict(part.sums))
        return kept

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SelectedNoise, "draw", spied)
        given = {"tables": tables(), "schema": SCHEMA, "parties": 3} | more
        talk = converse(party, curator, **given)
    return talk, talk.curator, noises


def counted(parties: tuple[int, ...], family: tuple[str, ...]) -> np.ndarray:
    from sottovoce.parties import Records

    total = sum(Records(tables()[party - 1], schema=SCHEMA).marginal(family) for party in parties)
    return np.asarray(total).reshape(SCHEMA.domain.shape(family))


@pytest.mark.parametrize("frontiers", [STABLE, MOVING])
def test_every_table_is_counts_and_the_owners_noise(
    converse: Converse, frontiers: list[list[tuple[str, ...]]]
) -> None:
    """Known answer 15 and the rules of spec 3, exactly, for every family after every round."""
    _, rounds, noises = replace(converse, frontiers, epsilon=0.5)
    for turn, kept in enumerate(rounds, start=1):
        for family in frontiers[turn - 1]:
            assert kept[family].owner == turn
        for family, entry in kept.items():
            assert np.array_equal(
                entry.table, counted(entry.contributors, family) + noises[entry.owner][family]
            ), (
                turn,
                family,
            )
            assert noises[entry.owner][family].any()


def test_an_audit_sees_every_sum_with_the_party_whose_turn_it_was(converse: Converse) -> None:
    """An audit that misses a sum would find less loss than there is."""
    audited: list[tuple[int, np.ndarray]] = []
    _, rounds, _ = replace(converse, MOVING, epsilon=0.5, audited=audited)
    for turn, (frontier, sums) in enumerate(zip(MOVING, rounds, strict=True), start=1):
        kept = [cells.tolist() for party, cells in audited if party == turn]
        assert sorted(kept) == sorted(
            sums[family].table.reshape(-1).tolist() for family in frontier
        )


def test_the_contributors_of_each_table(converse: Converse) -> None:
    _, rounds, _ = replace(converse, MOVING, epsilon=0.5)
    last = rounds[-1]
    assert {family: entry.contributors for family, entry in last.items()} == {
        ("a", "b", "c"): (1, 3),  # it left the frontier in round 2 and came back
        ("d",): (1, 2),
        ("a", "c"): (1, 2),
        ("b", "d"): (2, 3),
        ("c", "a"): (1, 2, 3),  # the same attributes in another order
    }


def test_stable_frontier_counts_everybody(converse: Converse) -> None:
    _, rounds, _ = replace(converse, STABLE, epsilon=200.0)
    for family in STABLE[0]:
        assert np.array_equal(rounds[-1][family].table, counted((1, 2, 3), family))


def test_the_true_cost_is_accounted(converse: Converse) -> None:
    """The curator's view costs (K - k + 1) eps3, where eps3 was claimed.

    Against another party no epsilon holds, except for the last party's records.
    """
    talk, _, _ = replace(converse, STABLE, epsilon=0.25)
    for party, factor in ((1, 3), (2, 2), (3, 1)):
        (release,) = talk.party(party).accountant.releases
        assert (release.mechanism, release.epsilon, release.sensitivity) == (
            "replaced-laplace",
            0.25,
            4,
        )
        assert release.seen["curator"] == release.seen["public"]
        assert release.seen["public"].epsilon == pytest.approx(factor * 0.25)
        assert release.seen["other_party"].epsilon == (0.25 if party == 3 else float("inf"))


def test_messages_between_parties_are_sealed(converse: Converse) -> None:
    talk, _, _ = replace(converse, STABLE, epsilon=0.5)
    said = [
        (heard.sender, heard.to, heard.kind)
        for heard in talk.heard
        if heard.kind in ("Negated", "Replaced")
    ]
    assert said == [
        (1, 0, "Replaced"),
        (1, 2, "Negated"),
        (2, 0, "Replaced"),
        (2, 3, "Negated"),
        (3, 0, "Replaced"),
    ]
    from sottovoce.messages import MessageError, decode

    for heard in talk.heard:
        if heard.kind == "Negated":  # the curator, who holds the key, must not read it
            with pytest.raises(MessageError):
                decode(NoiseReplacement.Negated, memoryview(heard.payload))


def test_one_party_alone_runs(converse: Converse) -> None:
    talk, rounds, noises = replace(
        converse, STABLE[:1], epsilon=0.5, parties=1, tables=tables()[:1]
    )
    family = STABLE[0][0]
    assert np.array_equal(rounds[0][family].table, counted((1,), family) + noises[1][family])
    assert talk.party(1).accountant.releases[0].seen["other_party"].epsilon == 0.5


def test_sum_out_is_the_marginal() -> None:
    table = np.arange(12).reshape(2, 3, 2)
    assert np.array_equal(
        sum_out(table, family=("c", "a"), source=("a", "b", "c")), table.sum(axis=1).T
    )
    assert np.array_equal(sum_out(table, family=("a", "b", "c"), source=("a", "b", "c")), table)


def test_slots_have_room_for_the_noise_of_a_larger_frontier(converse: Converse) -> None:
    """Noise that is handed over has the scale of the round in which it was drawn.

    Here that is 40 times the scale of the next round.
    """
    names = [f"x{i}" for i in range(40)]
    schema = read_schema({name: ["0", "1"] for name in names})
    table = pd.DataFrame(dict.fromkeys(names, ["0"] * 10))
    families: list[tuple[str, ...]] = [(name,) for name in names]
    for seed in range(8):
        _, rounds, _ = replace(
            converse,
            [families, families[:1]],
            epsilon=1.0,
            parties=2,
            tables=[table] * 2,
            schema=schema,
            seed=seed,
        )
        assert rounds[-1]["x0",].contributors == (1, 2)


def test_an_empty_frontier_is_refused(converse: Converse) -> None:
    with pytest.raises(MisuseError, match="at least one family"):
        replace(converse, [[], [], []], epsilon=1.0)


@pytest.mark.parametrize("families", [1, 2, 3])
def test_the_sensitivity_of_a_frontier(families: int) -> None:
    """A replaced record changes two cells of every family; 2 * 2 = 2 + 2 would hide a sum."""
    batch = batch_of(12, families, epsilon=0.5, rows=90, parties=3)
    assert batch.sensitivity == {1: 2, 2: 4, 3: 6}[families]
    assert batch.scale == pytest.approx({1: 4.0, 2: 8.0, 3: 12.0}[families])
    assert (batch.cells, batch.rows, batch.parties, batch.colluding) == (12, 90, 3, 0)


@pytest.mark.parametrize("families", [[("a", "b")], [("a", "b"), ("c",), ("d",)]])
def test_frontiers_of_one_and_of_three_families(
    converse: Converse, families: list[tuple[str, ...]]
) -> None:
    talk, rounds, noises = replace(converse, [families] * 3, epsilon=0.5)
    for family in families:
        entry = rounds[-1][family]
        assert np.array_equal(entry.table, counted((1, 2, 3), family) + noises[3][family])
    for party in (1, 2, 3):
        (release,) = talk.party(party).accountant.releases
        assert release.sensitivity == 2 * len(families)
