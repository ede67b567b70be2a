"""A peer that follows the protocol but for one field of one message, which its receiver refuses.

Most messages of secure sums and of noise replacement are tried, field by field, in runs that end
well without the change. Those of keys, of introductions and of going on are tried elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from sottovoce.curator import Curator
from sottovoce.messages import CURATOR, BigInts, MessageError, SottovoceError
from sottovoce.messages.edges import Edges
from sottovoce.parties import Party, read_schema
from sottovoce.protocols.introductions import introduce
from sottovoce.protocols.noise_replacement import CuratorReplacement, PartyReplacement
from sottovoce.protocols.secure_sum import CuratorSums, PartySums, SumBatch, SumOptions
from sottovoce.protocols.secure_sum.graph import Circle
from sottovoce.protocols.secure_sum.keys import KeyedParty, KeyHolder
from sottovoce.protocols.secure_sum.lasting_curator import LastingCurator
from sottovoce.runs.job import Job
from sottovoce.runs.settings import settings
from sottovoce.runs.threads import run_on_threads

Change = Callable[[Any], Any]


def one_more(value: Any) -> Any:
    return value + 1


def one_less(value: Any) -> Any:
    return value - 1


def longer(value: Any) -> Any:
    return np.append(value, value[:1])


def shorter(value: Any) -> Any:
    return value[:-1]


def other_bytes(value: Any) -> Any:
    return bytes([value[0] ^ 1]) + value[1:]


def fewer(value: BigInts) -> BigInts:
    return BigInts(value.width, bytes(value.data)[: -value.width])


def no_ciphertext(value: BigInts) -> BigInts:
    """0 is none."""
    return BigInts(value.width, bytes(len(value.data)))


def other_ciphertext(value: BigInts) -> BigInts:
    """Nobody knows what it decrypts to."""
    return BigInts(value.width, other_bytes(bytes(value.data)))


class Lie(NamedTuple):
    """One changed field, and what its receiver says."""

    sender: int
    kind: str
    field: str
    change: Change
    words: str


@contextmanager
def telling(lie: Lie, *, between_parties: bool = False) -> Iterator[list[object]]:
    """Change a field of all messages of a kind from this sender, and list those that it changed."""
    plain, changed = Edges.send, []

    def send(self: Edges, message: Any, *, to: int, more: bool = False, payload: Any = None) -> Any:
        is_meant = (self._rank, type(message).__name__) == (lie.sender, lie.kind)
        if not is_meant or (lie.sender != CURATOR and (to != CURATOR) != between_parties):
            return plain(self, message, to=to, more=more, payload=payload)
        false = replace(message, **{lie.field: lie.change(getattr(message, lie.field))})
        changed.append(false)
        plain(self, false, to=to, more=more)
        return payload  # nobody else gets the false one

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Edges, "send", send)
        yield changed


def add_up(converse: Any, *, aggregator: Any, noise: Any) -> list[np.ndarray]:
    """Add three parties' tables up in two batches, almost without noise."""
    options = SumOptions(aggregator=aggregator)
    batch = SumBatch(cells=5, sensitivity=2, epsilon=200.0)

    def party(me: Party) -> None:
        with me.phase("keys"):
            sums = PartySums(me, options, noise=noise)
        for _ in range(2):
            with me.phase("count"):
                sums.contribute([np.arange(5)], batch)

    def curator(desk: Curator) -> Any:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options, noise=noise)
        with desk.phase("count"):
            first = sums.total(batch)
        with desk.phase("count"):
            return [first, sums.total(batch)]

    return list(converse(party, curator).results[CURATOR])


