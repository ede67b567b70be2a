"""What a role's log holds when it is opened: the records of earlier attempts (`role_log`)."""

from __future__ import annotations

import hashlib
import hmac
import mmap
import os
import struct
from collections import defaultdict, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..messages import UsageError
from ..messages.wire import LOST, Buffer
from .log_format import CODE_BYTES, HEAD, HEAD_BYTES, MAGIC, LogCodes, RecordKind

__all__ = ["LOSS", "NO_WORK", "LogContents", "update_with_frame"]

NO_WORK: Final = frozenset({RecordKind.RESTART, RecordKind.PEERS, RecordKind.RELEASED})
"""Records of no message and no randomness."""
COUNT_BYTES: Final = 8
LOSS: Final = struct.Struct("<QQ")
"""Number of frames that arrived before a loss, and its place among losses."""


class Place(NamedTuple):
    """Where the content of a record is in the file."""

    peer: int
    start: int
    length: int
    kind: RecordKind


class LogContents:
    """The records of a log, checked, in the order in which a role reads them again."""

    def __init__(self, path: Path, *, key: bytes) -> None:
        """Begin with none: `read_records` reads the file.

        Args:
            path: the file.
            key: the key of the codes.
        """
        self.path = path
        self.header = b""
        """Whose log it is, in the words of its maker."""
        self.records = 0
        """Number of records of what the role did; starts are none."""
        self.restarts = 0
        """Number of times that the log was opened once more, to go on."""
        self.peer_restarts: dict[int, int] = {}
        """Number of such times of each other role's log, as far as this role has heard."""
        self.attempts: list[str] = []
        """The phases in which the role began, which is outside of all, and went on."""
        self.arrived: dict[int, int] = defaultdict(int)
        """Number of messages by sender that the log held when it was opened."""
        self.arrived_ahead: dict[int, int] = defaultdict(int)
        """Number of frames ahead of messages, by sender."""
        self.lost: set[int] = set()
        """Roles without which this one had gone on when the log was opened."""
        self.has_released = False
        """Whether something of records may have left in the messages that the log names."""
        self._codes = LogCodes(key)
        self._chain = MAGIC
        self._view: mmap.mmap | bytes = b""
        self._arrivals: deque[Place] = deque()
        self._losses: list[tuple[int, int, Place]] = []
        self._left_ahead: dict[int, list[Place]] = defaultdict(list)
        self._sent: dict[int, list[bytes]] = defaultdict(list)
        self._random: deque[bytes] = deque()

    def next_arrival(self) -> tuple[int, memoryview] | None:
        """Give the next frame, or loss, that arrived in an earlier attempt, with its sender."""
        if not self._arrivals:
            return None
        place = self._arrivals.popleft()
        return place.peer, LOST if place.kind is RecordKind.LOST else self._content(place)

    def digests_of_arrived(self) -> dict[int, bytes]:
        """Digest the messages that arrived in earlier attempts, by sender, in their order.

        The sender can check by it that what it makes again is what has arrived.
        """
        digests: dict[int, Any] = {}
        for place in self._arrivals:
            if place.kind is RecordKind.ARRIVED:
                digest = digests.setdefault(place.peer, hashlib.sha256())
                update_with_frame(digest, [self._content(place)])
        return {peer: digest.digest() for peer, digest in digests.items()}

    def left_ahead(self, *, to: int) -> list[memoryview]:
        """List the frames that left ahead of messages to a role."""
        return [self._content(place) for place in self._left_ahead.get(to, [])]

    @property
    def frames(self) -> int:
        """Number of frames that had arrived when the log was opened."""
        return sum(self.arrived.values()) + sum(self.arrived_ahead.values())

    @property
    def losses(self) -> int:
        """A place among losses after all that the log has."""
        return 1 + max((order for _, order, _ in self._losses), default=-1)

    def next_random(self) -> bytes | None:
        """Give the next result of randomness of an earlier attempt."""
        return self._random.popleft() if self._random else None

    def digest_of_sent(self, number: int, *, to: int) -> bytes | None:
        """Give the digest of a message's frame that an earlier attempt sent, if it is known."""
        digests = self._sent.get(to, [])
        return digests[number] if number < len(digests) else None

    def _content(self, place: Place) -> memoryview:
        return memoryview(self._view)[place.start : place.start + place.length]

    def read_records(self) -> int:
        """Check all records, note where they are, and return where the last complete one ends.

        Raises:
            UsageError: a record was changed.
            OSError: the file cannot be read.
        """
        self._view = _view(self.path)
        data = memoryview(self._view)
        end = len(MAGIC)
        if bytes(data[:end]) != MAGIC:
            raise UsageError(
                f"expected a log of this version of sottovoce at {self.path}, found other bytes"
            )
        while len(data) - end >= HEAD_BYTES:
            head = data[end : end + HEAD.size]
            first = bytes(data[end + HEAD.size : end + HEAD_BYTES])
            if not hmac.compare_digest(first, self._codes.of_head(self._chain, head)):
                if not any(data[end:]):
                    break  # The system went down before the blocks of the file were written.
                raise self._changed(end)
            kind, _, peer, _, length, _ = HEAD.unpack(head)
            start = end + HEAD_BYTES
            if len(data) - start < length + CODE_BYTES:
                break
            content = data[start : start + length]
            second = bytes(data[start + length : start + length + CODE_BYTES])
            if not hmac.compare_digest(
                second, self._codes.of_content(self._chain, head, [content])
            ):
                if not any(data[start + length :]):
                    break  # As above, within the last record.
                raise self._changed(end)
            self._note(Place(peer, start, length, RecordKind(kind)), content)
            self._chain = first + second
            end = start + length + CODE_BYTES
        for before, _, place in sorted(self._losses, reverse=True):
            self._arrivals.insert(before, place)  # The last one first: it shifts no other.
        return end

    def _note(self, place: Place, content: memoryview) -> None:
        peer, kind = place.peer, place.kind
        self.records += kind not in NO_WORK
        if kind is RecordKind.HEADER:
            self.header = bytes(content)
        elif kind is RecordKind.SENT:
            self._sent[peer].append(bytes(content))
        elif kind in (RecordKind.ARRIVED, RecordKind.AHEAD):
            self._arrivals.append(place)
            self.arrived[peer] += kind is RecordKind.ARRIVED
            self.arrived_ahead[peer] += kind is RecordKind.AHEAD
        elif kind is RecordKind.LEFT_AHEAD:
            self._left_ahead[peer].append(place)
        elif kind is RecordKind.LOST:
            before, order = LOSS.unpack(content)
            self._losses.append((before, order, place))
            self.lost.add(peer)
        elif kind is RecordKind.RANDOM:
            self._random.append(bytes(content))
        elif kind is RecordKind.RELEASED:
            self.has_released = True
        elif kind is RecordKind.RESTART:
            self.restarts += 1
        elif kind is RecordKind.PEERS:
            counts = struct.unpack(f"<{len(content) // COUNT_BYTES}Q", content)
            self.peer_restarts = dict(enumerate(counts))
        else:
            self.attempts.append(bytes(content).decode())

    def _changed(self, position: int) -> UsageError:
        return UsageError(
            f"expected the log {self.path} as this role wrote it, found that it was changed at "
            f"byte {position}, or that its key is another one: restore both, or start a new run"
        )


def update_with_frame(digest: Any, frame: Sequence[Buffer]) -> None:
    """Let a digest go on with one more frame, and its length."""
    digest.update(sum(map(len, frame)).to_bytes(COUNT_BYTES, "little"))
    for part in frame:
        digest.update(part)


def _view(path: Path) -> mmap.mmap | bytes:
    """View a file's content. The view has a descriptor of its own, which holds no lock."""
    with path.open("rb") as file:
        is_empty = not os.fstat(file.fileno()).st_size
        return b"" if is_empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
