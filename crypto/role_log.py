"""The log of one role: what it sent, what it received, and what it drew from elsewhere.

A role is deterministic given what it received and its random streams. Its log holds the frames that
arrived, and a digest of each frame that left. A role that is started again reads both.

`crypto.log_format` has the format of the file. No record can be changed, moved, or taken from the
middle without the role's key.

A process that is killed leaves at most one incomplete record, the last. It is dropped when the log
is opened again. The first code covers the length, so a record whose length was changed does not
look like an incomplete one.

Records at the end can be removed without the key, and an older copy of the log may be restored.
Then other roles know more of this one than its log does (`crypto.durable`, `runs.restored_logs`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from ..messages import ConversationError, PeerFailedError, UsageError
from ..messages.wire import Buffer
from .log_contents import LOSS, NO_WORK, LogContents, update_with_frame
from .log_format import HEAD, MAGIC, RANDOM_BYTES, RecordKind

__all__ = ["LogTakenError", "RecordKind", "RoleLog", "update_with_frame"]

LOCK_PATIENCE: Final = 3.0
"""Seconds in which a role of an attempt before, which was stopped just now, may end."""
MAX_VECTOR: Final = 512
"""Parts that are written by one call of the system, which takes at least 1,024."""


class LogTakenError(UsageError):
    """Another process writes the log, perhaps a role that has not heard yet that it must end."""


class RoleLog(LogContents):
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
            UsageError: a record was changed.
            LogTakenError: another process writes this log.
            OSError: the file cannot be read.
        """
        super().__init__(path, key=key)
        self._next_attempt: Callable[[], str] | None = None
        self._unsynced = True
        self._lock = threading.Lock()
        self._file: int | None = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        try:
            self._hold(self._file)
            os.ftruncate(self._file, self.read_records())
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
        log.sync()
        return log

    def _hold(self, descriptor: int) -> None:
        until = time.monotonic() + LOCK_PATIENCE
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < until:
                    time.sleep(0.05)
                    continue
                raise LogTakenError(
                    f"expected one process at a time to write the log {self.path}, found another: "
                    "wait until the earlier run has ended"
                ) from None
            return

    @property
    def has_begun(self) -> bool:
        """Whether the role has begun, so that it may have sent something."""
        return bool(self.attempts)

    def begin(self, phase: Callable[[], str]) -> None:
        """Note on the disk that the role begins, before it sends anything.

        A role that has begun before goes on: that is noted with the first record which is new, and
        with the phase of the role by then.

        Raises:
            ConversationError: the file cannot be written.
        """
        if self.attempts:
            self._next_attempt = phase
        else:
            self._note_attempt(phase())
            self.sync()

    def resumed_in(self) -> list[str]:
        """List the phases in which the role went on; it is empty where its part had ended."""
        return self.attempts[1:] + ([] if self._next_attempt is None else [""])

    def _note_attempt(self, phase: str) -> None:
        self._next_attempt = None
        self.append(RecordKind.ATTEMPT, [phase.encode()])
        self.attempts.append(phase)

    def note_restart(self) -> None:
        """Note on the disk that the log was opened once more, before any other role hears of it.

        Raises:
            ConversationError: the file cannot be written.
        """
        self.append(RecordKind.RESTART, [], sync=True)
        self.restarts += 1

    def note_peers(self, restarts: Sequence[int]) -> None:
        """Note on the disk how often the logs of all roles were opened once more, by rank.

        Raises:
            ConversationError: the file cannot be written.
        """
        packed = struct.pack(f"<{len(restarts)}Q", *restarts)
        self.append(RecordKind.PEERS, [packed], sync=True)
        self.peer_restarts = dict(enumerate(restarts))

    def note_loss(self, peer: int, *, before: int, order: int) -> None:
        """Add that the role goes on without another one.

        Args:
            peer: who was lost.
            before: number of frames that arrived before the loss.
            order: place among losses.

        Raises:
            PeerFailedError: the log was closed, as the run has ended.
            ConversationError: the file cannot be written.
        """
        self.append(RecordKind.LOST, [LOSS.pack(before, order)], peer=peer)

    def append(
        self, kind: RecordKind, content: Sequence[Buffer], *, peer: int = 0, sync: bool = False
    ) -> None:
        """Add a record; with `sync` it is on the disk when this returns.

        Raises:
            PeerFailedError: the log was closed, as the run has ended.
            ConversationError: the file cannot be written.
        """
        if self._next_attempt is not None:
            self._note_attempt(self._next_attempt())
        length = sum(map(len, content))
        head = HEAD.pack(kind, 0, peer, 0, length, os.urandom(RANDOM_BYTES))
        with self._lock:
            if self._file is None:
                raise PeerFailedError("another role failed")
            codes = (
                self._codes.of_head(self._chain, head),
                self._codes.of_content(self._chain, head, content),
            )
            try:
                _write_all(self._file, [head, codes[0], *content, codes[1]])
            except OSError as error:
                self._close()  # Nothing may follow a record that is not whole.
                raise self._unwritable(error) from None
            self._chain = b"".join(codes)
            self._unsynced = True
            self.records += kind not in NO_WORK
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

    def digest(self, frame: Sequence[Buffer], number: int, *, to: int) -> bytes:
        """Digest a message's frame under the key of the log."""
        return self._codes.of_frame(frame, number, to=to)


def _write_all(descriptor: int, parts: Sequence[Buffer]) -> None:
    """Write all parts, which the system may take in several pieces."""
    views = deque(memoryview(part) for part in parts if len(part))
    while views:
        written = os.writev(descriptor, [views[i] for i in range(min(len(views), MAX_VECTOR))])
        while views and written >= len(views[0]):
            written -= len(views.popleft())
        if written:
            views[0] = views[0][written:]
