"""An adversary that owns the network: with identities given beforehand it only stops the run.

Each attack meets a secure sum whose roles know each other's identities. Some of them also meet
roles without such identities, where they succeed: the threat model says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import sottovoce
from sottovoce.crypto import Channel, Keypair, RandomStream
from sottovoce.crypto.modulus_proof import prove
from sottovoce.crypto.paillier import new_key
from sottovoce.crypto.sealed import agree
from sottovoce.curator import Curator
from sottovoce.messages import (
    ConversationError,
    MessageError,
    ThreadWire,
    decode,
    thread_wires,
    to_bytes,
)
from sottovoce.messages.frame import FrameKind, Header, pack_header, unpack_header
from sottovoce.parties import Party
from sottovoce.protocols.head_count import HeadCount
from sottovoce.protocols.introductions import Introductions
from sottovoce.protocols.secure_sum import (
    CuratorSums,
    PartySums,
    SecureSums,
    SumBatch,
    SumOptions,
)
from sottovoce.runs import threads
from sottovoce.runs.identities import write_identity

Converse = Callable[..., Any]
Payload = bytes
Meddling = Callable[[Header, Payload], Iterable[tuple[Header, Payload]]]

BATCH = SumBatch(cells=4, sensitivity=2, epsilon=200.0)
PAIRS = {rank: Keypair.new(RandomStream(bytes([rank + 1]) * 32)) for rank in range(4)}
"""Identities that all roles know."""


def network(meddle: Meddling) -> Callable[[int, int, bytes], Iterator[bytes]]:
    """Make a network of a function that meddles with headers and payloads of messages."""

    def handle(sender: int, to: int, frame: bytes) -> Iterator[bytes]:
        taken = unpack_header(memoryview(frame), limit=1 << 40)
        if taken.header.frame_kind != FrameKind.MESSAGE:
            yield frame
            return
        for header, payload in meddle(taken.header, bytes(taken.payload)):
            yield pack_header(header._replace(payload=len(payload))) + payload

    return handle


def add_up(
    converse: Converse,
    meddle: Meddling,
    *,
    known: bool = True,
    aggregator: str = "paillier",
    seed: int | None = 1,
    batches: int = 1,
) -> Any:
    """Sum three parties' tables over a network that meddles."""
    options = SumOptions(aggregator=aggregator)  # type: ignore[arg-type]

    def party(me: Party) -> int:
        with me.phase("keys"):
            sums = PartySums(me, options, noise="shares")
        with me.phase("count"):
            for _ in range(batches):
                sums.contribute([np.full(4, me.rank)], BATCH)
        return sums.rows

    def curator(desk: Curator) -> tuple[int, list[Any]]:
        with desk.phase("keys"):
            sums = CuratorSums(desk, options, noise="shares")
        with desk.phase("count"):
            return sums.rows, [sums.total(BATCH) for _ in range(batches)]

    return converse(
        party, curator, pairs=PAIRS if known else None, network=network(meddle), seed=seed
    )


def honest(header: Header, payload: Payload) -> Iterator[tuple[Header, Payload]]:
    yield header, payload


def flipped(payload: Payload) -> Payload:
    return payload[:-1] + bytes([payload[-1] ^ 1])


@pytest.mark.parametrize("aggregator", ["paillier", "masks"])
def test_an_honest_network_changes_nothing(converse: Converse, aggregator: str) -> None:
    rows, (total,) = add_up(converse, honest, aggregator=aggregator).curator
    assert rows == 60
    assert np.abs(total - 6).max() < 3  # noise of scale 0.01


# ---- attacks that only stop the run


