"""Whether parties are introduced before a protocol begins follows from the messages it uses."""

from __future__ import annotations

from typing import ClassVar

import pytest

from sottovoce import Curator, Options, Outcome, Party, Protocol
from sottovoce.protocols.secure_sum import SecureSums


class Words:
    """Messages of a protocol that introduces nobody."""


@pytest.mark.parametrize(
    ("used", "is_first"),
    [((), True), ((Words,), True), ((Words, SecureSums), False), ((SecureSums,), False)],
)
def test_parties_are_introduced_before_unless_the_protocol_does_it(
    used: tuple[type, ...], is_first: bool
) -> None:
    """A protocol without a call of `introduce` would have messages between strangers."""

    class Mine(Protocol[Options]):
        name = "mine"
        neighbours = "replace-one"
        uses: ClassVar[tuple[type, ...]] = used

        def party(self, me: Party) -> None: ...

        def curator(self, desk: Curator) -> Outcome:
            raise NotImplementedError

    assert Mine(Options(), mode="rigorous").parties_talk == is_first
