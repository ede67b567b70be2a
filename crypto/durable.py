"""The wire of a durable run: it writes down what a role sends and receives, and replays it.

Every frame that arrives is in the role's log before the role reads it. Of every message that leaves
a digest is in the log before. When a role is started again, frames of its log arrive first. The
role, which is deterministic, makes the same messages as before:

- A message that its receiver has in its log is not sent again.
- A message that its receiver does not have was lost on its way. It is sent.
- A message whose digest differs from that in the log is an error. It is not sent, as two versions
  of one message, such as two noisy answers, may disclose more than one.

Control frames have no content of the protocol. They are neither logged nor replayed. Nor is a frame
that is not the next message of its sender: cut, with a false length, or repeated.

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
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NoReturn

from ..messages import MessageError, MisuseError, Wire, role_name
from ..messages.frame import FrameKind, unpack_header
from ..messages.wire import Buffer
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
        syncs: bool,
        syncs_all: bool = False,
    ) -> None:
        self.rank = wire.rank
        self.size = wire.size
        self._wire = wire
        self._log = log
        self._received = {peer: count for peer, count in received.items() if count}
        """Number of messages that each role has, until all of them were replayed."""
        self._expected = digests
        self._replayed: dict[int, Any] = {}
        """Digests of the messages that were made again so far."""
        self._syncs = syncs
        self._syncs_all = syncs_all
        self._arrived = Counter(log.arrived)
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
            return replayed
        if self._syncs and self._received:
            if timeout <= 0:
                return None
            raise self._older_copy()
        arrival = self._wire.arrive(timeout=timeout)
        if arrival is not None:
            source, frame = arrival
            if self._is_the_next_message(frame, source):
                self._log.append(RecordKind.ARRIVED, [frame], peer=source)
                self._arrived[source] += 1
                self._has_arrivals = True
        return arrival

    def _is_the_next_message(self, frame: memoryview, source: int) -> bool:
        """Tell whether a frame is the next message of its sender, by its header.

        Any other frame is passed on for the role to refuse. It is not in the log: the run then goes
        on with the message as it was sent.
        """
        if len(frame) <= 3 or frame[3] != FrameKind.MESSAGE:
            return False
        try:
            header = unpack_header(frame, limit=len(frame)).header
        except MessageError:
            return False
        return (header.sender, header.receiver, header.sequence) == (
            source,
            self.rank,
            self._arrived[source],
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
