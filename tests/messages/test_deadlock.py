"""Circles of waiting roles are detected, and nothing else is taken for one."""

import contextlib
import random
import threading
import time
from collections.abc import Callable

import pytest

from sottovoce.messages import DeadlockError, PeerFailedError, Role, exchange, message, thread_wires


@message
class Word:
    number: int


def play(size: int, part: Callable[[Role], None]) -> list[BaseException]:
    errors: list[BaseException] = []
    wires = thread_wires(size)

    def act(speaker: Role) -> None:
        try:
            with speaker.phase("all"):
                part(speaker)
            speaker.end()
        except PeerFailedError:
            pass
        except BaseException as error:
            errors.append(error)
            with contextlib.suppress(PeerFailedError):
                wires[speaker.rank].abort(3)

    threads = [
        threading.Thread(target=act, args=(Role(wire, protocol="t", kinds=[Word], timeout=60),))
        for wire in wires
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=90)
        assert not thread.is_alive()
    return errors


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probe a thousand times as often as usual."""
    monkeypatch.setattr(exchange, "PROBE_AFTER", 0.001)


@pytest.mark.parametrize("length", [2, 3, 5])
def test_a_circle_is_detected_and_described(eager: None, length: int) -> None:
    def part(speaker: Role) -> None:
        if speaker.rank < length:
            speaker.receive(Word, source=(speaker.rank + 1) % length)
        else:
            speaker.receive(Word, source=0)  # waits for the circle without being in it

    errors = play(6, part)
    assert errors
    assert all(isinstance(error, DeadlockError) for error in errors)
    assert str(errors[0]).count("waits for Word") == length


@pytest.mark.parametrize("seed", range(25))
def test_no_circle_is_reported_where_there_is_none(eager: None, seed: int) -> None:
    """A random exchange that can always go on ends well, at random speeds and with many probes."""
    randomness = random.Random(seed)
    size = randomness.randrange(2, 7)
    edges = [tuple(randomness.sample(range(size), 2)) for _ in range(80)]
    naps = [randomness.random() * 0.004 for _ in edges]

    def part(speaker: Role) -> None:
        for number, ((source, to), nap) in enumerate(zip(edges, naps, strict=True)):
            if speaker.rank == source:
                time.sleep(nap)
                speaker.send(Word(number), to=to)
            elif speaker.rank == to:
                assert speaker.receive(Word, source=source).number == number

    assert play(size, part) == []


@pytest.mark.parametrize("earlier", [1, 3])
def test_a_circle_after_an_exchange_is_detected(eager: None, earlier: int) -> None:
    """Probes compare numbers of messages, which are not zero any more."""

    def part(speaker: Role) -> None:
        before, after = (speaker.rank - 1) % 3, (speaker.rank + 1) % 3
        for number in range(earlier + speaker.rank):
            speaker.send(Word(number), to=before)
        for number in range(earlier + after):
            assert speaker.receive(Word, source=after).number == number
        speaker.receive(Word, source=after)

    errors = play(3, part)
    assert errors
    assert all(isinstance(error, DeadlockError) for error in errors)
    assert str(errors[0]).count("waits for Word") == 3
