"""The log of one role: what it sent, what it received, and what it drew from elsewhere.

A role is deterministic given what it received and its random streams. Its log holds the frames that
arrived, and a digest of each frame that left. A role that is started again reads both.

A file has a first line, `MAGIC`, and then records. Integers are little-endian:

    offset  bytes
         0      1   kind of the record
         1      1   0
         2      2   rank of the other role
         4      4   0
         8      8   length of the content
        16     16   random bytes
        32     16   first code
        48          content
                16  second code

*Codes.* The first one is HMAC-SHA256, cut to 16 bytes, of both codes of the record before and of
the head. The second one is GMAC of the content, under a key that HMAC-SHA256 derives from the same
bytes. The random bytes see to it that no such key is used twice. So no record can be changed,
moved, or taken from the middle without the role's key. GMAC takes a tenth of the time of a hash.

A process that is killed leaves at most one incomplete record, the last. It is dropped when the log
is opened again. The first code covers the length, so a record whose length was changed does not
look like an incomplete one.

Records at the end can be removed without the key. That is harmless: the role sends the same once
more, and asks the others for what it has lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import mmap
import os
import struct
import threading
from collections import defaultdict, deque
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Final, NamedTuple

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ..messages import ConversationError, PeerFailedError, UsageError
from ..messages.wire import Buffer

__all__ = ["RecordKind", "RoleLog"]

MAGIC: Final = b"sottovoce log 1\n"
CODE_BYTES: Final = 16
RANDOM_BYTES: Final = 16
NONCE_BYTES: Final = 12
HASH: Final = "sha256"
MAX_VECTOR: Final = 512
"""Parts that are written by one call of the system, which takes at least 1,024."""

MAX_PIECE_BYTES: Final = 1 << 30
"""Bytes that GMAC takes at a time."""

_HEAD: Final = struct.Struct("<BBHIQ16s")
_EDGE: Final = struct.Struct("<HQ")
HEAD_BYTES: Final = _HEAD.size + CODE_BYTES


class RecordKind(IntEnum):
    """Kind of a record."""

    HEADER = 0
    """Whose log it is."""
    SENT = 1
    """Digest of a message's frame that left."""
    ARRIVED = 2
    """A message's frame that arrived."""
    RANDOM = 3
    """A result of randomness that follows from no stream of the role."""


class Place(NamedTuple):
    """Where the content of a record is in the file."""

    peer: int
    start: int
    length: int


