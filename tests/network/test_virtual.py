"""The transport `virtual`: same bytes as threads, same seconds as a replay, same errors."""

import math
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import sottovoce
from sottovoce.launch.commands import app
from sottovoce.messages import (
    CURATOR,
    DeadlockError,
    PeerFinishedError,
    Role,
    TimeoutExpired,
    UsageError,
    WorkKind,
    count_work,
    message,
    reconcile,
)
from sottovoce.messages.wire import WireTimeout
from sottovoce.network import (
    Link,
    Network,
    Stack,
    VirtualWire,
    parts_of,
    read_network,
    replay,
    virtual_wires,
)
from sottovoce.report.report import read_report
from sottovoce.runs.placement import Placement

CASES: dict[str, dict[str, Any]] = {
    "head-count": {},
    "noisy-marginals": {"columns": ["sex", "income"], "aggregator": "masks"},
    "dp-subn": {
        "columns": ["sex", "income", "race"],
        "aggregator": "paillier",
        "key_bits": 512,
        "insecure_test_keys": True,
    },
}
D = 0.05
INSTANT = 'from = "wan"\nspeed = inf\n'
"""A network on which computation takes no time, so that seconds are exact."""


def run(name: str, **options: Any) -> sottovoce.Run:
    return sottovoce.run(
        name, rows=200, parties=3, seed=1, judge=False, transcript=True, **CASES[name], **options
    )


@pytest.fixture
def instant(tmp_path: Path) -> str:
    path = tmp_path / "instant.toml"
    path.write_text(INSTANT)
    return str(path)


@pytest.mark.parametrize("name", CASES)
def test_a_virtual_run_says_and_takes_what_it_should(name: str, instant: str) -> None:
    threads = run(name)
    first, second = (run(name, transport="virtual", network=instant) for _ in range(2))
    assert first.report["transcript"] == threads.report["transcript"]
    assert first.report["transport"] == "virtual"
    assert first.report["network"].startswith("instant (50 ms one way")
    # Without computation the seconds follow from the conversation alone.
    assert first.report["seconds"] == second.report["seconds"]
    assert first.files["ledger.csv"] == second.files["ledger.csv"]
    # The ledger of threads, replayed on this network, says the same. Frames that end a part are not
    # in it, nor are the notes of a party that ends before others, which share the curator's link.
    forecast = replay(parts_of(threads.record.entries, parties=3), read_network(instant))
    assert first.report["seconds"] == pytest.approx(forecast.seconds, abs=0.004)


@pytest.mark.parametrize("name", CASES)
def test_the_replay_of_a_virtual_run_takes_as_long(name: str) -> None:
    """Its ledger has the computation; what is left are the bytes of frames that end parts."""
    virtual = run(name, transport="virtual", network="wan")
    record = virtual.record
    ends = [entry.received_at for entry in record.entries if entry.receiver == CURATOR]
    ends += [entry.sent_at for entry in record.entries if entry.sender == CURATOR]
    last = record.seconds - record.closing_seconds - max(ends)
    timing = replay(parts_of(record.entries, parties=3), read_network("wan"), last=last)
    assert timing.seconds == pytest.approx(record.seconds, abs=0.03)


def test_computation_is_counted_once() -> None:
    """Three roles that compute at the same time take as long as one, not as three."""
    burn = 0.2
    wires = virtual_wires(read_network("none"), 3)
    clocks: dict[int, float] = {}

    def play(wire: VirtualWire) -> None:
        wire.clock()  # The role begins.
        until = time.thread_time() + burn
        while time.thread_time() < until:
            pass
        clocks[wire.rank] = wire.clock()

    on_threads(wires, play)
    assert all(burn <= clock < 2 * burn for clock in clocks.values())


def test_a_send_to_a_role_that_computes_has_an_end() -> None:
    network = Network(name="t", between=Link(latency=0.05), speed=math.inf)
    wires = virtual_wires(network, 2)
    caught: list[str] = []

    def play(wire: VirtualWire) -> None:
        if wire.rank == 1:
            with pytest.raises(WireTimeout):
                wire.send([bytes(5 << 20)], to=0, timeout=0.5)
            assert wire.clock() == pytest.approx(0.5)
            wire.send([b"later"], to=0, timeout=0.5)
            caught.append("later")

    on_threads(wires, play)
    assert caught == ["later"]


