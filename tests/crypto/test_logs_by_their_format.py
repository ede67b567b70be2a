"""Logs, read by a second implementation of their format, and by a list of what was added."""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sottovoce.crypto.log_contents import LogContents
from sottovoce.crypto.log_format import RecordKind
from sottovoce.crypto.role_log import RoleLog
from sottovoce.messages.wire import LOST

KEY = b"k" * 32
KINDS = {
    "header": 0,
    "sent": 1,
    "arrived": 2,
    "random": 3,
    "attempt": 4,
    "restart": 5,
    "peers": 6,
    "lost": 7,
    "ahead": 8,
    "left ahead": 9,
    "released": 10,
}
"""As logs of version 2 have them on disks."""


def code(*pieces: bytes) -> bytes:
    return hmac.digest(KEY, b"".join(pieces), "sha256")


def gmac(key: bytes, content: bytes) -> bytes:
    return AESGCM(key).encrypt(bytes(12), b"", content)


def records(path: Path) -> list[tuple[int, int, bytes, bytes]]:
    """Read kind, peer, content and random bytes of each record, and check its codes."""
    data = path.read_bytes()
    chain, place = b"sottovoce log 2\n", 16
    assert data[:place] == chain
    listed = []
    while place < len(data):
        head, first = data[place : place + 32], data[place + 32 : place + 48]
        kind, zero, peer, none, length = struct.unpack("<BBHIQ", head[:16])
        assert zero == none == 0
        content = data[place + 48 : place + 48 + length]
        second = data[place + 48 + length : place + 64 + length]
        assert first == code(b"head", chain, head)[:16]
        assert second == gmac(code(b"content", chain, head), content)
        chain, place = first + second, place + 64 + length
        listed.append((kind, peer, content, head[16:]))
    return listed


def test_a_log_has_its_format(tmp_path: Path) -> None:
    """Each of the 16 random bytes of a record is drawn, and kinds have the numbers of version 2."""
    log = RoleLog.create(tmp_path / "log", key=KEY, header=b"whose")
    log.begin(str)
    for number in range(60):
        log.append(RecordKind.ARRIVED, [b"abc"[:1], b"abc"[1:] * number], peer=number * 1000)
    log.note_loss(9, before=4, order=2)
    log.note_restart()
    log.note_peers([3, 2**40])
    log.append(RecordKind.SENT, [log.digest([b"a", b"b"], 7, to=258)], peer=258)
    log.close()
    found = records(tmp_path / "log")
    assert [record[0] for record in found] == [0, 4, *[2] * 60, 7, 5, 6, 1]
    assert found[0][2] == b"whose"
    assert [record[1:3] for record in found[2:62]] == [
        (number * 1000, b"a" + b"bc" * number) for number in range(60)
    ]
    assert found[62][1:3] == (9, struct.pack("<QQ", 4, 2))
    assert found[64][2] == struct.pack("<QQ", 3, 2**40)
    assert found[65][2] == gmac(code(b"frame", struct.pack("<HQ", 258, 7)), b"ab")
    drawn = np.array([[*record[3]] for record in found])
    assert all(len(set(column.tolist())) > 10 for column in drawn.T)
    assert {kind.name.lower().replace("_", " "): int(kind) for kind in RecordKind} == KINDS


@pytest.mark.parametrize("seed", range(25))
def test_what_a_log_says_is_what_was_added(seed: int, tmp_path: Path) -> None:
    """Random histories of three peers; the referee lists what was added, kind by kind."""
    generator = np.random.default_rng(seed)
    log = RoleLog.create(tmp_path / "log", key=KEY, header=b"whose")
    arrivals: list[tuple[int, bytes]] = []
    losses: list[tuple[int, int, int]] = []
    randoms: list[bytes] = []
    sent: dict[int, list[bytes]] = {1: [], 2: [], 3: []}
    ahead: dict[int, list[bytes]] = {1: [], 2: [], 3: []}
    counted: Counter[tuple[str, int]] = Counter()
    phases, restarts, peers, released, records_made = [], 0, {}, False, 1
    digests = {peer: hashlib.sha256() for peer in (1, 2, 3)}
    for _ in range(int(generator.integers(0, 40))):
        kind = str(generator.choice([*KINDS][1:]))
        peer, frame = int(generator.integers(1, 4)), generator.bytes(int(generator.integers(0, 9)))
        if kind in ("restart", "peers", "released"):
            records_made -= 1  # neither a message nor randomness
        records_made += 1
        match kind:
            case "sent":
                sent[peer].append(log.digest([frame], len(sent[peer]), to=peer))
                log.append(RecordKind.SENT, [sent[peer][-1]], peer=peer)
            case "arrived":
                log.append(RecordKind.ARRIVED, [frame[:2], frame[2:]], peer=peer)
                arrivals.append((peer, frame))
                counted[kind, peer] += 1
                digests[peer].update(len(frame).to_bytes(8, "little") + frame)
            case "random":
                log.append(RecordKind.RANDOM, [frame])
                randoms.append(frame)
            case "attempt":
                log.append(RecordKind.ATTEMPT, [b"sum"])
                phases.append("sum")
            case "restart":
                log.note_restart()
                restarts += 1
            case "peers":
                peers = dict(enumerate(generator.integers(0, 2**40, 4).tolist()))
                log.note_peers([*peers.values()])
            case "lost":
                losses.append((len(arrivals), len(losses), peer))
                log.note_loss(peer, before=len(arrivals), order=len(losses) - 1)
            case "ahead":
                log.append(RecordKind.AHEAD, [frame], peer=peer)
                arrivals.append((peer, frame))
                counted[kind, peer] += 1
            case "left ahead":
                log.append(RecordKind.LEFT_AHEAD, [frame], peer=peer)
                ahead[peer].append(frame)
            case "released":
                log.append(RecordKind.RELEASED, [])
                released = True
    assert log.records == records_made
    log.close()
    again = LogContents(tmp_path / "log", key=KEY)
    assert again.read_records() == (tmp_path / "log").stat().st_size
    assert again.records == records_made
    assert again.header == b"whose"
    assert (again.restarts, again.peer_restarts) == (restarts, peers)
    assert again.attempts == phases
    assert again.has_released == released
    for name, counts in (("arrived", again.arrived), ("ahead", again.arrived_ahead)):
        assert {peer: n for peer, n in counts.items() if n} == {
            peer: n for (kind, peer), n in counted.items() if kind == name
        }
    assert again.frames == len(arrivals)
    assert again.losses == len(losses)
    assert again.lost == {peer for *_, peer in losses}
    assert {peer: list(map(bytes, again.left_ahead(to=peer))) for peer in ahead} == ahead
    for peer, made in sent.items():
        found = [again.digest_of_sent(number, to=peer) for number in range(len(made) + 2)]
        assert found == [*made, None, None]
    arrived = again.digests_of_arrived()
    assert arrived == {
        peer: digest.digest() for peer, digest in digests.items() if counted["arrived", peer]
    }
    drawn = iter(again.next_random, None)
    assert list(drawn) == randoms
    # A loss stands where as many frames had arrived as its record says.
    expected: list[tuple[int, bytes | None]] = []
    for place in range(len(arrivals) + 1):
        expected += [(peer, None) for before, _, peer in losses if before == place]
        expected += arrivals[place : place + 1]
    read = [
        (peer, None if frame is LOST else bytes(frame))
        for peer, frame in iter(again.next_arrival, None)
    ]
    assert read == expected