@pytest.mark.parametrize(
    ("kind", "receiver"), [("Rows", 0), ("RowsByParty", 2), ("EncryptionKey", 2)]
)
@pytest.mark.parametrize("change", ["flip", "replace", "cut", "empty"])
def test_a_changed_message_does_not_open(
    converse: Converse, kind: str, receiver: int, change: str
) -> None:
    """Rows may be raised by one, or the curator's modulus replaced by the network's own."""
    own = new_key(256, randomness=RandomStream(b"n" * 32))
    proof = prove(own, context=b"")
    forged = {
        "Rows": to_bytes(SecureSums.Rows(21)),
        "RowsByParty": to_bytes(SecureSums.RowsByParty(np.array([21, 20, 20]))),
        "EncryptionKey": to_bytes(SecureSums.EncryptionKey(own.public.travel(), proof)),
    }[kind]

    def meddle(header: Header, payload: Payload) -> Iterator[tuple[Header, Payload]]:
        if (header.kind, header.receiver) == (kind, receiver):
            payload = {
                "flip": flipped(payload),
                "replace": forged,
                "cut": payload[:-8],
                "empty": b"",
            }[change]
        yield header, payload

    with pytest.raises(
        MessageError,
        match=rf"rank {receiver} .*malformed {kind} from .*: "
        "it was not sealed by this peer as this message",
    ):
        add_up(converse, meddle)


@pytest.mark.parametrize("victim", [0, 1])
def test_nobody_else_is_introduced(converse: Converse, victim: int) -> None:
    """The network introduces itself in another role's place, with an identity of its own."""
    own = Keypair.new(RandomStream(b"n" * 32))

    def meddle(header: Header, payload: Payload) -> Iterator[tuple[Header, Payload]]:
        if header.kind == "Introduction" and header.sender == victim:
            heard = decode(Introductions.Introduction, memoryview(payload))
            payload = to_bytes(
                Introductions.Introduction(own.public, own.public, heard.job, heard.kem)
            )
        yield header, payload

    name = "the curator" if victim == 0 else f"party {victim}"
    with pytest.raises(
        MessageError, match=rf"expected the key \w+\.\.\. of {name}, found {own.public.hex()[:16]}"
    ):
        add_up(converse, meddle)


def test_an_identity_without_its_private_key_opens_nothing(converse: Converse) -> None:
    """The network shows the curator's identity with an ephemeral key of its own."""
    own = Keypair.new(RandomStream(b"n" * 32))

    def meddle(header: Header, payload: Payload) -> Iterator[tuple[Header, Payload]]:
        if header.kind == "Introduction" and header.sender == 0:
            heard = decode(Introductions.Introduction, memoryview(payload))
            payload = to_bytes(
                Introductions.Introduction(heard.identity, own.public, heard.job, heard.kem)
            )
        yield header, payload

    with pytest.raises(MessageError, match="it was not sealed by this peer"):
        add_up(converse, meddle)


def test_a_digest_that_is_changed_on_the_way_stops_the_run(converse: Converse) -> None:
    def meddle(header: Header, payload: Payload) -> Iterator[tuple[Header, Payload]]:
        if header.kind == "Introduction" and (header.sender, header.receiver) == (0, 3):
            heard = decode(Introductions.Introduction, memoryview(payload))
            heard = Introductions.Introduction(heard.identity, heard.ephemeral, b"\1" * 32, b"")
            payload = to_bytes(heard)
        yield header, payload

    with pytest.raises(
        MessageError,
        match=r"expected the job of party 3 .*found that the curator was given another one",
    ):
        add_up(converse, meddle)


def test_digests_that_are_made_alike_do_not_help(converse: Converse) -> None:
    """Party 3 was given another job, and the network hides it: their keys differ all the same."""

    def meddle(header: Header, payload: Payload) -> Iterator[tuple[Header, Payload]]:
        if header.kind == "Introduction":
            heard = decode(Introductions.Introduction, memoryview(payload))
            digest = b"\3" * 32 if header.receiver == 3 else bytes(32)
            heard = Introductions.Introduction(heard.identity, heard.ephemeral, digest, b"")
            payload = to_bytes(heard)
        yield header, payload

    options = SumOptions(aggregator="masks")

    def party(me: Party) -> None:
        with me.phase("keys"):
            PartySums(me, options, noise="shares")

    def curator(desk: Curator) -> None:
        with desk.phase("keys"):
            CuratorSums(desk, options, noise="shares")

    with pytest.raises(MessageError, match=r"malformed Rows from .*not sealed by this peer"):
        converse(
            party,
            curator,
            pairs=PAIRS,
            digests={3: b"\3" * 32},
            network=network(meddle),
        )


