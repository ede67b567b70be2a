"""What tests share: which MPIs there are, a conversation of functions on threads with a tap on the
wire, random tables.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

from sottovoce.crypto import Keypair
from sottovoce.curator import Curator, Marginal, dependency_graph, model_rows, pair_rows
from sottovoce.launch import close_tables, counted_tables
from sottovoce.messages import PeerFailedError, Role, Wire, thread_wires
from sottovoce.messages.frame import unpack_header
from sottovoce.messages.wire import Buffer
from sottovoce.parties import Categories, Party, Records, Schema, blocks, infer, load, merge
from sottovoce.parties.demo import demo_table
from sottovoce.privacy import Domain
from sottovoce.privacy.neighbours import Neighbours
from sottovoce.protocols import AnyProtocol, Options, Outcome, Protocol
from sottovoce.protocols.noise_replacement import NoiseReplacement
from sottovoce.runs.identities import Credentials
from sottovoce.runs.job import Job
from sottovoce.runs.role_threads import RoleError, play_on_threads
from sottovoce.runs.roles import make_curator, make_party

if TYPE_CHECKING:
    from sottovoce.curator.triangulation import DependencyGraph

MPICH = os.environ.get("SOTTOVOCE_MPICH", "")
"""The folder of a second environment, with MPICH (`make mpich` makes it)."""


# No test fails because the machine is busy.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

TEST_SECONDS = float(os.environ.get("SOTTOVOCE_TEST_SECONDS", "inf"))
"""When so many seconds have passed no further test is begun (`make check`)."""
START = time.monotonic()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that `make test` leaves to `make long`."""
    names = {*(Path(__file__).parent / "long.txt").read_text().splitlines()}
    for item in items:
        if not names.isdisjoint({item.nodeid, item.nodeid.partition("[")[0]}):
            item.add_marker("long")


def pytest_runtest_setup() -> None:
    """Leave out what there is no time for, and say so."""
    if time.monotonic() - START > TEST_SECONDS:
        pytest.skip(f"{TEST_SECONDS:g} s are over: `make unit long` runs every test")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what asks for `mpi_python` once under each MPI."""
    if "mpi_python" in metafunc.fixturenames:
        skip = pytest.mark.skipif(not MPICH, reason="SOTTOVOCE_MPICH names no second environment")
        pythons = [
            pytest.param(sys.executable, id="openmpi", marks=pytest.mark.mpi),
            pytest.param(f"{MPICH}/bin/python", id="mpich", marks=[pytest.mark.mpi, skip]),
        ]
        metafunc.parametrize("mpi_python", pythons, scope="session")


@pytest.fixture(scope="session", autouse=True)
def error_logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Let ranks write logs of errors and of durable runs into folders of the tests."""
    folder = tmp_path_factory.mktemp("logs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOTTOVOCE_LOG", str(folder))
        patch.setenv("SOTTOVOCE_STATE", str(tmp_path_factory.mktemp("state")))
        yield folder


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let roles keep their logs in a folder of the test, and find the docs' examples."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "docs" / "examples")
    folder = tmp_path / "state"
    monkeypatch.setenv("SOTTOVOCE_STATE", str(folder))
    return folder


@pytest.fixture
def first_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a rehearsal end with the neighbouring tables that show most mistakes.

    Thousands of tables follow, as many as there is time for: a finding there would hang on the
    machine.
    """
    every = close_tables._middle_first
    monkeypatch.setattr(close_tables, "_middle_first", lambda count: every(count)[:FIRST_TABLES])
    monkeypatch.setattr(counted_tables, "MAX_COUNTED_VALUES", FIRST_VALUES)
    monkeypatch.setattr(close_tables, "MAX_CROSSED", FIRST_TABLES)


@pytest.fixture
def unlimited_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a plug-in's rehearsal and guard try every table, however slow the machine is.

    This is for findings of which the tables after the first ones show some.
    """
    monkeypatch.setattr("sottovoce.launch.rehearsal.PARTY_SECONDS", 600.0)
    monkeypatch.setattr("sottovoce.launch.rehearsal.SECONDS", 600.0)
    monkeypatch.setattr("sottovoce.launch.release_checks.CHECK_SECONDS", 600.0)
    monkeypatch.setattr("sottovoce.runs.guard.MIN_SECONDS", 600.0)