def on_threads(wires: list[VirtualWire], play: Callable[[VirtualWire], None]) -> None:
    errors: list[BaseException] = []

    def target(wire: VirtualWire) -> None:
        try:
            with wire.playing():
                play(wire)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=target, args=(wire,)) for wire in wires]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert not errors, errors


def test_what_a_role_loads_before_it_begins_takes_no_time() -> None:
    """The first roles of a process load modules, and would seem to receive before latency."""
    times: dict[int, list[float]] = {}

    def play(wire: VirtualWire) -> None:
        count_work(WorkKind.STEP, 5.0)
        times[wire.rank] = [wire.clock()]
        count_work(WorkKind.STEP, 1.0)
        times[wire.rank].append(wire.clock())

    wires = virtual_wires(read_network("wan"), 2, costs=lambda meter: meter.units[WorkKind.STEP, 0])
    on_threads(wires, play)
    assert times == {0: [0.0, 1.0], 1: [0.0, 1.0]}


@pytest.mark.parametrize(("cores", "seconds"), [(1, 4.0), (2, 2.0), (4, 1.0)])
def test_clocks_know_of_roles_on_the_same_cores(cores: int, seconds: float) -> None:
    """Four parties compute for a second each, look at the clock, and send."""
    network = Network(
        name="t", between=Link(latency=D), cores=cores, stack=Stack(polling_seconds=0)
    )
    wires = virtual_wires(network, 5, costs=lambda meter: meter.units[WorkKind.STEP, 0])
    times: dict[int, list[float]] = {}

    def play(wire: VirtualWire) -> None:
        times[wire.rank] = [wire.clock()]
        if wire.rank == CURATOR:
            for _ in range(4):
                while wire.arrive(timeout=60) is None:
                    pass
        else:
            count_work(WorkKind.STEP, 1)
            times[wire.rank].append(wire.clock())
            wire.send([b"x"], to=CURATOR, timeout=60)
        times[wire.rank].append(wire.clock())

    on_threads(wires, play)
    assert times.pop(CURATOR) == pytest.approx([0.0, seconds + D])
    assert [*times.values()] == [pytest.approx([0.0, seconds, seconds])] * 4


def test_frames_that_wait_for_the_network_are_no_computation(tmp_path: Path) -> None:
    """Ten frames of 13.9 kB on 1 Mbit/s: the sender is held, and computes nothing."""
    path = tmp_path / "slow.toml"
    path.write_text('from = "none"\nlatency = "20 ms"\nbandwidth = "1 Mbit/s"\nspeed = inf\n')
    wires = virtual_wires(read_network(str(path)), 2)
    roles: dict[int, Role] = {}

    def play(wire: VirtualWire) -> None:
        talker = roles[wire.rank] = Role(wire, protocol="talk", kinds=[Page], timeout=3600)
        with talker.phase("talk"):
            for _ in range(10):
                if wire.rank == 1:
                    talker.send(Page(bytes(13_800)), to=0)
                else:
                    talker.receive(Page, source=1)

    on_threads(wires, play)
    entries = reconcile([roles[0].acts, roles[1].acts])
    parts = parts_of(entries, parties=1)
    assert max(entry.sent_at - entry.sending_at for entry in entries) > 0.05
    assert sum(step.computed for step in parts[1]) < 1e-6


def test_a_run_on_shared_cores_has_the_same_bytes(tmp_path: Path) -> None:
    """Only times differ: they are longer, and their ledger adds up to them."""
    path = tmp_path / "one.toml"
    path.write_text('from = "wan"\ncores = 1\n')
    alone = run("noisy-marginals", transport="virtual", network="wan")
    shared = run("noisy-marginals", transport="virtual", network=str(path))
    assert [role.transcript for role in shared.record.roles] == [
        role.transcript for role in alone.record.roles
    ]
    for entry in shared.record.entries:
        assert entry.sending_at <= entry.sent_at <= entry.arrived_at <= entry.received_at