@pytest.mark.parametrize("kinds", [{"Rows"}, {"Introduction", "Rows"}, {"Masked"}])
def test_frames_of_an_earlier_run_do_not_open(converse: Converse, kinds: set[str]) -> None:
    """The same roles, identities and job; all that differs is each role's ephemeral key."""
    earlier: dict[tuple[str, int, int, int], Payload] = {}

    def record(header: Header, payload: Payload) -> Iterator[tuple[Header, Payload]]:
        earlier[header.kind, header.sender, header.receiver, header.sequence] = payload
        yield header, payload

    def repeat(header: Header, payload: Payload) -> Iterator[tuple[Header, Payload]]:
        if header.kind in kinds and header.sender == 1:
            place = header.kind, header.sender, header.receiver, header.sequence
            payload = earlier[place]
        yield header, payload

    add_up(converse, record, aggregator="masks", seed=None)
    with pytest.raises(MessageError, match=r"malformed \w+ from .*not sealed by this peer"):
        add_up(converse, repeat, aggregator="masks", seed=None)


def test_a_frame_that_is_repeated_stops_the_run(converse: Converse) -> None:
    def twice(header: Header, payload: Payload) -> Iterator[tuple[Header, Payload]]:
        yield header, payload
        if header.kind == "Rows" and header.sender == 1:
            yield header, payload

    with pytest.raises(ConversationError, match=r"a replayed message|nothing more from"):
        add_up(converse, twice)

    batches: list[Payload] = []

    def repeated(header: Header, payload: Payload) -> Iterator[tuple[Header, Payload]]:
        """Party 1's first batch arrives a second time, under the number of the second."""
        if header.kind == "Masked" and header.sender == 1:
            batches.append(payload)
            payload = batches[0]
        yield header, payload

    with pytest.raises(MessageError, match=r"malformed Masked from party 1: it was not sealed"):
        add_up(converse, repeated, aggregator="masks", batches=2)


def test_reflected_frames_do_not_open(converse: Converse) -> None:
    """What party 1 sends to the curator comes back as if the curator had sent it."""
    sent: list[Payload] = []

    def meddle(header: Header, payload: Payload) -> Iterator[tuple[Header, Payload]]:
        if (header.kind, header.sender) == ("Rows", 1):
            sent.append(payload)
        if (header.kind, header.receiver) == ("RowsByParty", 1):
            payload = sent[0]
        yield header, payload

    with pytest.raises(MessageError, match=r"malformed RowsByParty from the curator: it was not"):
        add_up(converse, meddle)


def test_a_reflected_introduction_is_refused(converse: Converse) -> None:
    first: dict[int, Payload] = {}

    def meddle(header: Header, payload: Payload) -> Iterator[tuple[Header, Payload]]:
        if header.kind == "Introduction":
            first.setdefault(header.sender, payload)
            if header.receiver in first:
                payload = first[header.receiver]
        yield header, payload

    with pytest.raises(MessageError, match=r"expected the key \w+\.\.\. of "):
        add_up(converse, meddle)
    first.clear()
    with pytest.raises(MessageError, match="they were sent back"):
        add_up(converse, meddle, known=False)


# ---- a network that speaks for everybody


class Impostor:
    """A network that has a channel of its own to each end of every edge.

    It answers introductions with keys of its own, opens what it gets, reads it, and seals it again.
    """

    def __init__(self) -> None:
        self.own = Keypair.new(RandomStream(b"n" * 32))
        self.channels: dict[tuple[int, int], Channel] = {}
        self.read: list[tuple[Header, Payload]] = []

    def __call__(self, header: Header, payload: Payload) -> Iterator[tuple[Header, Payload]]:
        sender, receiver = header.sender, header.receiver
        if header.kind == "Introduction":
            heard = decode(Introductions.Introduction, memoryview(payload))
            self.channels[sender, receiver] = agree(
                rank=receiver,
                identity=self.own,
                ephemeral=self.own,
                peer=sender,
                peer_identity=heard.identity,
                peer_ephemeral=heard.ephemeral,
                context=header.protocol,
                job_digest=heard.job,
            )
            payload = to_bytes(
                Introductions.Introduction(self.own.public, self.own.public, heard.job, b"")
            )
        else:
            packed, number = pack_header(header), header.sequence
            plain = bytes(
                self.channels[sender, receiver].open(
                    memoryview(payload), header=packed, number=number
                )
            )
            self.read.append((header, plain))
            payload = self.channels[receiver, sender].seal(plain, header=packed, number=number)
        yield header, payload