@pytest.fixture
def short_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a plug-in's rehearsal and guard end their replays sooner, and none of them earlier.

    This is for protocols in which they find nothing.
    """
    monkeypatch.setattr("sottovoce.launch.rehearsal.PARTY_SECONDS", 0.5)
    monkeypatch.setattr("sottovoce.runs.guard.MIN_SECONDS", 0.2)
    monkeypatch.setattr("sottovoce.runs.guard.SLOWER", 30)


@pytest.fixture
def counting_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Job]:
    """Give a function that makes the job of `launch/noisy_count.py`, with lines in some places.

    The working folder is the test's. It has the plug-in, as `counting.py`, and `people.csv`.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "counting", raising=False)
    demo_table(600, seed=1).to_csv("people.csv", index=False)

    def job(**lines: str) -> Job:
        source = (Path(__file__).parent / "launch" / "noisy_count.py").read_text()
        for place, line in lines.items():
            comment = f"# {place.replace('_', ' ').upper()}"
            assert comment in source
            source = source.replace(comment, line)
        Path("counting.py").write_text(source)
        return Job(protocol="counting:NoisyCount", data=("people.csv",), seed=1)

    return job


FIRST_TABLES = 4
"""Those in the middle and the ends, by which medians, minima and maxima move."""
FIRST_VALUES = 2
"""Values of which there are as many records as a threshold says."""


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start processes; however the test ends, they are gone afterwards with all that they started,
    and their pipes closed.

    A launcher starts mpiexec in a session of its own and mpiexec its ranks, and a test may have
    killed any of them: all that is left of the family is known by a variable that each process
    inherits.
    """
    mark = uuid.uuid4().hex
    started: list[subprocess.Popen[str]] = []

    def popen(
        command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] = os.environ
    ) -> subprocess.Popen[str]:
        # What a shell starts in the background ignores Ctrl-C, and so would all that is started
        # from there.
        usual = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env={**env, MARK: mark},
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        finally:
            signal.signal(signal.SIGINT, usual)
        started.append(process)
        return process

    try:
        yield popen
    finally:
        for process in started:
            process.kill()
        until = time.monotonic() + 60
        while (left := _marked(mark)) and time.monotonic() < until:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        for process in started:
            with process:  # closes the pipes and waits
                pass
    assert not left, f"processes {left} cannot be ended"


MARK = "SOTTOVOCE_TEST"


@pytest.fixture
def play_roles() -> Callable[..., list[BaseException]]:
    """Play a part at every role of a conversation to its end, and give the error of each role."""

    def play(
        wires: Sequence[Wire], part: Callable[[Role], None], *, kinds: Sequence[type]
    ) -> list[BaseException]:
        errors: list[BaseException] = []

        def act(role: Role) -> None:
            try:
                with role.phase("all"):
                    part(role)
                role.end()
            except PeerFailedError:
                pass
            except BaseException as error:
                errors.append(error)
                with pytest.raises(PeerFailedError):
                    wires[role.rank].abort(3)

        threads = [
            threading.Thread(target=act, args=(Role(wire, protocol="t", kinds=kinds, timeout=60),))
            for wire in wires
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=90)
            assert not thread.is_alive()
        return errors

    return play


def _marked(mark: str) -> list[int]:
    """Find the processes with the mark in their environment; one that has ended and was not waited
    for has none.
    """
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # ended meanwhile, or somebody else's
            if f"{MARK}={mark}".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


@dataclass
class Heard:
    """A frame on the wire."""

    sender: int
    to: int
    kind: str
    payload: bytes


@dataclass
class Opened:
    """A message as its receiver read it, after it was opened."""

    sender: int
    to: int
    message: Any


@dataclass
class Talk:
    """What came of a conversation: what each role returned, released and read, and what went over
    the wire.
    """

    results: dict[int, Any] = field(default_factory=dict)
    roles: dict[int, Role] = field(default_factory=dict)
    heard: list[Heard] = field(default_factory=list)
    opened: list[Opened] = field(default_factory=list)

    @property
    def curator(self) -> Any:
        return self.results[0]

    def party(self, number: int) -> Party:
        role = self.roles[number]
        assert isinstance(role, Party)
        return role


Converse = Callable[..., Talk]
Network = Callable[[int, int, bytes], Iterable[bytes]]
"""A network that meddles: of sender, receiver and frame it makes the frames that arrive."""
DIGEST = bytes(32)
"""The digest of the job that all roles of a conversation were told."""


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
    digests: dict[int, bytes] | None = None,
    pairs: dict[int, Keypair] | None = None,
    network: Network | None = None,
    hybrid: bool = False,
) -> Talk:
    """Run `party` at every party and `curator` at the curator; the first error of any role is
    raised.
    """
    stand_in = _stand_in(kinds=kinds, neighbours=neighbours, budget=budget)
    job = Job(
        protocol="test",
        parties=parties,
        seed=seed,
        key_bits=key_bits,
        insecure_test_keys=True,
        timeout=300.0,
    )
    wires, talk = thread_wires(parties + 1), Talk()
    for wire in wires:
        if network is not None:
            intercept(wire, network)
        _tap(wire, talk.heard)

    def play(rank: int) -> None:
        role: Role
        everybody = {other: pair.public for other, pair in (pairs or {}).items()}
        credentials = Credentials(
            pair=(pairs or {}).get(rank),
            pinned=(pinned or {}).get(rank, everybody),
            job_digest=(digests or {}).get(rank, DIGEST),
            hybrid=hybrid,
        )
        if rank == 0:
            role = make_curator(
                wires[0], stand_in, job, schema=schema, cores=1, credentials=credentials
            )
        else:
            table = pd.DataFrame({"x": range(rows)}) if tables is None else tables[rank - 1]
            role = make_party(
                wires[rank],
                stand_in,
                job,
                records=Records(table, schema=schema),
                cores=1,
                credentials=credentials,
            )
        talk.roles[rank] = role
        _listen(role, talk.opened)
        talk.results[rank] = curator(role) if isinstance(role, Curator) else party(role)
        role.end()

    try:
        play_on_threads(wires, play)
    except RoleError as failure:
        raise failure.error from None
    return talk


def _stand_in(
    *, kinds: tuple[type, ...] | None, neighbours: Neighbours, budget: float
) -> AnyProtocol:
    """Make a protocol that has nothing but a name, its messages and a budget."""
    relation = neighbours

    class StandIn(Protocol[Options]):
        name = "test"
        neighbours = relation
        uses = (NoiseReplacement,)
        epsilon = budget

        @property
        def colluding(self) -> None:
            return None

        @classmethod
        def kinds(cls) -> tuple[type, ...]:
            return kinds or super().kinds()

        def party(self, me: Party) -> None:
            raise AssertionError

        def curator(self, desk: Curator) -> Outcome:
            raise AssertionError

    return StandIn(Options(), mode="rigorous")


def intercept(wire: Any, network: Network) -> None:
    """Let a network handle every frame that leaves on this wire.

    No frame waits for the next one, which the network may take away.
    """
    send = wire.send

    def handled(
        parts: Sequence[Buffer],
        *,
        to: int,
        timeout: float,
        more: bool = False,
    ) -> None:
        for frame in network(wire.rank, to, b"".join(parts)):
            send([frame], to=to, timeout=timeout)

    wire.send = handled


def _listen(role: Role, opened: list[Opened]) -> None:
    receive = role._edges.receive

    def heard(*kinds: type[Any], source: int) -> Any:
        message = receive(*kinds, source=source)
        opened.append(Opened(source, role.rank, message))
        return message

    role._edges.receive = heard  # type: ignore[method-assign]


def _tap(wire: Any, heard: list[Heard]) -> None:
    send = wire.send

    def tapped(parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        frame = unpack_header(memoryview(b"".join(parts)), limit=1 << 40)
        if frame.header.frame_kind == 0:
            heard.append(Heard(wire.rank, to, frame.header.kind, bytes(frame.payload)))
        send(parts, to=to, timeout=timeout, more=more)

    wire.send = tapped


DATA = os.environ.get("SOTTOVOCE_DATA", "")
"""The folder with the datasets, for tests by hand."""


class Random:
    """Random domains, tables and graphs for the referees: a test that asks for `random` runs on
    thirty of them.
    """

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def domain(self, *, attributes: int, least: int = 1, most: int = 4) -> Domain:
        sizes = self.generator.integers(least, most + 1, attributes)
        return Domain({f"x{at}": tuple(map(str, range(size))) for at, size in enumerate(sizes)})

    def joint(self, domain: Domain) -> Marginal:
        shape = domain.shape(domain.attributes)
        weights = self.generator.dirichlet(np.full(int(np.prod(shape)), 0.5))
        return Marginal(domain.attributes, weights.reshape(shape))

    def graph(self, domain: Domain, *, density: float) -> DependencyGraph:
        pairs = [
            pair for pair in combinations(domain.attributes, 2) if self.generator.random() < density
        ]
        return dependency_graph(domain, pairs)

    def sets(self, domain: Domain, *, sets: int, most: int = 3) -> list[tuple[str, ...]]:
        """Draw sets of attributes, in any order; some equal, nested or disjoint."""
        names = np.array(domain.attributes)
        sizes = self.generator.integers(1, min(most, len(names)) + 1, sets)
        return [
            tuple(map(str, self.generator.choice(names, size, replace=False))) for size in sizes
        ]


@pytest.fixture
def few_weighted_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weight 2,000 rows before a table is published, not 100,000 or more.

    It is for tests that do not look at how near the published table is.
    """
    monkeypatch.setattr(pair_rows, "MIN_ROWS", 2000)
    monkeypatch.setattr(model_rows, "MIN_DRAWN_ROWS", 2000)


