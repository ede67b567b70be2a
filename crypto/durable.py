"""The wire of a durable run: it writes down what a role sends and receives, and replays it.

Every frame that arrives is in the role's log before the role reads it. Of every message that leaves
a digest is in the log before. When a role is started again, frames of its log arrive first. The
role, which is deterministic, makes the same messages as before:

- A message that its receiver has in its log is not sent again.
- A message that its receiver does not have was lost on its way. It is sent.
- A message whose digest differs from that in the log is an error. It is not sent, as two versions
  of one message, such as two noisy answers, may disclose more than one.

*Losses.* With `--on-loss continue` a role learns of the loss of another one between two messages,
and does something else from then on. So losses are in the log before the next message leaves, with
their places among what arrived. When the run goes on they are replayed, too. A role without which
another one has gone on stays lost for all. One whose loss nobody has acted upon is back.

What a party tells of its releases ahead of a message is in the log like messages are. It is sent
again, and whoever has it drops it by its number. Other control frames are neither logged nor
replayed. Nor is a frame that is not the next message of its sender: cut, with a false length, or
repeated.

*Older copies.* A log that was restored from a copy lacks what the role has received since, and the
others may have messages which the role sent after that. It must not answer another question in the
place of the one that it has forgotten: its noise would be the same. So a party that has made fewer
messages than another role has of it takes nothing new from the wire.

This refuses no log that is the newest. Before a party sends a message, all that it has read is on
the disk. So what a party needs to make any message that has left is in its log, even if the system
went down. Reading from the log it comes to that message without waiting for anything else.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NoReturn

from ..messages import CURATOR, MessageError, MisuseError, Wire, role_name
from ..messages.frame import FrameKind, unpack_header
from ..messages.wire import LOST, Buffer
from .role_log import RecordKind, RoleLog, update_with_frame

__all__ = ["DurableWire"]

SEQUENCE: Final = slice(16, 24)
"""Place of a message's number on its edge in the header of a frame (`messages.frame`)."""