PAGE = "page 0 of batch 0"
RECEIVED = "that party 2 has received"
RING = "expected batch, page and slot width"
SUMS: dict[tuple[str, str], list[Lie]] = {
    ("paillier", "shares"): [
        Lie(2, "Agreement", "batch", one_more, RECEIVED),
        Lie(2, "Agreement", "digest", other_bytes, RECEIVED),
        Lie(2, "Encrypted", "batch", one_more, PAGE),
        Lie(2, "Encrypted", "page", one_more, PAGE),
        Lie(2, "Encrypted", "width", one_more, "expected a slot width"),
        Lie(2, "Encrypted", "width", one_less, "expected a slot width"),
        Lie(2, "Encrypted", "cells", fewer, "expected 1 ciphertexts of"),
        Lie(2, "Encrypted", "cells", no_ciphertext, "a common divisor with n"),
        Lie(2, "Encrypted", "cells", other_ciphertext, "masks do not cancel"),
        Lie(2, "Rows", "rows", one_more, "tells all parties the number of rows"),
    ],
    ("masks", "shares"): [
        Lie(2, "Agreement", "batch", one_more, RECEIVED),
        Lie(2, "Masked", "batch", one_more, PAGE),
        Lie(2, "Masked", "page", one_more, PAGE),
        Lie(2, "Masked", "cells", longer, "bytes on a page of 5 cells"),
        Lie(2, "Masked", "cells", shorter, "bytes on a page of 5 cells"),
        Lie(2, "Masked", "cells", one_more, "masks that cancel"),
    ],
    ("clear", "shares"): [
        Lie(2, "Unprotected", "batch", one_more, PAGE),
        Lie(2, "Unprotected", "page", one_more, PAGE),
        Lie(2, "Unprotected", "cells", longer, PAGE),
        Lie(2, "Unprotected", "cells", shorter, PAGE),
    ],
    ("paillier", "selected"): [
        Lie(CURATOR, "Indicator", "batch", one_more, "expected the indicator of batch 0"),
        Lie(CURATOR, "Indicator", "encrypted", fewer, "from the curator"),
        Lie(CURATOR, "Indicator", "encrypted", no_ciphertext, "from the curator"),
        Lie(3, "Product", "batch", one_more, RING),
        Lie(3, "Product", "page", one_more, RING),
        Lie(3, "Product", "width", one_more, RING),
        Lie(3, "Product", "cells", fewer, "from party 3"),
        Lie(3, "Product", "cells", no_ciphertext, "from party 3"),
        Lie(3, "Product", "cells", other_ciphertext, "a party's counts exceed its rows"),
    ],
}
CASES = [(*options, lie) for options, lies in SUMS.items() for lie in lies]


def name(value: object) -> str | None:
    if isinstance(value, Lie):
        return f"{value.kind}.{value.field} {value.change.__name__}"
    return None


@pytest.mark.parametrize(("aggregator", "noise"), SUMS)
def test_without_a_lie_the_sums_are_read(converse: Any, aggregator: str, noise: str) -> None:
    for total in add_up(converse, aggregator=aggregator, noise=noise):
        assert np.abs(total - 3 * np.arange(5)).max() <= 2  # less likely than 1e-40


@pytest.mark.parametrize(("aggregator", "noise", "lie"), CASES, ids=name)
def test_a_changed_field_is_refused(converse: Any, aggregator: str, noise: str, lie: Lie) -> None:
    with telling(lie) as changed, pytest.raises(MessageError, match=lie.words):
        add_up(converse, aggregator=aggregator, noise=noise)
    assert changed


@pytest.mark.parametrize(
    ("aggregator", "noise", "lie"),
    [
        ("paillier", "shares", Lie(2, "Agreement", "digest", other_bytes, RECEIVED)),
        ("masks", "shares", Lie(2, "Agreement", "batch", one_more, RECEIVED)),
        ("paillier", "selected", Lie(1, "Product", "batch", one_less, f"{RING}.*from party 1")),
        ("paillier", "selected", Lie(2, "Product", "width", one_less, f"{RING}.*from party 2")),
    ],
    ids=name,
)
def test_a_party_refuses_what_another_party_changed(
    converse: Any, aggregator: str, noise: str, lie: Lie
) -> None:
    with telling(lie, between_parties=True) as changed:  # noqa: SIM117
        with pytest.raises(MessageError, match=lie.words):
            add_up(converse, aggregator=aggregator, noise=noise)
    assert changed


# ---- noise replacement


def replace_noise(converse: Any) -> list[np.ndarray]:
    """Count a table in turn, almost without noise; the running sums are returned."""
    family = ("a",)
    schema = read_schema({"a": ["0", "1", "2"]})
    tables = [pd.DataFrame({"a": ["0", "1", "2", "2"] * number}) for number in (1, 2, 3)]

    def party(me: Party) -> None:
        with me.phase("keys"):
            introduce(me, others=me.others)
            part = PartyReplacement(KeyedParty(me, exponent="half"), domain=me.records.domain)
        with me.phase("update"):
            for turn in me.parties:
                part.round(turn, count=me.records.marginal, epsilon=200.0)

    def curator(desk: Curator) -> list[np.ndarray]:
        with desk.phase("keys"):
            introduce(desk, others=desk.others)
            part = CuratorReplacement(KeyHolder(desk), domain=desk.domain, rows=24)
        sums = []
        with desk.phase("update"):
            for turn in desk.parties:
                part.round(turn, [family], epsilon=200.0)
                sums.append(np.array(part.sums[family].table))
        return sums

    talk = converse(party, curator, tables=tables, schema=schema)
    return list(talk.results[CURATOR])


def test_without_a_lie_noise_is_replaced(converse: Any) -> None:
    for counted, found in zip((1, 3, 6), replace_noise(converse), strict=True):
        assert np.abs(found - counted * np.array([1, 1, 2])).max() <= 1


