"""A role: one speaker in the conversation, with the few verbs there are.

`send`, `receive`, `broadcast`, `gather` and `phase`. They block, so a protocol reads from top to
bottom, and they mean the same on every transport. A `Party` and a `Curator` are roles that know
more.

Rules that every role keeps, whatever the protocol:

- Frames from one role arrive in the order in which they were sent; sequence numbers are checked all the same.
- Sender and receiver must be in the same phase, and the receiver says which kind it expects.
- A send waits for the receiver to be in some verb (or to have room), never for the receiver to ask for this very message.
- Every wait has a limit. A wait for a role that has ended its part fails at once; so does a circle of roles that wait for
  each other (edge chasing after Chandy, Misra and Haas, 1983: a probe follows the waits and comes
  back).
"""

from __future__ import annotations

import hashlib
import struct
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from .errors import (
    ConversationError,
    DeadlockError,
    LedgerError,
    MessageError,
    MisuseError,
    PeerFinishedError,
    TimeoutExpired,
    Where,
    role_name,
)
from .frame import FIXED, Frame, Header, What, pack_header, unpack_header
from .ledger import Act
from .message import decode, encode, is_message
from .wire import FRAME_LIMIT, Wire, WireTimeout

__all__ = ["CURATOR", "DEFAULT_TIMEOUT", "Position", "Role", "Seal"]

M = TypeVar("M")

CURATOR: Final = 0
"""The curator's rank. Party i has rank i."""
DEFAULT_TIMEOUT: Final = 3600.0
PROBE_AFTER: Final = 1.0
"""Seconds of waiting after which a role asks whether it waits in a circle."""

_PROBE: Final = struct.Struct("<HQQ")


class Position(NamedTuple):
    """Where a role is, for progress and for the message when it is lost."""

    phase: str
    step: int
    doing: str
    sent_bytes: int
    received_bytes: int
    done: float
    of: float


class Seal(Protocol):
    """Makes what is said to one peer unreadable on the way; `crypto.sealed.Channel` is one."""

    def sealed_size(self, size: int) -> int: ...
    def seal(self, payload: bytes | memoryview, *, header: bytes, number: int) -> bytes: ...
    def open(self, sealed: memoryview, *, header: bytes, number: int) -> memoryview: ...


class _Wait(NamedTuple):
    source: int
    kind: str
    number: int