@pytest.fixture(params=range(30))
def random(request: pytest.FixtureRequest) -> Random:
    return Random(request.param)


@pytest.fixture(scope="session")
def adult() -> Records:
    """Adult in the coding of JTree's authors: 45,222 rows, 15 attributes, numbers in 16 bins."""
    path = Path(DATA, "adult", "adult_jtree_coarse.csv.gz")
    if not DATA or not path.is_file():
        pytest.skip("SOTTOVOCE_DATA names no folder with adult/adult_jtree_coarse.csv.gz")
    rules = dict(merge([infer(blocks(str(path)))]).attributes)
    for name in (
        "age",
        "fnlwgt",
        "education-num",
        "capital-gain",
        "capital-loss",
        "hours-per-week",
    ):
        rules[name] = Categories(categories=tuple(map(str, range(16))))  # some bins are empty
    return load(str(path), schema=Schema(rules))


@pytest.fixture(scope="session")
def ten_parties() -> Any:
    """Run DP-SUBN as printed, once, with as many parties as the paper has at most."""
    import sottovoce
    from sottovoce.parties.demo import demo_table

    table = demo_table(600, seed=2)[["age", "sex", "race", "income", "relationship"]]
    given: dict[str, Any] = {"key_bits": 512, "insecure_test_keys": True, "seed": 1}
    return sottovoce.run("dp-subn", table, parties=10, mode="paper", epsilon=8.0, **given)
