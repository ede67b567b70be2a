"""Faults for experiments: parties that lie, pause, fall silent or die, as the person declared.

A fault is a sentence: who, what, and where.

    party 2 dies in parameters          2 parties lie
    party 2 pauses 5 s in parameters    a tenth of parties lie
    the curator dies after 4 messages   party 1 falls silent in learn/sum

Parties that are not named are drawn with the job's public seed, so every role knows the same ones.
A party that lies replaces its records by as many whose values are drawn uniformly. It follows the
protocol otherwise. The other faults are in the wire (`FaultyWire`), so that no protocol knows of
them, and they happen on every transport.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, NoReturn

import numpy as np

from ..messages import CURATOR, ConversationError, Role, UsageError, Wire, role_name
from ..messages.wire import Buffer
from ..parties import Records

__all__ = ["Fault", "FaultyWire", "InjectedFault", "faults_of", "lying_records", "read_faults"]

Action = Literal["dies", "falls silent", "pauses", "lies"]
ACTIONS: Final[dict[str, Action]] = {
    "dies": "dies",
    "die": "dies",
    "falls silent": "falls silent",
    "fall silent": "falls silent",
    "pauses": "pauses",
    "pause": "pauses",
    "lies": "lies",
    "lie": "lies",
}
SHARES: Final = {"half": 2, "a third": 3, "a quarter": 4, "a fifth": 5, "a tenth": 10}
SENTENCE: Final = re.compile(
    r"(?P<who>the curator|curator|party (?P<party>\d+)|(?P<count>\d+) (?:party|parties)"
    r"|(?P<percent>\d+(?:\.\d+)?) ?% of parties|(?P<share>[a-z ]+?) of parties)"
    r" (?P<action>" + "|".join(sorted(ACTIONS, key=len, reverse=True)) + r")"
    r"(?: (?P<seconds>\d+(?:\.\d+)?) ?s)?"
    r"(?: (?:in (?P<phase>\S+)|after (?P<messages>\d+) messages?))?"
)
FOREVER: Final = 3600.0
"""Seconds of one of the waits of a role that has fallen silent."""
EXPECTED: Final = (
    "'party 2 dies in PHASE', '2 parties lie', 'a tenth of parties fall silent after 3 messages', "
    "'party 2 pauses 5 s in PHASE' or 'curator dies'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What one role does, and from where on."""

    rank: int
    action: Action
    phase: str | None = None
    """The phase in which it happens; `None` where the phase does not matter."""
    messages: int = 0
    """Number of messages that the role has sent before."""
    seconds: float = 0.0
    """Length of a pause."""

    def __str__(self) -> str:
        where = "" if self.phase is None else f" in {self.phase}"
        where += f" after {self.messages} messages" if self.messages else ""
        length = f" {self.seconds:g} s" if self.action == "pauses" else ""
        return f"{role_name(self.rank)} {self.action}{length}{where}"


class InjectedFault(ConversationError):
    """A role died on purpose, because the person asked for it."""


def read_faults(sentences: Sequence[str], *, parties: int, seed: int) -> list[Fault]:
    """Read the faults of a job.

    Args:
        sentences: the declared faults.
        parties: number of parties.
        seed: the public seed, which decides who is meant where nobody is named.

    Raises:
        UsageError: a sentence that says nothing known, or names a party that is not there.
    """
    return [
        fault
        for sentence in sentences
        for fault in _read(" ".join(sentence.split()), parties=parties, seed=seed)
    ]


def faults_of(faults: Sequence[Fault], *, rank: int) -> list[Fault]:
    """Select the faults of one role."""
    return [fault for fault in faults if fault.rank == rank]


def _read(sentence: str, *, parties: int, seed: int) -> list[Fault]:
    match = SENTENCE.fullmatch(sentence)
    if match is None:
        raise UsageError(f"expected a fault such as {EXPECTED}, found {sentence!r}")
    action = ACTIONS[match["action"]]
    if (match["seconds"] is not None) != (action == "pauses"):
        needs = "seconds for a pause, as in 'party 2 pauses 5 s'"
        raise UsageError(f"expected {needs}, and for nothing else, found {sentence!r}")
    ranks = _ranks(match, sentence=sentence, parties=parties, seed=seed)
    if action == "lies" and (CURATOR in ranks or match["phase"] or match["messages"]):
        raise UsageError(
            "expected parties that lie from the start on, since they replace their records, "
            f"found {sentence!r}"
        )
    return [
        Fault(
            rank=rank,
            action=action,
            phase=match["phase"],
            messages=int(match["messages"] or 0),
            seconds=float(match["seconds"] or 0.0),
        )
        for rank in ranks
    ]


