"""Roles that seal their edges: what travels there, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sottovoce.crypto import Channel
from sottovoce.curator import Curator
from sottovoce.messages import MessageError, MisuseError, message
from sottovoce.parties import Party

Converse = Callable[..., Any]


@message
class Secret:
    text: str


def channels(me: Party) -> Channel:
    return Channel(b"s" * 96, b"t" * 32, first=me.number == 1)


def nobody(desk: Curator) -> None: ...


def test_a_sealed_message_is_unreadable_and_counted_with_its_seal(converse: Converse) -> None:
    def party(me: Party) -> str | None:
        with me.phase("talk"):
            me.seal(3 - me.number, channels(me))
            if me.number == 1:
                me.send(Secret("hush"), to=2)
                return None
            return me.receive(Secret, source=1).text

    talk = converse(party, nobody, parties=2, kinds=(Secret,))
    assert talk.results[2] == "hush"
    (frame,) = talk.heard
    assert b"hush" not in frame.payload
    (act,) = talk.roles[1].acts
    assert (act.payload, act.ciphertext) == (12 + 16, 0)
    assert talk.roles[1].sealed == {2}


@pytest.mark.parametrize("attack", ["unsealed", "changed", "replayed", "swapped"])
def test_a_message_without_its_own_seal_is_refused(converse: Converse, attack: str) -> None:
    def party(me: Party) -> None:
        with me.phase("talk"):
            if me.number == 1:
                channel = channels(me)
                if attack != "unsealed":
                    me.seal(2, MeddlingSeal(channel, attack))
                me.send(Secret("one"), to=2)
                me.send(Secret("two"), to=2)
            else:
                me.seal(1, channels(me))
                me.receive(Secret, source=1)
                me.receive(Secret, source=1)

    with pytest.raises(
        MessageError,
        match="malformed Secret from party 1: it was not sealed by this peer as this message",
    ):
        converse(party, nobody, parties=2, kinds=(Secret,))


class MeddlingSeal:
    """A man in the middle, who repeats, swaps or changes sealed messages."""

    def __init__(self, channel: Channel, attack: str) -> None:
        self._channel = channel
        self._attack = attack
        self._first = b""

    def sealed_size(self, size: int) -> int:
        return self._channel.sealed_size(size)

    def seal(self, payload: bytes | memoryview, *, header: bytes, number: int) -> bytes:
        if self._attack == "swapped":
            return self._channel.seal(payload, header=header, number=number + 1)
        sealed = self._channel.seal(payload, header=header, number=number)
        if self._attack == "changed":
            return bytes([sealed[0] ^ 1]) + sealed[1:]
        self._first = self._first or sealed
        return self._first

    def open(self, sealed: memoryview, *, header: bytes, number: int) -> memoryview:
        return self._channel.open(sealed, header=header, number=number)


def test_an_edge_is_sealed_once(converse: Converse) -> None:
    def party(me: Party) -> None:
        if me.number == 1:
            me.seal(2, channels(me))
            me.seal(2, channels(me))

    with pytest.raises(MisuseError, match="expected to seal the edge to party 2 once"):
        converse(party, nobody, parties=2, kinds=(Secret,))
