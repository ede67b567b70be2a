"""Many roles on threads run in turns, and turns stop nothing."""

import os
import threading
import time
from collections.abc import Callable

import pytest

from sottovoce.messages import PeerFailedError, Role, message, thread_wires, threads

SIZE = threads.MAX_FREE_ROLES + 8
CORES = len(os.sched_getaffinity(0))


@message
class Word:
    number: int


def play(size: int, part: Callable[[Role], None]) -> int:
    """Play a part at every role; give the number of roles that ended."""
    ended: list[int] = []
    wires = thread_wires(size)

    def act(rank: int) -> None:
        with wires[rank].playing():
            role = Role(wires[rank], protocol="t", kinds=[Word], timeout=60)
            try:
                with role.phase("all"):
                    part(role)
                role.end()
            except PeerFailedError:
                pass
            ended.append(rank)

    playing = [threading.Thread(target=act, args=(rank,)) for rank in range(size)]
    for thread in playing:
        thread.start()
    for thread in playing:
        thread.join(timeout=60)
    return len(ended)


@pytest.mark.parametrize("size", [SIZE, threads.MAX_FREE_ROLES])
def test_of_many_roles_only_some_run_at_a_time(size: int) -> None:
    running: list[int] = []
    most = [0]

    def part(role: Role) -> None:
        for _ in range(3):
            running.append(role.rank)
            most[0] = max(most[0], len(running))
            time.sleep(0.005)
            running.remove(role.rank)
            if role.rank:
                role.send(Word(role.rank), to=0)
                assert role.receive(Word, source=0).number == 7
            else:
                role.gather(Word)
                role.broadcast(Word(7))

    assert play(size, part) == size
    if size > threads.MAX_FREE_ROLES:
        assert most[0] <= CORES
    else:
        assert most[0] > CORES  # Few roles need no turns.


def test_roles_that_block_elsewhere_stop_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """More roles than there are turns wait for one that has had none."""
    monkeypatch.setattr(threads, "STALLED_AFTER", 0.05)
    heard = threading.Event()

    def part(role: Role) -> None:
        if role.rank == SIZE - 1:
            heard.set()
        else:
            assert heard.wait(30)

    assert play(SIZE, part) == SIZE


def test_all_roles_end_when_one_aborts() -> None:
    def part(role: Role) -> None:
        if role.rank == 1:
            time.sleep(0.1)
            wires_of_role_one(role).abort(3)
        role.receive(Word, source=1)

    def wires_of_role_one(role: Role) -> threads.ThreadWire:
        wire = role._edges.frames._wire
        assert isinstance(wire, threads.ThreadWire)
        return wire

    started = time.monotonic()
    assert play(SIZE, part) == SIZE
    assert time.monotonic() - started < 30


def test_a_message_that_came_while_a_role_waited_for_its_turn_is_taken() -> None:
    one, two, *_ = thread_wires(SIZE)
    with one.playing():
        timer = threading.Timer(0.2, two.send, [[b"frame"]], {"to": 0, "timeout": 1})
        timer.start()
        arrival = one.arrive(timeout=10)
        timer.join()
    assert arrival is not None
    assert (arrival[0], bytes(arrival[1])) == (1, b"frame")
    with one.playing():
        assert one.arrive(timeout=0) is None
        assert one.arrive(timeout=0.01) is None