class RoleLog:
    """One role's log, open for what is added.

    What an earlier attempt has written is read in its order: arrived frames by `next_arrival`,
    digests of sent frames by `digest_of_sent`, other results of randomness by `next_random`.
    """

    def __init__(self, path: Path, *, key: bytes) -> None:
        """Open a log that exists, and drop an incomplete record at its end.

        Args:
            path: the file.
            key: the key of the codes.

        Raises:
            UsageError: a record was changed, or another process writes this log.
            OSError: the file cannot be read.
        """
        self.path = path
        self.header = b""
        """Whose log it is, in the words of its maker."""
        self.has_begun = False
        """Whether the log has more than its header: the role may have sent something."""
        self.arrived: dict[int, int] = defaultdict(int)
        """Number of frames by sender that the log held when it was opened."""
        self._keyed = hmac.new(key, digestmod=HASH)
        self._arrivals: deque[Place] = deque()
        self._sent: dict[int, list[bytes]] = defaultdict(list)
        self._random: deque[bytes] = deque()
        self._unsynced = True
        self._lock = threading.Lock()
        self._file: int | None = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        try:
            self._hold(self._file)
            self._view = _view(path)
            self._chain = MAGIC
            os.ftruncate(self._file, self._read(memoryview(self._view)))
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: Path, *, key: bytes, header: bytes) -> RoleLog:
        """Write a log that has only its header, onto the disk, and open it.

        Raises:
            OSError: it exists already, or cannot be written.
        """
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            _write_all(descriptor, [MAGIC])
        finally:
            os.close(descriptor)
        log = cls(path, key=key)
        log.append(RecordKind.HEADER, [header])
        log.header = header
        log.has_begun = False
        log.sync()
        return log

    def _hold(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"expected one process at a time to write the log {self.path}, found another: "
                "wait until the earlier run has ended"
            ) from None

    # ---- what is added

    def append(
        self, kind: RecordKind, content: Sequence[Buffer], *, peer: int = 0, sync: bool = False
    ) -> None:
        """Add a record; with `sync` it is on the disk when this returns.

        Raises:
            PeerFailedError: the log was closed, as the run has ended.
            ConversationError: the file cannot be written.
        """
        length = sum(map(len, content))
        head = _HEAD.pack(kind, 0, peer, 0, length, os.urandom(RANDOM_BYTES))
        with self._lock:
            if self._file is None:
                raise PeerFailedError("another role failed")
            first = self._head_code(head)
            second = self._content_code(head, content)
            try:
                _write_all(self._file, [head, first, *content, second])
            except OSError as error:
                self._close()  # Nothing may follow a record that is not whole.
                raise self._unwritable(error) from None
            self._chain = first + second
            self._unsynced = True
            self.has_begun = True
        if sync:
            self.sync()

    def sync(self) -> None:
        """Wait until everything that was added is on the disk."""
        with self._lock:
            if self._file is None:
                raise PeerFailedError("another role failed")
            if self._unsynced:
                try:
                    os.fdatasync(self._file)
                except OSError as error:
                    raise self._unwritable(error) from None
                self._unsynced = False

    def _unwritable(self, error: OSError) -> ConversationError:
        return ConversationError(
            f"expected to write the log {self.path}, found {error.strerror}: make room, and resume"
        )

    def close(self) -> None:
        """Close the file; whoever adds to it later learns that the run has ended."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.close(self._file)
        self._file = None

    # ---- what an earlier attempt wrote

    def next_arrival(self) -> tuple[int, memoryview] | None:
        """Give the next frame that arrived in an earlier attempt, with its sender."""
        if not self._arrivals:
            return None
        peer, start, length = self._arrivals.popleft()
        return peer, memoryview(self._view[start : start + length])

    def next_random(self) -> bytes | None:
        """Give the next result of randomness of an earlier attempt."""
        return self._random.popleft() if self._random else None

    def digest_of_sent(self, number: int, *, to: int) -> bytes | None:
        """Give the digest of a message's frame that an earlier attempt sent, if it is known."""
        digests = self._sent.get(to, [])
        return digests[number] if number < len(digests) else None

    def digest(self, frame: Sequence[Buffer], number: int, *, to: int) -> bytes:
        """Digest a message's frame under the key: nobody else can confirm a guess of its content.

        Only one version of a message is ever digested and kept, so no key is used twice.
        """
        return _gmac(self._hmac(b"frame", _EDGE.pack(to, number)), frame)

    def _hmac(self, *pieces: Buffer) -> bytes:
        code = self._keyed.copy()
        for piece in pieces:
            code.update(piece)
        return code.digest()

    def _head_code(self, head: Buffer) -> bytes:
        return self._hmac(b"head", self._chain, head)[:CODE_BYTES]

    def _content_code(self, head: Buffer, content: Sequence[Buffer]) -> bytes:
        return _gmac(self._hmac(b"content", self._chain, head), content)

    def _read(self, data: memoryview) -> int:
        """Check all records, note where they are, and return where the last complete one ends."""
        end = len(MAGIC)
        if bytes(data[:end]) != MAGIC:
            raise UsageError(
                f"expected a log of this version of sottovoce at {self.path}, found other bytes"
            )
        while len(data) - end >= HEAD_BYTES:
            head = data[end : end + _HEAD.size]
            first = bytes(data[end + _HEAD.size : end + HEAD_BYTES])
            if not hmac.compare_digest(first, self._head_code(head)):
                if not any(data[end:]):
                    break  # The system went down before the blocks of the file were written.
                raise self._changed(end)
            kind, _, peer, _, length, _ = _HEAD.unpack(head)
            start = end + HEAD_BYTES
            if len(data) - start < length + CODE_BYTES:
                break
            content = data[start : start + length]
            second = bytes(data[start + length : start + length + CODE_BYTES])
            if not hmac.compare_digest(second, self._content_code(head, [content])):
                raise self._changed(end)
            self._note(RecordKind(kind), peer, start, content)
            self._chain = first + second
            end = start + length + CODE_BYTES
        return end

    def _note(self, kind: RecordKind, peer: int, start: int, content: memoryview) -> None:
        self.has_begun |= kind != RecordKind.HEADER
        if kind is RecordKind.HEADER:
            self.header = bytes(content)
        elif kind is RecordKind.SENT:
            self._sent[peer].append(bytes(content))
        elif kind is RecordKind.ARRIVED:
            self._arrivals.append(Place(peer, start, len(content)))
            self.arrived[peer] += 1
        else:
            self._random.append(bytes(content))

    def _changed(self, position: int) -> UsageError:
        return UsageError(
            f"expected the log {self.path} as this role wrote it, found that it was changed at "
            f"byte {position}, or that its key is another one: restore both, or start a new run"
        )


def _gmac(key: bytes, content: Sequence[Buffer]) -> bytes:
    """Compute GMAC under a key that is used once."""
    cipher = Cipher(algorithms.AES256(key), modes.GCM(bytes(NONCE_BYTES))).encryptor()
    pieces: list[memoryview] = [memoryview(piece) for piece in content]
    for piece in pieces:
        for start in range(0, len(piece), MAX_PIECE_BYTES):
            cipher.authenticate_additional_data(piece[start : start + MAX_PIECE_BYTES])
    cipher.finalize()
    return cipher.tag


def _view(path: Path) -> mmap.mmap | bytes:
    """View a file's content. The view has a descriptor of its own, which holds no lock."""
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _write_all(descriptor: int, parts: Sequence[Buffer]) -> None:
    """Write all parts, which the system may take in several pieces."""
    views = deque(memoryview(part) for part in parts if len(part))
    while views:
        written = os.writev(descriptor, [views[i] for i in range(min(len(views), MAX_VECTOR))])
        while views and written >= len(views[0]):
            written -= len(views.popleft())
        if written:
            views[0] = views[0][written:]