@pytest.mark.parametrize(
    ("lie", "between_parties"),
    [
        (Lie(2, "Replaced", "cells", fewer, "expected 1 ciphertexts of"), False),
        (Lie(2, "Replaced", "cells", no_ciphertext, "a common divisor with n"), False),
        (Lie(2, "Replaced", "cells", other_ciphertext, "counts exceed its rows"), False),
        (Lie(1, "Negated", "cells", fewer, "expected 1 ciphertexts of"), True),
        (Lie(1, "Negated", "cells", no_ciphertext, "a common divisor with n"), True),
        (Lie(1, "Negated", "cells", other_ciphertext, "counts exceed its rows"), True),
    ],
    ids=name,
)
def test_changed_ciphertexts_end_a_replacement(
    converse: Any, lie: Lie, between_parties: bool
) -> None:
    with telling(lie, between_parties=between_parties) as changed:  # noqa: SIM117
        with pytest.raises(MessageError, match=lie.words):
            replace_noise(converse)
    assert changed


# ---- sums that go on without a party


def job(*fault: str) -> Job:
    """Count one attribute among five parties, of whom two must be left."""
    return settings(
        {
            "protocol": "noisy-marginals",
            "parties": 5,
            "rows": 100,
            "seed": 1,
            "fault": [*fault],
            "on_loss": "continue",
            "min_parties": 2,
            "set": {"aggregator": "masks", "noise": "laplace", "marginals": "sex"},
        }
    ).job


def lost_after_their_tables(*parties: int) -> Job:
    """Parties are lost when their tables have left, so that their keys are made of pieces."""
    undisturbed = run_on_threads(job())
    faults = []
    for party in parties:
        sent = [act.kind for act in undisturbed.roles[party].acts if act.sent]
        faults.append(f"party {party} dies after {sent.index('Masked') + 1} messages")
    return job(*faults)


PIECES = "pieces of attempt 0 at batch 0 from party 3"
LASTING = [
    Lie(3, "SealedPieces", "batch", one_more, PIECES),
    Lie(3, "SealedPieces", "attempt", one_more, PIECES),
    Lie(3, "SealedPieces", "pieces", longer, PIECES),
    Lie(3, "SealedPieces", "pieces", shorter, PIECES),
    Lie(3, "Agreement", "batch", one_more, "that party 3 has received"),
    Lie(3, "Agreement", "digest", other_bytes, "that party 3 has received"),
    Lie(3, "Masked", "batch", one_more, f"{PAGE} from party 3"),
    Lie(3, "Masked", "page", one_more, f"{PAGE} from party 3"),
    Lie(3, "OwnKey", "batch", one_more, "its own key of attempt 0 from party 3"),
    Lie(3, "OwnKey", "attempt", one_more, "its own key of attempt 0 from party 3"),
    Lie(3, "OwnKey", "key", shorter, "its own key of attempt 0 from party 3"),
    Lie(3, "OwnKey", "key", other_bytes, "masks that cancel"),
]


@pytest.mark.parametrize("lie", LASTING, ids=name)
def test_a_curator_that_goes_on_refuses_a_changed_field(lie: Lie) -> None:
    with telling(lie) as changed, pytest.raises(SottovoceError, match=lie.words):
        run_on_threads(job())
    assert changed


OPENED = "pieces of keys from party 3"


@pytest.mark.parametrize("lost", [(2,), (2, 4)])
@pytest.mark.parametrize(
    "lie",
    [
        Lie(3, "OpenedPieces", "batch", one_more, OPENED),
        Lie(3, "OpenedPieces", "pieces", longer, OPENED),
        Lie(3, "OpenedPieces", "pieces", shorter, OPENED),
        Lie(3, "OpenedPieces", "pieces", one_more, "masks that cancel"),
    ],
    ids=name,
)
def test_a_curator_refuses_pieces_of_keys_that_are_none(lie: Lie, lost: tuple[int, ...]) -> None:
    """Those of three holders are needed for each key, which are all that live where two do not."""
    lossy = lost_after_their_tables(*lost)
    assert run_on_threads(lossy).outcome.marginals is not None
    words = lie.words.replace(OPENED, f"{len(lost)} {OPENED}")
    with telling(lie) as changed, pytest.raises(SottovoceError, match=words):
        run_on_threads(lossy)
    assert changed


def test_an_attempt_is_read_if_enough_holders_of_each_lost_key_live() -> None:
    """All sets of lost parties of six are tried, and the holders are counted one by one."""
    circle = Circle.of(parties=6, colluding=1, seed=b"")
    unused: Any = None
    batch: Any = SimpleNamespace(colluding=1)
    outcomes = set()
    for size in range(6):
        for lost in combinations(range(1, 7), size):
            desk: Any = SimpleNamespace(parties=range(1, 7), lost=dict.fromkeys(lost, "count"))
            curator = LastingCurator(desk, circle=circle, revealing=unused, terms=unused)
            living = [
                sum(holder not in lost for holder in range(1, 7) if holder != party)
                for party in lost
            ]
            can_open = all(count > 5 / 2 for count in living)
            assert curator._can_open(batch) == can_open, lost
            outcomes.add(can_open)
    assert outcomes == {False, True}
