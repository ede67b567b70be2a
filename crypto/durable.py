"""The wire of a durable run: it writes down what a role sends and receives, and replays it.

Every frame that arrives is in the role's log before the role reads it. Of every message that leaves
a digest is in the log before. When a role is started again, frames of its log arrive first. The
role, which is deterministic, makes the same messages as before:

- A message that its receiver has in its log is not sent again.
- A message that its receiver does not have was lost on its way. It is sent.
- A message whose digest differs from that in the log is an error. It is not sent, as two versions
  of one message, such as two noisy answers, may disclose more than one.

*Losses.* Where a run goes on without lost parties, a role learns of a loss between two messages,
and may do something else from then on. If it does, the loss is in its log, with its place among
what arrived, before anything further leaves: a message, or an account of releases. When the run
goes on the loss is replayed, too. A role upon whose loss another one has acted stays lost for all.
One upon whose loss nobody has acted is back. So nobody acts upon losses that leave too few parties:
the run ends instead, and goes on with those who come back.

*Releases.* Before the first message that may carry something of records, a party notes that on its
disk. So whoever finds the log of a run that failed knows whether it has spent anything.

A party sends an account of its releases ahead of a message. The account is in its log before it
leaves, and in that of its receiver like messages are. It is made again as it was, as a message must
be, and sent again. Whoever has it drops it by its number. Of a party that stays lost the curator
gets from its log what it has not received. Other control frames are neither logged nor replayed.
Nor is a frame that is not the next one of its sender: cut, with a false length, or repeated.

*Older copies.* A log that was restored from a copy lacks what the role has received since, and the
others may have messages which the role sent after that. It must not answer another question in the
place of the one that it has forgotten: its noise would be the same. So a party that has made fewer
messages than another role has of it takes nothing new from the wire.

This refuses no log that is the newest. Before a party sends a message, all that it has read is on
the disk. So what a party needs to make any message that has left is in its log, even if the system
went down. Reading from the log it comes to that message without waiting for anything else. Where a
run goes on without lost parties all this holds for the curator, too: what a lost party has sent to
it comes no second time, and others act upon what it says of a loss.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NoReturn

from ..messages import MessageError, MisuseError, PeerLostError, Wire, role_name
from ..messages.frame import FrameKind, unpack_header
from ..messages.wire import LOST, Buffer
from .noted_losses import NotedLosses
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
        released: frames of releases that these have sent to this role, or could not send any more.
        goes_on: whether the run goes on without lost parties.
        fewest: the fewest parties with which it does.
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
        released: Mapping[int, Sequence[Buffer]] = MappingProxyType({}),
        goes_on: bool = False,
        fewest: int = 0,
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
        self._gone = frozenset(lost)
        self._elsewhere: deque[tuple[int, memoryview]] = deque(
            (peer, memoryview(frame)) for peer, frames in released.items() for frame in frames
        )
        """What arrives when all of the log has: what lost roles have released, and their losses."""
        self._elsewhere += [(peer, LOST) for peer in sorted(self._gone - log.lost)]
        self.has_released: Callable[[], bool] = lambda: True
        """Tells whether a message that is about to leave may carry something of records."""
        self._losses = NotedLosses(log, goes_on=goes_on)
        self._fewest = fewest
        self._arrived = Counter(log.arrived)
        self._arrived_ahead = Counter(log.arrived_ahead)
        self._logged_ahead = {peer: log.left_ahead(to=peer) for peer in range(wire.size)}
        self._left_ahead = {peer: len(frames) for peer, frames in self._logged_ahead.items()}
        self._must_sync = bool(log.arrived)
        """Whether something must be on the disk before a party's next message leaves."""

    def clock(self) -> float:
        return self._wire.clock()

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float, more: bool = False) -> None:
        kind, number = parts[0][3], int.from_bytes(parts[0][SEQUENCE], "little")
        if kind == FrameKind.MESSAGE:
            self._note_sent(parts, number, to=to)
            if number < self._received.get(to, 0):
                self._note_replayed(parts, number, to=to)
                return
            if self._syncs_all or (self._syncs and self._must_sync):
                self._sync()
        elif kind == FrameKind.RELEASES:
            self._note_ahead(parts, number, to=to)
        if to in self._gone:
            return  # Its process plays no part, and takes nothing in.
        # The last frame of a broadcast is held for all. While it may be one that its receiver has,
        # each frame is held by itself.
        is_held = more and not self._received and not self._gone
        self._wire.send(parts, to=to, timeout=timeout, more=is_held)

    def _sync(self) -> None:
        self._log.sync()
        self._must_sync = False

    def _note_sent(self, parts: Sequence[Buffer], number: int, *, to: int) -> None:
        digest = self._log.digest(parts, number, to=to)
        before = self._log.digest_of_sent(number, to=to)
        if before is None:
            self._must_sync |= self._note_losses()
            if not self._log.has_released and self.has_released():
                self._log.append(RecordKind.RELEASED, [])
                self._log.has_released = True
                self._must_sync = True
            self._log.append(RecordKind.SENT, [digest], peer=to)
        elif not hmac.compare_digest(before, digest):
            raise self._other_version("message", number, to=to)

    def _note_losses(self) -> bool:
        """Write down upon which losses the role has acted, and tell whether there were any.

        Raises:
            PeerLostError: too few parties would be left. Nothing is written down.
        """
        lost = self._losses.parties | self._gone
        left = self.size - 1 - len(lost)
        if self._losses.is_acting and left < self._fewest:
            names = ", ".join(map(role_name, sorted(lost)))
            raise PeerLostError(
                f"expected at least {self._fewest} parties, found {left}: lost were {names}"
            )
        return self._losses.write()

    def _note_ahead(self, parts: Sequence[Buffer], number: int, *, to: int) -> None:
        """Write down an account of releases, or compare it with the one that left before.

        It is on the disk with all that led to it, as the message is that follows it.
        """
        before = self._logged_ahead[to]
        if number < len(before) and not hmac.compare_digest(b"".join(parts), before[number]):
            raise self._other_version("account of releases", number, to=to)
        if number >= self._left_ahead[to]:
            self._note_losses()
            self._log.append(RecordKind.LEFT_AHEAD, parts, peer=to)
            self._left_ahead[to] += 1
            self._sync()

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
            self._losses.taken += replayed[1] is not LOST
            return replayed
        if self._syncs and self._received:
            if timeout <= 0:
                return None
            raise self._older_copy()
        while True:
            arrival = (
                self._elsewhere.popleft() if self._elsewhere else self._wire.arrive(timeout=timeout)
            )
            if arrival is None or self._takes(arrival[1], arrival[0]):
                return arrival

    def note_acting(self, peer: int) -> None:
        """Note that the role does something else as another one is lost."""
        self._losses.note_acting(peer)

    def _takes(self, frame: memoryview, source: int) -> bool:
        """Write down what the role will take in; tell whether it is to take in this frame.

        A frame ahead of messages that comes once more was sent again by a role that goes on. A
        frame that is not the next one of its sender is passed on for the role to refuse. It is not
        in the log: the run then goes on with the frame as it was sent.
        """
        if frame is LOST:
            self._losses.hear(source)
            return True
        kind = frame[3] if len(frame) > 3 else None
        number = self._number_of(frame, source)
        if kind == FrameKind.RELEASES and number is not None:
            if number < self._arrived_ahead[source]:
                return False
            if number == self._arrived_ahead[source]:
                self._keep(RecordKind.AHEAD, frame, source)
                self._arrived_ahead[source] += 1
        elif kind == FrameKind.MESSAGE and number == self._arrived[source]:
            self._keep(RecordKind.ARRIVED, frame, source)
            self._arrived[source] += 1
        return True

    def _keep(self, kind: RecordKind, frame: memoryview, source: int) -> None:
        self._log.append(kind, [frame], peer=source)
        self._losses.taken += 1
        self._must_sync = True

    def _number_of(self, frame: memoryview, source: int) -> int | None:
        """Read the number of a frame; `None` if it is none of this sender for this role."""
        try:
            header = unpack_header(frame, limit=len(frame)).header
        except MessageError:
            return None
        is_right = (header.sender, header.receiver) == (source, self.rank)
        return header.sequence if is_right else None

    @staticmethod
    def _other_version(what: str, number: int, *, to: int) -> MisuseError:
        return MisuseError(
            f"expected {what} {number} to {role_name(to)} as it was before the run stopped, found "
            "another: its randomness is not from the role's streams, or this host or its libraries "
            "compute differently"
        )

    def _older_copy(self) -> MisuseError:
        peer, count = next(iter(self._received.items()))
        return MisuseError(
            f"expected all in the log {self._log.path} that led to message {count - 1} to "
            f"{role_name(peer)}, which has received it, found less: the log is an older copy, or "
            "was cut; restore the newest one, or start a new run"
        )

    def abort(self, status: int) -> NoReturn:
        self._wire.abort(status)