class DurableWire:
    """One role's end of a wire, with a log.

    Args:
        wire: the end itself.
        log: the role's log.
        received: how many of this role's messages each other role has in its log.
        digests: of all these messages, by role, where it has sent one.
        lost: roles without which some role has gone on. They stay lost, so they play no part.
        syncs: whether what arrived must be on the disk before the role answers. A party needs it:
            its answer to another question, with the same noise, must not follow if the system goes
            down in between.
        syncs_all: whether the digest of every message must be on the disk before it leaves. Only a
            part whose randomness may come from elsewhere needs it: another message in the place
            of one that has left must be noticed, though the system went down in between.
    """

    def __init__(
        self,
        wire: Wire,
        log: RoleLog,
        *,
        received: Mapping[int, int],
        digests: Mapping[int, bytes] = MappingProxyType({}),
        lost: Collection[int] = (),
        syncs: bool,
        syncs_all: bool = False,
    ) -> None:
        self.rank = wire.rank
        self.size = wire.size
        self._wire = wire
        self._log = log
        self._received = {
            peer: count for peer, count in received.items() if count and peer not in lost
        }
        """Number of messages that each role has, until all of them were replayed."""
        self._expected = digests
        self._replayed: dict[int, Any] = {}
        """Digests of the messages that were made again so far."""
        self._syncs = syncs
        self._syncs_all = syncs_all
        self._lost_elsewhere = sorted({*lost} - log.lost)
        """Losses that other roles have noted, and this one has still to learn of."""
        self._lost = {*log.lost}
        self._unlogged: dict[int, int] = {}
        """Losses that this role knows of, and has not acted upon: how much arrived before each."""
        self._taken = 0
        """Number of frames and losses that the role has taken in."""
        self._arrived = Counter(log.arrived)
        self._arrived_ahead = Counter(log.arrived_ahead)
        self._has_arrivals = bool(log.arrived)

    def clock(self) -> float:
        return self._wire.clock()

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        if parts[0][3] == FrameKind.MESSAGE:
            number = int.from_bytes(parts[0][SEQUENCE], "little")
            self._note_sent(parts, number, to=to)
            if number < self._received.get(to, 0):
                self._note_replayed(parts, number, to=to)
                return
            if self._syncs_all or (self._syncs and self._has_arrivals):
                self._log.sync()
                self._has_arrivals = False
        # The last frame of a broadcast is held for all. While it may be one that its receiver has,
        # each frame is held by itself.
        self._wire.send(parts, to=to, timeout=timeout, more=more and not self._received)

    def _note_sent(self, parts: Sequence[Buffer], number: int, *, to: int) -> None:
        digest = self._log.digest(parts, number, to=to)
        before = self._log.digest_of_sent(number, to=to)
        if before is None:
            self._note_losses()
            self._log.append(RecordKind.SENT, [digest], peer=to)
        elif not hmac.compare_digest(before, digest):
            raise MisuseError(
                f"expected message {number} to {role_name(to)} as it was before the run stopped, "
                "found another: its randomness is not from the role's streams, or this host or "
                "its libraries compute differently"
            )

    def _note_replayed(self, parts: Sequence[Buffer], number: int, *, to: int) -> None:
        """Count a message that its receiver has, and compare the last with what arrived there."""
        digest = self._replayed.setdefault(to, hashlib.sha256())
        update_with_frame(digest, parts)
        if number + 1 < self._received[to]:
            return
        del self._received[to]
        expected = self._expected.get(to)
        if expected is not None and not hmac.compare_digest(expected, digest.digest()):
            raise MisuseError(
                f"expected to make the {number + 1} messages again that {role_name(to)} has "
                f"received before the run stopped, found others: the log {self._log.path} may be "
                "an older copy; restore the newest one, or start a new run"
            )

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        replayed = self._log.next_arrival()
        if replayed is not None:
            self._taken += 1
            return replayed
        if self._syncs and self._received:
            if timeout <= 0:
                return None
            raise self._older_copy()
        while True:
            if self._lost_elsewhere:
                source, frame = self._lost_elsewhere.pop(0), LOST
            elif (arrival := self._wire.arrive(timeout=timeout)) is None:
                return None
            else:
                source, frame = arrival
            if self._takes(frame, source):
                return source, frame

    def _takes(self, frame: memoryview, source: int) -> bool:
        """Write down what the role will take in; tell whether it is to take in this frame.

        A frame ahead of messages that comes once more was sent again by a role that goes on. A
        message that is not the next one of its sender is passed on for the role to refuse. It is
        not in the log: the run then goes on with the message as it was sent.
        """
        if frame is LOST:
            if source not in self._lost | {CURATOR}:  # No role goes on without the curator.
                self._lost.add(source)
                self._unlogged[source] = self._taken
                self._taken += 1
            return True
        kind = frame[3] if len(frame) > 3 else None
        number = self._number_of(frame, source)
        if kind == FrameKind.RELEASES and number is not None:
            if number < self._arrived_ahead[source]:
                return False
            self._log.append(RecordKind.AHEAD, [frame], peer=source)
            self._arrived_ahead[source] += 1
            self._taken += 1
        elif kind == FrameKind.MESSAGE and number == self._arrived[source]:
            self._log.append(RecordKind.ARRIVED, [frame], peer=source)
            self._arrived[source] += 1
            self._taken += 1
            self._has_arrivals = True
        return True

    def _number_of(self, frame: memoryview, source: int) -> int | None:
        """Read the number of a frame; `None` if it is none of this sender for this role."""
        try:
            header = unpack_header(frame, limit=len(frame)).header
        except MessageError:
            return None
        is_right = (header.sender, header.receiver) == (source, self.rank)
        return header.sequence if is_right else None

    def _note_losses(self) -> None:
        """Write down the losses in whose knowledge the role sends a message.

        That is not done before. If a launcher is killed all roles end, one after the other, and
        that another one was lost meanwhile must not decide how the run goes on.
        """
        for lost, before in self._unlogged.items():
            self._log.note_loss(lost, before=before)
            self._has_arrivals = True
        self._unlogged.clear()

    def _older_copy(self) -> MisuseError:
        peer, count = next(iter(self._received.items()))
        return MisuseError(
            f"expected all in the log {self._log.path} that led to message {count - 1} to "
            f"{role_name(peer)}, which has received it, found less: the log is an older copy, or "
            "was cut; restore the newest one, or start a new run"
        )

    def abort(self, status: int) -> NoReturn:
        self._wire.abort(status)
