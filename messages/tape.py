"""Tapes: what one role sent and received, so that its part can be played again alone.

A role is deterministic given what it receives and its random streams. Played again with other
records, it must send the same frames, unless a frame depends on records. The replay needs no other
role: frames that arrived are on the tape, and frames that it sends are only compared.

A sealed frame is compared sealed. Its key and its number are the same in the replay, so it differs
if and only if its content does.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from types import FrameType
from typing import Final, NamedTuple, NoReturn

from .errors import PeerFailedError
from .frame import FrameKind, unpack_header
from .wire import LOST, MAX_FRAME_BYTES, Buffer, Wire

__all__ = [
    "MAX_TAPE_BYTES",
    "OTHER_NUMBER",
    "OTHER_RELEASES",
    "Difference",
    "ReplayedWire",
    "TapeEnd",
    "TapedWire",
    "WireTape",
]

MAX_TAPE_BYTES: Final = 1 << 28
"""Bytes of arrived frames that a tape keeps. A longer conversation is not taped."""
OTHER_NUMBER: Final = "how many messages the party sends depends on its records"
OTHER_RELEASES: Final = "how many releases come before them depends on its records"


class TapeEnd(BaseException):
    """The role waits for a frame that the tape does not have.

    A role that retries after any `Exception` does not catch it.
    """


class SentFrame(NamedTuple):
    """A message's frame that left the role."""

    kind: str
    phase: str
    length: int
    digest: bytes
    author: str
    """Name of the module whose code sent it. Whoever plays the role may send in its place."""

    def is_as(self, other: SentFrame) -> bool:
        """Tell whether two frames are the same, whoever sent them."""
        return self[:-1] == other[:-1]


class Difference(NamedTuple):
    """A message on the tape that a replay did not send as it was."""

    to: int
    number: int
    """Number of the message among those to this receiver, from 0."""
    kind: str
    reason: str


class WireTape:
    """Messages of one role: frames that arrived, and digests of those that left."""

    def __init__(self) -> None:
        self.sent: dict[int, list[SentFrame]] = defaultdict(list)
        """Frames that left, by receiver."""
        self.arrived: list[tuple[int, bytes | None]] = []
        """Senders and frames, in the order of arrival; `None` tells of a sender's loss."""
        self.complete = True
        """Whether all frames that arrived are kept."""
        self._bytes = 0

    def note_sent(self, parts: Sequence[Buffer], *, to: int) -> None:
        """Note a frame that leaves; control frames are left out."""
        if parts[0][3] != FrameKind.MESSAGE:
            return
        digest = hashlib.sha256()
        for part in parts:
            digest.update(part)
        length = sum(map(len, parts))
        names = _names(parts)
        self.sent[to].append(SentFrame(*names, length, digest.digest(), _author()))

    def note_arrived(self, source: int, frame: memoryview) -> None:
        """Keep a frame that arrives, or the news of a loss; control frames are left out."""
        if frame is LOST and self.complete:
            self.arrived.append((source, None))
            return
        if len(frame) < 4 or frame[3] != FrameKind.MESSAGE or not self.complete:
            return
        self._bytes += len(frame)
        if self._bytes > MAX_TAPE_BYTES:
            self.complete = False
            self.arrived.clear()
            return
        self.arrived.append((source, bytes(frame)))

    def differences(
        self, replay: WireTape, *, to_the_end: bool, unreached: str = OTHER_NUMBER
    ) -> list[Difference]:
        """List the messages on this tape that the replay did not send as they were.

        Args:
            replay: what was sent in the replay.
            to_the_end: whether the replay ended. Otherwise messages that it did not reach are not
                compared.
            unreached: the reason for messages that it did not reach.
        """
        differences: list[Difference] = []
        for to in sorted(self.sent.keys() | replay.sent.keys()):
            first, second = self.sent.get(to, []), replay.sent.get(to, [])
            for number, frame in enumerate(first):
                if number < len(second) and not frame.is_as(second[number]):
                    reason = _reason(frame, second[number])
                    differences.append(Difference(to, number, frame.kind, reason))
                elif number >= len(second) and to_the_end:
                    differences.append(Difference(to, number, frame.kind, unreached))
            if len(second) > len(first):
                # The number itself tells of the records, so all messages of the kind count.
                kind = second[len(first)].kind
                numbers = [number for number, frame in enumerate(first) if frame.kind == kind]
                differences += [
                    Difference(to, number, kind, OTHER_NUMBER) for number in numbers or [len(first)]
                ]
        return differences


def _author() -> str:
    """Name the module whose code called a role's verb: the first on the stack that is not ours."""
    here = sys._getframe(1)  # noqa: SLF001
    room = __name__.rpartition(".")[0]
    frame: FrameType | None = here
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(f"{room}."):
        frame = frame.f_back
    return "" if frame is None else str(frame.f_globals.get("__name__"))


def _names(parts: Sequence[Buffer]) -> tuple[str, str]:
    """Read the kind and the phase from a frame's header, which is its first part."""
    head = memoryview(parts[0])
    length = int.from_bytes(head[4:8], "little")
    # The payload's length is left out, as the payload is not there.
    empty = bytes(head[:8]) + bytes(8) + bytes(head[16:length])
    header = unpack_header(memoryview(empty), limit=MAX_FRAME_BYTES).header
    return header.kind, header.phase


def _reason(first: SentFrame, second: SentFrame) -> str:
    if (first.kind, first.phase) != (second.kind, second.phase):
        return "which message the party sends depends on its records"
    if first.length != second.length:
        return "its size depends on records"
    return "its content depends on records"


class TapedWire:
    """A wire that notes all messages on a tape."""

    def __init__(self, wire: Wire, tape: WireTape) -> None:
        self.rank = wire.rank
        self.size = wire.size
        self._wire = wire
        self._tape = tape

    def clock(self) -> float:
        return self._wire.clock()

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        self._tape.note_sent(parts, to=to)
        self._wire.send(parts, to=to, timeout=timeout, more=more)

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        arrival = self._wire.arrive(timeout=timeout)
        if arrival is not None:
            self._tape.note_arrived(*arrival)
        return arrival

    def abort(self, status: int) -> NoReturn:
        self._wire.abort(status)


class ReplayedWire:
    """A wire without other roles: what arrives comes from a tape."""

    def __init__(self, tape: WireTape, *, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self.tape = WireTape()
        """What the replay sent."""
        self.ended = False
        """Whether the role waited for a frame that the tape does not have."""
        self._arrivals = iter(tape.arrived)

    def clock(self) -> float:
        return time.perf_counter()

    def send(
        self,
        parts: Sequence[Buffer],
        *,
        to: int,
        timeout: float,  # noqa: ARG002
        more: bool = False,  # noqa: ARG002
    ) -> None:
        self.tape.note_sent(parts, to=to)

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:  # noqa: ARG002
        arrival = next(self._arrivals, None)
        if arrival is None:
            self.ended = True
            raise TapeEnd
        source, frame = arrival
        return source, LOST if frame is None else memoryview(frame)

    def abort(self, status: int) -> NoReturn:
        raise PeerFailedError(f"the replay was ended with status {status}")