def _ranks(match: re.Match[str], *, sentence: str, parties: int, seed: int) -> list[int]:
    if match["party"] is not None:
        if not 1 <= int(match["party"]) <= parties:
            raise UsageError(f"expected a party from 1 to {parties}, found {sentence!r}")
        return [int(match["party"])]
    if match["who"].endswith("curator"):
        return [CURATOR]
    if match["count"] is not None:
        count = int(match["count"])
    elif match["percent"] is not None:
        count = round(Fraction(match["percent"]) * parties / 100)
    else:
        if match["share"] not in SHARES:
            raise UsageError(
                f"expected {', '.join(SHARES)} or a number of per cent of parties, "
                f"found {sentence!r}"
            )
        count = round(Fraction(parties, SHARES[match["share"]]))
    if count > parties:
        raise UsageError(f"expected at most {parties} parties, found {sentence!r}")
    generator = _generator(f"{seed} {sentence}")
    return sorted((generator.permutation(parties)[:count] + 1).tolist())


def _generator(text: str) -> np.random.Generator:
    """Make a public generator that is the same at every role."""
    return np.random.default_rng([*hashlib.sha256(text.encode()).digest()])


def lying_records(records: Records, faults: Sequence[Fault], *, seed: int) -> Records:
    """Replace the records of a party that lies by as many with uniform values; others stay."""
    if not any(fault.action == "lies" for fault in faults) or not len(records):
        return records
    generator = _generator(f"{seed} lies {faults[0].rank}")
    return records.changed(lambda codes, values: generator.integers(values, size=len(codes)))


class FaultyWire:
    """A role's end of the transport, at which its faults happen."""

    def __init__(self, wire: Wire, faults: Sequence[Fault], *, is_process: bool) -> None:
        self.rank = wire.rank
        self.size = wire.size
        self._role: Role | None = None
        self._wire = wire
        self.left = [fault for fault in faults if fault.action != "lies"]
        """Faults that have not happened yet."""
        self._is_process = is_process
        self._kept: deque[tuple[int, memoryview]] = deque()

    def watching(self, watch: Callable[[Role], None]) -> Callable[[Role], None]:
        """Be given the role as well, whose phase and messages decide when a fault happens."""

        def both(role: Role) -> None:
            self._role = role
            watch(role)

        return both

    def clock(self) -> float:
        return self._wire.clock()

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float) -> None:
        self._happen()
        self._wire.send(parts, to=to, timeout=timeout)

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        self._happen()
        if self._kept:
            return self._kept.popleft()
        return self._wire.arrive(timeout=timeout)

    def abort(self, status: int) -> NoReturn:
        self._wire.abort(status)

    def _happen(self) -> None:
        """Let the faults happen whose place the role has reached; each happens once."""
        if not self.left or self._role is None:
            return
        phase = self._role.current_phase
        sent = sum(act.sent for act in self._role.acts)
        for fault in list(self.left):
            if _is_within(phase, fault.phase) and sent >= fault.messages:
                self.left.remove(fault)
                self._do(fault)

    def _do(self, fault: Fault) -> None:
        match fault.action:
            case "dies" if self._is_process:
                os.kill(os.getpid(), signal.SIGKILL)
            case "dies":
                raise InjectedFault(f"it died, as the fault {str(fault)!r} asks")
            case "pauses":
                self._wait(fault.seconds)
            case _:
                while True:
                    self._wait(FOREVER)
                    self._kept.clear()

    def _wait(self, seconds: float) -> None:
        """Do nothing for some seconds; frames that come meanwhile are kept.

        The wire is asked for frames, so that time passes on a simulated network, too.
        """
        until = self._wire.clock() + seconds
        while (left := until - self._wire.clock()) > 0:
            frame = self._wire.arrive(timeout=left)
            if frame is not None:
                self._kept.append(frame)


def _is_within(phase: str, wanted: str | None) -> bool:
    """Tell whether a phase is the wanted one, or one within it."""
    return bool(phase) and (wanted is None or phase == wanted or phase.startswith(f"{wanted}/"))
