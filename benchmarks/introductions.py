"""Introductions of all roles to each other: messages, bytes and CPU time for each pair of roles.

python benchmarks/introductions.py [PARTIES ...]

With and without ML-KEM, on threads of this process. The time is that of both ends together, with
all that the layer of messages does. The steps of ML-KEM are measured alone, too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from sottovoce.crypto import IdentifiedRole, RandomStream, RandomTree
from sottovoce.crypto.kem import KemKey, encapsulate
from sottovoce.messages import thread_wires
from sottovoce.protocols.introductions import HANDSHAKE, introduce
from sottovoce.runs.role_threads import play_on_threads

REPEATS = 2000


def main() -> None:
    for parties in [int(word) for word in sys.argv[1:]] or [3, 30, 100]:
        for hybrid in (False, True):
            _introduce_all(parties, hybrid=hybrid)
    stream = RandomStream(None)
    key = KemKey(stream)
    _, ciphertext = encapsulate(key.public)
    _show("ML-KEM-768: key pair", lambda: KemKey(stream))
    _show("ML-KEM-768: encapsulate", lambda: encapsulate(key.public))
    _show("ML-KEM-768: open", lambda: key.open(ciphertext))


def _introduce_all(parties: int, *, hybrid: bool) -> None:
    wires = thread_wires(parties + 1)
    roles = [
        IdentifiedRole(
            wire,
            protocol="introductions",
            kinds=HANDSHAKE,
            randomness=RandomTree(None, role=wire.rank),
            job_digest=bytes(32),
            hybrid=hybrid,
        )
        for wire in wires
    ]

    def play(rank: int) -> None:
        with roles[rank].phase("keys"):
            introduce(roles[rank], others=roles[rank].others)

    started = time.process_time()
    play_on_threads(wires, play)
    seconds = time.process_time() - started
    edges = parties * (parties + 1) // 2
    sent = [act.payload for role in roles for act in role.acts if act.sent]
    name = "X25519 and ML-KEM-768" if hybrid else "X25519"
    sys.stdout.write(
        f"K = {parties:4} {name:<22} {edges:6,} pairs, {len(sent):7,} messages, "
        f"{sum(sent):12,} bytes: {sum(sent) / edges:5,.0f} bytes and "
        f"{1000 * seconds / edges:.2f} ms of CPU a pair\n"
    )


def _show(name: str, act: Callable[[], object]) -> None:
    started = time.process_time()
    for _ in range(REPEATS):
        act()
    seconds = time.process_time() - started
    sys.stdout.write(f"{name:<26} {1000 * seconds / REPEATS:.3f} ms\n")


if __name__ == "__main__":
    main()