class Role:
    """One speaker."""

    def __init__(
        self,
        wire: Wire,
        *,
        protocol: str,
        kinds: Iterable[type[Any]],
        timeout: float = DEFAULT_TIMEOUT,
        clock: Callable[[], float] = time.perf_counter,
        limit: int = FRAME_LIMIT,
        transcript: bool = False,
    ) -> None:
        self.rank = wire.rank
        self.size = wire.size
        self.phase_seconds: dict[str, float] = {}
        self._acts: list[tuple[Any, ...]] = []
        self._wire = wire
        self._protocol = protocol
        self._kinds = {kind.__name__: kind for kind in kinds}
        self._timeout = timeout
        self._clock = clock
        self._start = clock()
        self._limit = limit
        self._phase = ""
        self._step = 0
        self._left = ("", 0)
        self._steps: dict[str, int] = defaultdict(int)
        self._sent = [0] * self.size
        self._arrived = [0] * self.size
        self._accepted = [0] * self.size
        self._seals: dict[int, Seal] = {}
        self._inboxes: list[deque[memoryview]] = [deque() for _ in range(self.size)]
        self._control: dict[tuple[What, int], memoryview] = {}
        self._ended: dict[int, int] = {}
        self._wait_number = 0
        self._wait: _Wait | None = None
        self._probed: set[tuple[int, int]] = set()
        self._doing: tuple[str, str, int] = ("", "", 0)
        self._bytes = [0, 0]
        self._progress = (0.0, 0.0)
        self._digests = {to: hashlib.sha256() for to in self.others} if transcript else None

    # ---- who is here

    @property
    def others(self) -> list[int]:
        """Everybody else, the curator first."""
        return [rank for rank in range(self.size) if rank != self.rank]

    @property
    def parties(self) -> range:
        """The ranks of all parties."""
        return range(1, self.size)

    @property
    def where(self) -> Where:
        phase, step = (self._phase, self._step) if self._phase else self._left
        return Where(self.rank, self._protocol, phase, step)

    @property
    def position(self) -> Position:
        """Look at this role from another thread."""
        verb, kind, peer = self._doing
        if verb == "waits":
            doing = f"waits for {kind} from {role_name(peer)}"
        else:
            doing = f"{verb} {kind} to {role_name(peer)}" if verb else ""
        sent, received = self._bytes
        where = self.where
        return Position(where.phase, where.step, doing, sent, received, *self._progress)

    @property
    def transcript(self) -> dict[str, str]:
        """One digest for each edge that leaves here, over all bytes sent on it (when asked for)."""
        return {
            f"{self.rank}->{to}": digest.hexdigest() for to, digest in (self._digests or {}).items()
        }

    @property
    def acts(self) -> list[Act]:
        """What this role sent and received, in its order."""
        return [Act(*act) for act in self._acts]

    # ---- the verbs

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Name what is said within. Phases nest: a sub-protocol's phase `sum` within `learn` is
        `learn/sum`.
        """
        if not name or "/" in name:
            raise MisuseError(
                f"expected a phase name without '/', found {name!r}", where=self.where
            )
        outer, outer_step = self._phase, self._step
        self._phase = f"{outer}/{name}" if outer else name
        self._step = self._steps[self._phase]
        entered = self._clock()
        yield  # after an exception the place stays as it was: that is where the error happened
        self.phase_seconds[self._phase] = (
            self.phase_seconds.get(self._phase, 0.0) + self._clock() - entered
        )
        self._left = (self._phase, self._step)
        self._phase, self._step = outer, outer_step
        self._progress = (0.0, 0.0)

    def send(self, said: object, *, to: int) -> None:
        """Send one message."""
        self._next("sends", type(said).__name__, to)
        self._say(said, to)

    def receive(self, kind: type[M], *, source: int) -> M:
        """Wait for one message of the kind expected from the role expected."""
        self._next("waits", kind.__name__, source)
        return self._hear(kind, source)

    def broadcast(self, said: object, *, to: Sequence[int] | None = None) -> None:
        """Send one message to everybody else, or to those named; one step, a ledger row for
        each.
        """
        self._next("sends", type(said).__name__, self.rank)
        for rank in self.others if to is None else to:
            self._doing = ("sends", type(said).__name__, rank)
            self._say(said, rank)

    def gather(self, kind: type[M], *, sources: Sequence[int] | None = None) -> list[M]:
        """Wait for one message from everybody else, or from those named; answers come in that
        order.
        """
        self._next("waits", kind.__name__, self.rank)
        heard = []
        for source in self.others if sources is None else sources:
            self._doing = ("waits", kind.__name__, source)
            heard.append(self._hear(kind, source))
        return heard

    def seal(self, peer: int, seal: Seal) -> None:
        """From here on seal every message to this peer, and accept only sealed ones from it. There
        is no way back.
        """
        if peer in self._seals:
            raise MisuseError(
                f"expected to seal the edge to {role_name(peer)} once, found it sealed",
                where=self.where,
            )
        self._seals[peer] = seal

    @property
    def sealed(self) -> frozenset[int]:
        """The peers with whom everything is sealed."""
        return frozenset(self._seals)

    def progress(self, done: float, *, of: float) -> None:
        """Tell the person how far a long computation is."""
        self._progress = (done, of)

    # ---- saying and hearing

    def _next(self, verb: str, kind: str, peer: int) -> None:
        self._steps[self._phase] += 1
        self._step = self._steps[self._phase]
        self._doing = (verb, kind, peer)
        if not self._phase:
            raise MisuseError(
                f"expected {kind} to be said within a phase: `with role.phase(name)`",
                where=self.where,
            )

    def _check(self, kind: type[Any], peer: int) -> None:
        if self._kinds.get(kind.__name__) is not kind:
            if not is_message(kind):
                raise MisuseError(
                    f"expected a message (a class under @message), found {kind.__name__}",
                    where=self.where,
                )
            known = ", ".join(self._kinds) or "none"
            raise MisuseError(
                f"expected a kind that {self._protocol} declares ({known}), found {kind.__name__}",
                where=self.where,
            )
        if not 0 <= peer < self.size or peer == self.rank:
            raise MisuseError(
                f"expected another role's rank, 0 to {self.size - 1}, found {peer}",
                where=self.where,
            )

    def _say(self, said: object, to: int) -> None:
        kind = type(said).__name__
        self._check(type(said), to)
        payload = encode(said)
        sequence = self._sent[to]
        seal = self._seals.get(to)
        size = payload.size if seal is None else seal.sealed_size(payload.size)
        header = pack_header(
            Header(0, size, sequence, self.rank, to, self._protocol, self._phase, kind)
        )
        length = len(header) + size
        if length > self._limit:
            raise MisuseError(
                f"expected frames of at most {self._limit} bytes, found {kind} of {length}",
                where=self.where,
            )
        parts: list[bytes | bytearray | memoryview] = [header]
        if seal is None:
            parts += payload.parts()
        else:
            parts.append(seal.seal(b"".join(payload.parts()), header=header, number=sequence))
        try:
            self._wire.send(parts, to=to, timeout=self._timeout)
        except WireTimeout:
            raise TimeoutExpired(
                f"expected {role_name(to)} to take in {kind} ({length} bytes), waited {self._timeout:g} s in vain",
                where=self.where,
            ) from None
        self._sent[to] = sequence + 1
        self._bytes[0] += length
        if self._digests is not None:
            for part in parts:
                self._digests[to].update(part)
        self._acts.append(
            (
                True,
                to,
                sequence,
                self._phase,
                self._step,
                kind,
                size,
                length,
                payload.ciphertext if seal is None else size,
                payload.user_bits,
                self._clock() - self._start,
            )
        )

    def _hear(self, kind: type[M], source: int) -> M:
        self._check(kind, source)
        name = kind.__name__
        inbox = self._inboxes[source]
        if not inbox:
            self._wait_for(name, source)
        frame = inbox.popleft()
        sequence = self._accepted[source]
        header_length = int.from_bytes(frame[4:8], "little")
        payload = len(frame) - header_length
        expected = Header(
            0, payload, sequence, source, self.rank, self._protocol, self._phase, name
        )
        if payload < 0 or bytes(frame[:header_length]) != pack_header(expected):
            self._refuse(frame, expected)
        body, seal = frame[header_length:], self._seals.get(source)
        try:
            if seal is not None:
                body = seal.open(body, header=bytes(frame[:header_length]), number=sequence)
            heard = decode(kind, body)
        except ValueError as error:
            raise MessageError(
                f"malformed {name} from {role_name(source)}: {error}", where=self.where
            ) from None
        except MessageError as error:
            raise MessageError(
                f"{error.what}, from {role_name(source)}", where=self.where
            ) from None
        self._accepted[source] = sequence + 1
        self._acts.append(
            (
                False,
                source,
                sequence,
                self._phase,
                self._step,
                name,
                payload,
                len(frame),
                0,
                0,
                self._clock() - self._start,
            )
        )
        return heard

    def _refuse(self, data: memoryview, expected: Header) -> None:
        """Say what is wrong with a frame that is not the one expected."""
        found = self._open(data, expected.sender).header
        source = role_name(expected.sender)
        if found.sender != expected.sender:
            self._blame(f"expected {source} as the sender, found {role_name(found.sender)}")
        if found.receiver != expected.receiver:
            self._blame(
                f"expected a frame for {role_name(self.rank)}, found one for {role_name(found.receiver)}"
            )
        if found.protocol != expected.protocol:
            self._blame(f"expected {expected.protocol}, found {found.protocol} from {source}")
        if found.sequence != expected.sequence:
            what = (
                "a replayed message"
                if found.sequence < expected.sequence
                else "a message was skipped"
            )
            self._blame(
                f"expected message {expected.sequence} from {source}, found {found.sequence}: {what}"
            )
        if found.kind not in self._kinds:
            self._blame(
                f"expected {expected.kind} from {source}, found an unknown kind, {found.kind!r}"
            )
        if (found.kind, found.phase) != (expected.kind, expected.phase):
            self._blame(
                f"expected {expected.kind} of phase {expected.phase} from {source}, found {found.kind} of phase {found.phase}"
            )
        self._blame(
            f"expected {expected.kind} from {source}, found a header that is not in its one form"
        )

    def _blame(self, what: str) -> None:
        raise MessageError(what, where=self.where)

    def _open(self, data: memoryview, source: int) -> Frame:
        try:
            return unpack_header(data, limit=self._limit)
        except MessageError as error:
            raise MessageError(
                f"{error.what}, from {role_name(source)}", where=self.where
            ) from None

    # ---- waiting

    def _wait_for(self, kind: str, source: int) -> None:
        """Wait until something from `source` is there."""
        inbox = self._inboxes[source]
        self._attend(0)  # mostly it is there already
        if inbox:
            return
        started = self._clock()
        probe_at = PROBE_AFTER
        self._wait_number += 1
        self._wait = _Wait(source, kind, self._wait_number)
        self._probed.clear()
        while not inbox:
            waited = self._clock() - started
            if source in self._ended:
                raise PeerFinishedError(
                    f"expected {kind} from {role_name(source)}, found that it has ended its part",
                    where=self.where,
                )
            if waited >= self._timeout:
                raise TimeoutExpired(
                    f"expected {kind} from {role_name(source)}, waited {self._timeout:g} s in vain",
                    where=self.where,
                )
            if waited >= probe_at:
                self._probe(self._wait)
                probe_at = waited + PROBE_AFTER
            self._attend(min(probe_at, self._timeout) - waited)
        self._wait = None

    def _attend(self, timeout: float) -> None:
        """Take in the next frame, whoever sent it."""
        try:
            arrived = self._wire.arrive(timeout=timeout)
        except MessageError as error:
            raise MessageError(error.what, where=self.where) from None
        if arrived is None:
            return
        source, data = arrived
        if len(data) > self._limit:
            self._blame(
                f"expected frames of at most {self._limit} bytes, found one of {len(data)} from {role_name(source)}"
            )
        self._bytes[1] += len(data)
        if len(data) >= FIXED and data[3] == 0:
            self._arrived[source] += 1
            self._inboxes[source].append(data)
            return
        frame = self._open(data, source)
        what = What(frame.header.what)
        if frame.header.sender != source or frame.header.receiver != self.rank:
            self._blame(
                f"expected a control frame from {role_name(source)} for {role_name(self.rank)}, found another's"
            )
        if what is What.PROBE:
            self._follow(source, frame.payload)
        elif what is What.END:
            self._ended[source] = frame.header.sequence
        else:
            self._control[what, source] = frame.payload

    def _probe(self, wait: _Wait) -> None:
        self._pass_on(
            self.rank,
            wait.number,
            f"{role_name(self.rank)} waits for {wait.kind} from {role_name(wait.source)}",
        )

    def _pass_on(self, initiator: int, number: int, story: str) -> None:
        if self._wait is not None:
            source = self._wait.source
            self.control(
                What.PROBE,
                _PROBE.pack(initiator, number, self._arrived[source]) + story.encode(),
                to=source,
            )

    def _follow(self, source: int, payload: memoryview) -> None:
        """Follow a probe from somebody who waits for us, if we wait too and nothing is on its way
        to them.

        Why a probe that comes back proves a circle: each hop is passed on only by a role that is
        blocked and has sent the one before it nothing that had not arrived there; so no hop can be
        set free except by the next.
        """
        if len(payload) < _PROBE.size or self._wait is None:
            return
        initiator, number, arrived = _PROBE.unpack_from(payload)
        if arrived != self._sent[source] or (initiator, number) in self._probed:
            return
        self._probed.add((initiator, number))
        story = str(payload[_PROBE.size :], "utf-8", "replace")
        if initiator != self.rank:
            mine = f"{role_name(self.rank)} waits for {self._wait.kind} from {role_name(self._wait.source)}"
            self._pass_on(initiator, number, f"{story}, {mine}")
        elif number == self._wait.number:
            raise DeadlockError(f"the roles wait for each other: {story}", where=self.where)

    # ---- control: what the layer itself says

    def control(self, what: What, payload: bytes, *, to: int, sequence: int = 0) -> None:
        """Send a control frame: not a message of the protocol, not in the ledger."""
        header = pack_header(
            Header(what, len(payload), sequence, self.rank, to, self._protocol, "", "")
        )
        try:
            self._wire.send([header, payload], to=to, timeout=self._timeout)
        except WireTimeout:
            raise TimeoutExpired(
                f"expected {role_name(to)} to take in a control frame, waited {self._timeout:g} s in vain",
                where=self.where,
            ) from None

    def await_control(self, what: What, *, source: int) -> memoryview:
        """Wait for a control frame, without limit: the other may still compute for hours, and its
        death ends us all.
        """
        while (what, source) not in self._control:
            self._attend(PROBE_AFTER)
        return self._control.pop((what, source))

    def end(self) -> None:
        """End this role's part: tell everybody, hear it from everybody, and find nothing left
        unread.
        """
        for other in self.others:
            self.control(What.END, b"", to=other, sequence=self._sent[other])
        self._doing = ("", "", 0)
        while len(self._ended) < self.size - 1:
            self._attend(PROBE_AFTER)
        for source in self.others:
            unread = self._inboxes[source]
            if unread:
                header = self._open(unread[0], source).header
                raise LedgerError(
                    f"expected nothing more from {role_name(source)}, found {len(unread)} unread: "
                    f"{header.kind} of phase {header.phase} was never received",
                    where=self.where,
                )
            if self._ended[source] != self._accepted[source]:
                raise LedgerError(
                    f"expected {self._ended[source]} messages from {role_name(source)}, found {self._accepted[source]}",
                    where=self.where,
                )

    def place(self, error: ConversationError) -> ConversationError:
        """Add this role's place to an error that does not have one yet."""
        if error.where is None:
            error.where = self.where
        return error
