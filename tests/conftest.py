"""What tests share: which MPIs there are, and a conversation of functions on threads with a tap on the wire."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pytest

from sottovoce.crypto import RandomTree
from sottovoce.curator import Curator
from sottovoce.messages import PeerFailedError, Role, thread_wires
from sottovoce.messages.frame import unpack_header
from sottovoce.messages.wire import Buffer
from sottovoce.parties import Party, Records, Schema
from sottovoce.privacy import Accountant
from sottovoce.privacy.accountant import Neighbours
from sottovoce.protocols.noise_replacement import NoiseReplacement

MPICH = os.environ.get("SOTTOVOCE_MPICH", "")
"""The folder of a second environment, with MPICH (`make mpich` makes it)."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what asks for `mpi_python` once under each MPI."""
    if "mpi_python" in metafunc.fixturenames:
        skip = pytest.mark.skipif(not MPICH, reason="SOTTOVOCE_MPICH names no second environment")
        pythons = [
            pytest.param(sys.executable, id="openmpi", marks=pytest.mark.mpi),
            pytest.param(f"{MPICH}/bin/python", id="mpich", marks=[pytest.mark.mpi, skip]),
        ]
        metafunc.parametrize("mpi_python", pythons, scope="session")


@dataclass
class Heard:
    """A frame on the wire."""

    sender: int
    to: int
    kind: str
    payload: bytes


@dataclass
class Talk:
    """What came of a conversation: what each role returned, released, and what went over the wire."""

    results: dict[int, Any] = field(default_factory=dict)
    roles: dict[int, Role] = field(default_factory=dict)
    heard: list[Heard] = field(default_factory=list)

    @property
    def curator(self) -> Any:
        return self.results[0]

    def party(self, number: int) -> Party:
        role = self.roles[number]
        assert isinstance(role, Party)
        return role


Converse = Callable[..., Talk]


@pytest.fixture
def converse() -> Converse:
    return _converse


def _converse(
    party: Callable[[Party], Any],
    curator: Callable[[Curator], Any],
    *,
    parties: int = 3,
    tables: Sequence[pd.DataFrame] | None = None,
    schema: Schema | None = None,
    rows: int = 20,
    seed: int | None = 1,
    budget: float = 1e12,
    key_bits: int = 256,
    neighbours: Neighbours = "replace-one",
    kinds: tuple[type, ...] | None = None,
    pinned: dict[int, dict[int, bytes]] | None = None,
) -> Talk:
    """Run `party` at every party and `curator` at the curator; the first error of any role is raised."""
    from sottovoce.protocols import Protocol

    class Words(Protocol):
        uses = (NoiseReplacement,)

    wires, talk, errors = thread_wires(parties + 1), Talk(), []
    for wire in wires:
        _tap(wire, talk.heard)
    common: dict[str, Any] = {"protocol": "test", "kinds": kinds or Words.kinds(), "timeout": 20.0}

    def play(rank: int) -> None:
        tree = RandomTree(seed, role=rank)
        role: Role
        try:
            if rank == 0:
                domain = None if schema is None else schema.domain
                role = Curator(wires[0], randomness=tree, key_bits=key_bits, domain=domain, **common)
            else:
                table = pd.DataFrame({"x": range(rows)}) if tables is None else tables[rank - 1]
                accountant = Accountant(party=rank, budget=budget, neighbours=neighbours)
                role = Party(
                    wires[rank], records=Records(table, schema=schema), accountant=accountant, randomness=tree,
                    key_bits=key_bits, pinned=(pinned or {}).get(rank), **common,
                )  # fmt: skip
            talk.roles[rank] = role
            talk.results[rank] = curator(role) if isinstance(role, Curator) else party(role)
            role.end()
        except PeerFailedError:
            pass
        except BaseException as error:
            errors.append(error)
            with contextlib.suppress(PeerFailedError):
                wires[rank].abort(3)

    threads = [threading.Thread(target=play, args=(rank,), daemon=True) for rank in range(parties + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads)
    return talk


def _tap(wire: Any, heard: list[Heard]) -> None:
    send = wire.send

    def tapped(parts: Sequence[Buffer], *, to: int, timeout: float) -> None:
        frame = unpack_header(memoryview(b"".join(parts)), limit=1 << 40)
        if frame.header.what == 0:
            heard.append(Heard(wire.rank, to, frame.header.kind, bytes(frame.payload)))
        send(parts, to=to, timeout=timeout)

    wire.send = tapped
