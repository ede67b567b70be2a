"""The exchange of frames between one role and all others.

It stands between a role, which thinks in messages, and the wire, which carries bytes. It sorts what
arrives by sender, waits, and handles control frames, which the layer sends for itself.

- A send waits until the receiver takes frames in, which it does in every verb. It never waits for
  the receiver to ask for this very message.
- Every wait for a message has a limit. It fails if the sender has ended its part: at once where one
  of the two is the curator, otherwise after about a second. It fails after some seconds if roles
  wait for each other in a circle (`deadlock`).
- Messages that come before they are asked for are kept, up to a bound (`unread`).
- What a role keeps for each other role is made when it is first needed. A role of a thousand mostly
  has few neighbours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from .ahead import FramesAhead
from .closing import unpack_counts
from .deadlock import MAX_PROBE_INTERVAL, PROBE_AFTER, DeadlockDetector, Probe
from .errors import (
    DeadlockError,
    MessageError,
    PeerFinishedError,
    PeerLostError,
    TimeoutExpired,
    role_name,
)
from .frame import MIN_HEADER_BYTES, Frame, FrameKind, Header, pack_header, unpack_header
from .phases import Phases
from .unread import UnreadMessages
from .wire import LOST, Buffer, Wire, WireTimeout

__all__ = ["FrameExchange"]

RELEASES: Final = bytes([FrameKind.RELEASES])
LONG_WAIT: Final = 60.0
"""Seconds after which a wait without a limit looks around. Nothing depends on it."""
NOTICE_SECONDS: Final = 5.0
"""Seconds within which the transport tells every role of a loss of which another has heard."""


class FrameExchange:
    """One role's frames: those that it sends, and those that have arrived."""

    def __init__(
        self,
        wire: Wire,
        *,
        protocol: str,
        phases: Phases,
        timeout: float,
        limit: int,
    ) -> None:
        """Make the exchange on one end of a wire.

        Args:
            wire: the role's end of the transport.
            protocol: the protocol's name, for headers.
            phases: the role's phases, which give the place for errors.
            timeout: seconds that any wait may last.
            limit: the longest frame that is accepted, in bytes.
        """
        self.sent: dict[int, int] = defaultdict(int)
        """Number of messages sent to each rank."""
        self.sent_bytes = 0
        self.received_bytes = 0
        self.lost: dict[int, str] = {}
        """Roles that are lost, in order, and the phase of this role when it learnt of the loss."""
        self.call_when_acting: Callable[[int], None] = lambda _: None
        """Called with a role upon whose loss this one acts, by doing something else than usual."""
        self._wire = wire
        self._protocol = protocol
        self._phases = phases
        self._timeout = timeout
        self._clock = wire.clock
        self._limit = limit
        self._unread = UnreadMessages(limit=limit)
        self._control_payloads: dict[tuple[FrameKind, int], memoryview] = {}
        self.ahead = FramesAhead()
        # Roles that have ended their part, and how many messages they say that they have sent.
        self._final_counts: dict[int, dict[int, int]] = {}
        self._is_ending = False
        # Roles that wait for this one, or that know that it has ended.
        self._waiting: set[int] = set()
        self._notified: set[int] = set()
        self._detector = DeadlockDetector(wire.rank)

    # ---- messages

    def send_message(
        self, parts: Sequence[Buffer], *, to: int, kind: str, more: bool = False
    ) -> None:
        """Send the parts of one message's frame; `more` messages to others may follow at once."""
        length = sum(map(len, parts))
        self._send(parts, to=to, content=f"{kind} ({length} bytes)", more=more)
        self.sent[to] += 1
        self.sent_bytes += length

    def next_message(self, kind: str, *, source: int) -> memoryview:
        """Take the next message's frame from `source`, waiting for it if need be.

        Raises:
            PeerFinishedError: `source` has ended its part.
            DeadlockError: this role is part of a circle of waiting roles.
            TimeoutExpired: nothing came within the timeout.
        """
        if not self._unread.of(source) and source not in self.lost:
            # Mostly it is there already. Of a lost role there is nothing more. What another one has
            # sent must not be taken in then: how far a role has read is the same in a replay.
            self._take_in(0)
        if not self._unread.of(source):
            self._wait_for_message(kind, source)
        return self._unread.pop(source)

    def _wait_for_message(self, kind: str, source: int) -> None:
        started = self._clock()
        next_probe = interval = PROBE_AFTER
        self._detector.begin(kind, source=source)
        while not self._unread.of(source):
            waited = self._clock() - started
            if source in self._final_counts:
                raise PeerFinishedError(
                    f"expected {kind} from {role_name(source)}, found that it has ended its part",
                    where=self._phases.where,
                )
            if self.acts_on_loss_of(source):
                raise self.loss_of(kind, source)
            if waited >= self._timeout:
                raise TimeoutExpired(
                    f"expected {kind} from {role_name(source)}, found nothing in "
                    f"{self._timeout:g} s: raise the timeout if that role needs longer",
                    where=self._phases.where,
                )
            if waited >= next_probe:
                self._send_probe(self._detector.probe(arrived=self._unread.arrived))
                interval = min(2 * interval, MAX_PROBE_INTERVAL)
                next_probe = waited + interval
            self._take_in(min(next_probe, self._timeout) - waited)
        self._detector.end()

    def loss_of(self, kind: str, source: int) -> PeerLostError:
        """Make the error of a wait for a message of a role that is lost."""
        return PeerLostError(
            f"expected {kind} from {role_name(source)}, found that its process was lost (killed, "
            "or out of memory)",
            where=self._phases.where,
        )

    def await_loss(self, rank: int, *, seconds: float) -> bool:
        """Take frames in until this role knows that another one is lost, or the time is up."""
        until = self._clock() + seconds
        while rank not in self.lost and (left := until - self._clock()) > 0:
            self._take_in(left)
        return self.acts_on_loss_of(rank)

    def acts_on_loss_of(self, rank: int) -> bool:
        """Tell whether another role is lost, and note that this one acts upon it if it is."""
        if rank not in self.lost:
            return False
        self.call_when_acting(rank)
        return True

    # ---- control frames

    def send_control(self, kind: FrameKind, payload: bytes, *, to: int) -> None:
        """Send a control frame: no message of the protocol, and not in the ledger."""
        if to in self.lost:
            return
        number = self.ahead.sent[to] if kind is FrameKind.RELEASES else 0
        header = pack_header(
            Header(kind, len(payload), number, self._wire.rank, to, self._protocol, "", "")
        )
        self._send([header, payload], to=to, content="a control frame")
        self.ahead.sent[to] += kind is FrameKind.RELEASES

    def await_control(self, kind: FrameKind, *, source: int) -> memoryview:
        """Wait for a control frame.

        The wait has no limit: the other role may still compute for hours.

        Raises:
            PeerLostError: it is lost. Where a loss ends the run, that ends this wait as well.
        """
        while (kind, source) not in self._control_payloads:
            if source in self.lost:
                raise self.loss_of("a closing frame", source)
            self._take_in(LONG_WAIT)
        return self._control_payloads.pop((kind, source))

    def _send_end(self, payload: bytes, *, to: int) -> None:
        if to not in self._notified:
            self._notified.add(to)
            self.send_control(FrameKind.END, payload, to=to)

    def _read_counts(self, payload: memoryview, *, source: int) -> dict[int, int]:
        try:
            return unpack_counts(payload, size=self._wire.size)
        except MessageError as error:
            self._refuse(*error.parts, f", from {role_name(source)}")

    # ---- frames

    def unpack(self, data: memoryview, *, source: int) -> Frame:
        """Take a frame apart; an error names the role that it came from."""
        try:
            return unpack_header(data, limit=self._limit)
        except MessageError as error:
            self._refuse(*error.parts, f", from {role_name(source)}")

    def _send(self, parts: Sequence[Buffer], *, to: int, content: str, more: bool = False) -> None:
        try:
            self._wire.send(parts, to=to, timeout=self._timeout, more=more)
        except WireTimeout as error:
            receiver = to if error.receiver is None else error.receiver
            raise TimeoutExpired(
                f"expected {role_name(receiver)} to take in {content}, found that it did not in "
                f"{self._timeout:g} s: raise the timeout if that role needs longer",
                where=self._phases.where,
            ) from None

    def take_in_arrived(self) -> None:
        """Take in all that has arrived, such as the news of a loss, without waiting."""
        while self._take_in(0):
            pass

    def _take_in(self, timeout: float) -> bool:
        """Take in the next frame, whoever has sent it; tell whether there was one."""
        try:
            arrival = self._wire.arrive(timeout=timeout)
        except MessageError as error:
            self._refuse(*error.parts)
        if arrival is None:
            return False
        source, data = arrival
        if source in self.lost and data[3:4] != RELEASES:
            return True  # What a lost role has released is charged, whenever it is heard of.
        if data is LOST:
            self.lost[source] = self._phases.current
            return True
        if len(data) > self._limit:
            self._refuse(
                f"expected frames of at most {self._limit} bytes, "
                f"found one of {len(data)} from {role_name(source)}"
            )
        self.received_bytes += len(data)
        if len(data) >= MIN_HEADER_BYTES and data[3] == FrameKind.MESSAGE:
            self._unread.put(data, source=source)
            if excess := self._unread.excess:
                self._refuse(excess)
        else:
            self._take_in_control(self.unpack(data, source=source), source)
        return True

    def _take_in_control(self, frame: Frame, source: int) -> None:
        rank = self._wire.rank
        if frame.header.sender != source or frame.header.receiver != rank:
            self._refuse(
                f"expected a control frame from {role_name(source)} for {role_name(rank)}, "
                f"found another's"
            )
        kind = FrameKind(frame.header.frame_kind)
        if kind is FrameKind.PROBE:
            self._waiting.add(source)
            if self._is_ending:
                self._send_end(b"", to=source)
            else:
                self._follow(frame.payload, source)
        elif kind is FrameKind.RELEASES:
            expected = len(self.ahead.arrived[source])
            if frame.header.sequence != expected:
                self._refuse(
                    f"expected releases {expected} of {role_name(source)} ahead of a message, "
                    f"found {frame.header.sequence}"
                )
            before = self._unread.arrived[source]
            self.ahead.note_arrived(frame.payload, source=source, messages=before)
        elif kind is FrameKind.END:
            self._final_counts[source] = self._read_counts(frame.payload, source=source)
        else:
            self._control_payloads[kind, source] = frame.payload

    def _follow(self, payload: memoryview, source: int) -> None:
        try:
            arrived = self._unread.arrived
            probe = self._detector.follow(payload, sent=self.sent[source], arrived=arrived)
        except DeadlockError as error:
            raise DeadlockError(*error.parts, where=self._phases.where) from None
        self._send_probe(probe)

    def _send_probe(self, probe: Probe | None) -> None:
        if probe is not None:
            self.send_control(FrameKind.PROBE, probe.payload, to=probe.to)

    def _refuse(self, *parts: str) -> NoReturn:
        raise MessageError(*parts, where=self._phases.where) from None
