"""Circles of waiting roles are detected, and nothing else is taken for one."""

import math
import random
import time
from collections.abc import Callable

import pytest

from sottovoce.messages import DeadlockError, Role, exchange, message, thread_wires
from sottovoce.messages.deadlock import DeadlockDetector


@message
class Word:
    number: int


Play = Callable[[int, Callable[[Role], None]], list[BaseException]]


@pytest.fixture
def play(play_roles: Callable[..., list[BaseException]]) -> Play:
    return lambda size, part: play_roles(thread_wires(size), part, kinds=[Word])


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probe a thousand times as often as usual."""
    monkeypatch.setattr(exchange, "PROBE_AFTER", 0.001)


@pytest.mark.parametrize("length", [2, 3, 5])
def test_a_circle_is_detected_and_described(eager: None, play: Play, length: int) -> None:
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
def test_no_circle_is_reported_where_there_is_none(eager: None, play: Play, seed: int) -> None:
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
def test_a_circle_after_an_exchange_is_detected(eager: None, play: Play, earlier: int) -> None:
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


def chase(sources: dict[int, int]) -> tuple[int, list[int]]:
    """Let every waiting role start one probe; count probes, and list roles that find a circle."""
    detectors = {rank: DeadlockDetector(rank) for rank in sources}
    for rank, source in sources.items():
        detectors[rank].begin("Word", source=source)
    probes = [detectors[rank].probe(arrived={}) for rank in sources]
    sent, finders = 0, []
    while probes:
        probe = probes.pop()
        if probe is None:
            continue
        sent += 1
        if probe.to in detectors:
            try:
                probes.append(
                    detectors[probe.to].follow(memoryview(probe.payload), sent=0, arrived={})
                )
            except DeadlockError:
                finders.append(probe.to)
    return sent, finders


@pytest.mark.parametrize("direction", [-1, 1])
@pytest.mark.parametrize("length", [10, 100, 1000])
def test_a_row_of_waiting_roles_sends_few_probes(length: int, direction: int) -> None:
    """The average way of a probe grows as the logarithm; half of the row would be linear."""
    sent, finders = chase({rank: rank + direction for rank in range(1, length + 1)})
    assert finders == []
    assert sent <= length * (1 + 2 * math.log(length))


@pytest.mark.parametrize("seed", range(20))
def test_every_circle_is_found_by_one_role(seed: int) -> None:
    randomness = random.Random(seed)
    ranks = randomness.sample(range(2000), randomness.randrange(2, 200))
    circle = dict(zip(ranks, ranks[1:] + ranks[:1], strict=True))
    outside = {rank: randomness.choice(ranks) for rank in range(3000, 3010)}
    _, finders = chase({**circle, **outside})
    assert len(finders) == 1
    assert finders[0] in circle
