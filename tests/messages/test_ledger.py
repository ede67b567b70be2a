"""The ledger: sent equals received, and rounds are the longest chain."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.messages import Act, LedgerError, communication, reconcile, totals


class Notes:
    """The acts of all roles, written down as messages pass."""

    def __init__(self, size: int) -> None:
        self.acts: list[list[Act]] = [[] for _ in range(size)]
        self.sequence: dict[tuple[int, int], int] = {}

    def send(self, source: int, to: int, **more: Any) -> int:
        sequence = self.sequence.get((source, to), 0)
        self.sequence[source, to] = sequence + 1
        self.acts[source].append(self.act(True, to, sequence, **more))
        return sequence

    def receive(self, source: int, to: int, sequence: int, **more: Any) -> None:
        self.acts[to].append(self.act(False, source, sequence, **more))

    def exchange(self, source: int, to: int) -> None:
        self.receive(source, to, self.send(source, to))

    @staticmethod
    def act(sent: bool, peer: int, sequence: int, **more: Any) -> Act:
        defaults = {
            "phase": "p",
            "step": 1,
            "kind": "Word",
            "payload": 8,
            "frame": 72,
            "ciphertext": 0,
            "user_bits": 0,
            "began": 0.0,
            "ready": 0.0,
            "seconds": 0.0,
        }
        return Act(sent, peer, sequence, **{**defaults, **more})


def test_rounds_of_small_examples() -> None:
    gather = Notes(4)
    for party in (1, 2, 3):
        gather.exchange(party, 0)
    assert [entry.round for entry in reconcile(gather.acts)] == [1, 1, 1]

    ring = Notes(4)
    for source, to in ((1, 2), (2, 3), (3, 0), (0, 1)):
        ring.exchange(source, to)
    assert [entry.round for entry in reconcile(ring.acts)] == [1, 2, 3, 4]

    # Two messages in a row do not depend on each other; the answer to both depends on both.
    burst = Notes(2)
    burst.exchange(1, 0)
    burst.exchange(1, 0)
    burst.exchange(0, 1)
    assert [entry.round for entry in reconcile(burst.acts)] == [1, 1, 2]

    # A message sent before anything was received depends on nothing, even if it arrives later.
    crossing = Notes(2)
    first = crossing.send(0, 1)
    second = crossing.send(1, 0)
    crossing.receive(0, 1, first)
    crossing.receive(1, 0, second)
    assert [entry.round for entry in reconcile(crossing.acts)] == [1, 1]


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda edge: edge[0] != edge[1]),
        max_size=40,
    )
)
def test_rounds_are_the_longest_chain(edges: list[tuple[int, int]]) -> None:
    """Brute force over all pairs gives the same, when every message is received at once."""
    notes = Notes(5)
    for source, to in edges:
        notes.exchange(source, to)
    longest = [1] * len(edges)
    for later, (source, _) in enumerate(edges):
        before = [longest[earlier] for earlier in range(later) if edges[earlier][1] == source]
        longest[later] = 1 + max(before, default=0)
    entries = reconcile(notes.acts)
    assert sorted(entry.round for entry in entries) == sorted(longest)
    assert totals(entries).as_dict() == {
        "messages": len(edges),
        "payload_bytes": 8 * len(edges),
        "frame_bytes": 72 * len(edges),
        "ciphertext_bytes": 0,
        "user_bits": 0,
    }
    sums = communication(entries)
    assert sum(edge["messages"] for edge in sums["by_edge"].values()) == len(edges)
    assert sums["rounds"] == max(longest, default=0)


def test_a_message_that_was_not_received_is_an_error() -> None:
    notes = Notes(3)
    notes.send(2, 0)
    with pytest.raises(
        LedgerError, match="Word from party 2 to the curator in phase p was never received"
    ):
        reconcile(notes.acts)


def test_a_message_that_was_not_sent_is_an_error() -> None:
    notes = Notes(3)
    notes.receive(1, 2, 0)
    with pytest.raises(LedgerError, match="Word from party 1 to party 2 in phase p was never sent"):
        reconcile(notes.acts)


@pytest.mark.parametrize("other", [{"kind": "Song"}, {"frame": 73}, {"payload": 9}, {"phase": "q"}])
def test_both_ends_must_agree(other: dict[str, Any]) -> None:
    notes = Notes(2)
    notes.receive(0, 1, notes.send(0, 1), **other)
    with pytest.raises(
        LedgerError, match="the curator sent Word of 72 bytes in phase p, party 1 received"
    ):
        reconcile(notes.acts)