def test_a_wait_too_short_for_the_clock_ends() -> None:
    """After 1,000 s of latency a double of seconds has no place for 1e-15 s more."""
    wires = virtual_wires(Network(name="t", between=Link(latency=1000), speed=math.inf), 2)
    ends: list[float] = []

    def play(wire: VirtualWire) -> None:
        if wire.rank == 1:
            wire.send([b"first"], to=0, timeout=1)
            return
        while wire.arrive(timeout=2000) is None:
            pass
        until = wire.clock() + 3e-15 + 1e-9
        for _ in range(10):
            wire.arrive(timeout=1e-15)
        ends.append(wire.clock() - until)

    on_threads(wires, play)
    assert ends[0] > 0


@message
class Word:
    number: int


@message
class Page:
    content: bytes


def role(wire: VirtualWire, timeout: float) -> Role:
    return Role(wire, protocol="talk", kinds=[Word], timeout=timeout)


def test_time_limits_are_those_of_the_virtual_clock() -> None:
    """Minutes of waiting take no real time, and what comes after half of a limit is in time."""
    network = Network(name="t", between=Link(latency=90), speed=math.inf)

    def play(wire: VirtualWire) -> None:
        talker = role(wire, timeout=180)
        with talker.phase("talk"):
            if wire.rank == 1:
                talker.send(Word(7), to=0)
            else:
                assert talker.receive(Word, source=1).number == 7
                assert wire.clock() == pytest.approx(90, abs=0.01)
                with pytest.raises((TimeoutExpired, PeerFinishedError)) as caught:
                    talker.receive(Word, source=1)
                assert "expected Word from party 1" in str(caught.value)

    started = time.monotonic()
    on_threads(virtual_wires(network, 2), play)
    assert time.monotonic() - started < 60


def test_a_circle_of_waiting_roles_is_found() -> None:
    wires = virtual_wires(read_network("wan").with_speed(math.inf), 3)
    found_by: list[int] = []

    def play(wire: VirtualWire) -> None:
        talker = role(wire, timeout=3600)
        with talker.phase("talk"):
            try:
                talker.receive(Word, source=(wire.rank + 1) % 3)
            except DeadlockError:
                found_by.append(wire.rank)
                assert wire.clock() < 60
                talker.send(Word(0), to=(wire.rank - 1) % 3)
            else:
                talker.send(Word(0), to=(wire.rank - 1) % 3)

    on_threads(wires, play)
    assert found_by


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"transport": "virtual"}, "expected --network beside --transport virtual"),
        ({"network": "wan"}, "expected --transport virtual beside --network, found no --transport"),
        ({"transport": "mpi", "network": "wan"}, "found mpi"),
    ],
)
def test_network_and_transport_go_together(options: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        Placement(**options)


def test_the_command_says_the_time_and_repeats_itself(tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    words = ["run", "head-count", "--rows", "50", "--out", folder, "--seed", "1"]
    result = CliRunner().invoke(app, [*words, "--transport", "virtual", "--network", "wan"])
    assert result.exit_code == 0
    assert "seconds   0.05" in result.stdout
    report = read_report(Path(folder))
    assert report.command.endswith("--transport virtual --network wan")
    # The roles begin within the milliseconds that they compute before.
    assert report.seconds > 0.045 > report.closing_seconds
    with pytest.raises(UsageError, match="did you mean wan"):
        CliRunner().invoke(
            app,
            [*words, "--overwrite", "--transport", "virtual", "--network", "wann"],
            catch_exceptions=False,
        )


def test_a_sweep_goes_over_networks(tmp_path: Path, instant: str) -> None:
    plan = tmp_path / "sweep.toml"
    plan.write_text(
        'seeds = 1\n[every]\nrows = 50\ntransport = "virtual"\n'
        f'[[run]]\nprotocol = "head-count"\nnetwork = ["lan", "{instant}"]\n'
    )
    words = ["sweep", str(plan), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0
    table = pd.read_csv(tmp_path / "out" / "results.csv")
    assert list(table["network"]) == ["lan", instant]
    near, far = table["seconds"]
    assert near < 0.05 < far < 0.06
    Path(instant).write_text(INSTANT + 'latency = "90 ms"\n')
    CliRunner().invoke(app, words, catch_exceptions=False)
    assert pd.read_csv(tmp_path / "out" / "results.csv")["seconds"].max() > 0.09
    plan.write_text(plan.read_text().replace("lan", "lam"))
    with pytest.raises(UsageError, match="did you mean lan"):
        CliRunner().invoke(app, words, catch_exceptions=False)