def test_without_identities_a_network_reads_everything(converse: Converse) -> None:
    """The roles notice nothing. What the network reads it could change as well."""
    impostor = Impostor()
    talk = add_up(converse, impostor, known=False, batches=0)
    assert talk.curator == (60, [])
    sent = [heard for heard in talk.heard if heard.kind != "Introduction"]
    assert len(impostor.read) == len(sent)
    rows = [
        decode(SecureSums.Rows, memoryview(payload)).rows
        for header, payload in impostor.read
        if header.kind == "Rows"
    ]
    assert rows == [20] * 3


@pytest.mark.parametrize("aggregator", ["paillier", "masks"])
def test_with_identities_it_reads_nothing(converse: Converse, aggregator: str) -> None:
    impostor = Impostor()
    with pytest.raises(
        MessageError, match=r"expected the key \w+\.\.\. of (the curator|party \d), found .*a wrong"
    ):
        add_up(converse, impostor, aggregator=aggregator)
    assert impostor.read == []


# ---- whole runs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for rank in range(4):
        write_identity(tmp_path, rank=rank)
    return tmp_path


def run_over(
    patch: pytest.MonkeyPatch,
    handle: Callable[[int, int, bytes], Iterable[bytes]],
    **options: Any,
) -> sottovoce.Run:
    """Run head-count over a network that meddles."""

    def wires(size: int) -> list[ThreadWire]:
        made = thread_wires(size)
        for wire in made:
            intercept(wire, handle)
        return made

    patch.setattr(threads, "thread_wires", wires)
    return sottovoce.run("head-count", rows=60, judge=False, seed=1, **options)


def intercept(wire: Any, handle: Callable[[int, int, bytes], Iterable[bytes]]) -> None:
    send = wire.send

    def handled(parts: Any, *, to: int, timeout: float, **_more: bool) -> None:
        for frame in handle(wire.rank, to, b"".join(parts)):
            send([frame], to=to, timeout=timeout)

    wire.send = handled


ONE, TENTH = msgspec.msgpack.encode(1.0), msgspec.msgpack.encode(0.1)
pass_on = network(honest)


@network
def forge_counts(header: Header, payload: Payload) -> Iterator[tuple[Header, Payload]]:
    if header.kind == "NoisyCount" and header.sender == 2:
        payload = to_bytes(HeadCount.NoisyCount(1_000_000))
    yield header, payload


def test_head_count_takes_a_forged_count_only_without_identities(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forged = run_over(monkeypatch, forge_counts)
    assert forged.report["outcome"]["count"] > 900_000
    with pytest.raises(MessageError, match=r"malformed NoisyCount from party 2: it was not sealed"):
        run_over(monkeypatch, forge_counts, identities=folder)


def test_notes_for_the_report_are_sealed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network writes another privacy loss into a party's notes."""

    def forge(sender: int, to: int, frame: bytes) -> Iterator[bytes]:
        taken = unpack_header(memoryview(frame), limit=1 << 40)
        if taken.header.frame_kind == FrameKind.MINUTES and sender == 3:
            payload = bytes(taken.payload).replace(ONE, TENTH)
            frame = pack_header(taken.header) + payload
        yield frame

    forged = run_over(monkeypatch, forge)
    losses = forged.report["privacy"]["by_party"]
    assert (losses["2"]["curator"], losses["3"]["curator"]) == (1.0, 0.1)
    # Sealed notes do not show where the number is.
    assert (
        run_over(monkeypatch, forge, identities=folder).report["privacy"]["by_party"]
        == (run_over(monkeypatch, pass_on, identities=folder).report["privacy"]["by_party"])
    )

    def flip(sender: int, to: int, frame: bytes) -> Iterator[bytes]:
        taken = unpack_header(memoryview(frame), limit=1 << 40)
        is_notes = taken.header.frame_kind == FrameKind.MINUTES and sender == 3
        yield flipped(frame) if is_notes else frame

    with pytest.raises(MessageError, match="malformed closing frame from party 3"):
        run_over(monkeypatch, flip, identities=folder)
