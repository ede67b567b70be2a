"""The exchange of frames between one role and all others.

It stands between a role, which thinks in messages, and the wire, which carries bytes. It sorts what
arrives by sender, waits, and handles control frames, which the layer sends for itself.

- A send waits until the receiver takes frames in, which it does in every verb. It never waits for
  the receiver to ask for this very message.
- Every wait for a message has a limit. It fails at once if the sender has ended its part, and after
  about two seconds if roles wait for each other in a circle (`deadlock`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NoReturn

from .deadlock import PROBE_AFTER, DeadlockDetector, Probe
from .errors import (
    DeadlockError,
    LedgerError,
    MessageError,
    PeerFinishedError,
    TimeoutExpired,
    role_name,
)
from .frame import MIN_HEADER_BYTES, Frame, FrameKind, Header, pack_header, unpack_header
from .phases import Phases
from .wire import Buffer, Wire, WireTimeout

__all__ = ["FrameExchange"]


class FrameExchange:
    """One role's frames: those that it sends, and those that have arrived."""

    def __init__(
        self,
        wire: Wire,
        *,
        protocol: str,
        phases: Phases,
        timeout: float,
        clock: Callable[[], float],
        limit: int,
    ) -> None:
        """Make the exchange on one end of a wire.

        Args:
            wire: the role's end of the transport.
            protocol: the protocol's name, for headers.
            phases: the role's phases, which give the place for errors.
            timeout: seconds that any wait may last.
            clock: returns seconds.
            limit: the longest frame that is accepted, in bytes.
        """
        self.sent = [0] * wire.size
        """Number of messages sent to each rank."""
        self.sent_bytes = 0
        self.received_bytes = 0
        self._wire = wire
        self._protocol = protocol
        self._phases = phases
        self._timeout = timeout
        self._clock = clock
        self._limit = limit
        self._arrived = [0] * wire.size
        self._messages: list[deque[memoryview]] = [deque() for _ in range(wire.size)]
        self._control_payloads: dict[tuple[FrameKind, int], memoryview] = {}
        # How many messages each role that has ended its part has sent here.
        self._final_counts: dict[int, int] = {}
        self._detector = DeadlockDetector(wire.rank)

    # ---- messages

    def send_message(self, parts: Sequence[Buffer], *, to: int, kind: str) -> None:
        """Send the parts of one message's frame."""
        length = sum(map(len, parts))
        self._send(parts, to=to, content=f"{kind} ({length} bytes)")
        self.sent[to] += 1
        self.sent_bytes += length

    def next_message(self, kind: str, *, source: int) -> memoryview:
        """Take the next message's frame from `source`, waiting for it if need be.

        Raises:
            PeerFinishedError: `source` has ended its part.
            DeadlockError: this role is part of a circle of waiting roles.
            TimeoutExpired: nothing came within the timeout.
        """
        messages = self._messages[source]
        if not messages:
            self._take_in(0)  # Mostly it is there already.
        if not messages:
            self._wait_for_message(kind, source)
        return messages.popleft()

    def _wait_for_message(self, kind: str, source: int) -> None:
        started = self._clock()
        next_probe = PROBE_AFTER
        self._detector.begin(kind, source=source)
        while not self._messages[source]:
            waited = self._clock() - started
            if source in self._final_counts:
                raise PeerFinishedError(
                    f"expected {kind} from {role_name(source)}, found that it has ended its part",
                    where=self._phases.where,
                )
            if waited >= self._timeout:
                raise TimeoutExpired(
                    f"expected {kind} from {role_name(source)}, found nothing in "
                    f"{self._timeout:g} s: raise the timeout if that role needs longer",
                    where=self._phases.where,
                )
            if waited >= next_probe:
                self._send_probe(self._detector.probe(arrived=self._arrived))
                next_probe = waited + PROBE_AFTER
            self._take_in(min(next_probe, self._timeout) - waited)
        self._detector.end()

    # ---- control frames

    def send_control(self, kind: FrameKind, payload: bytes, *, to: int, sequence: int = 0) -> None:
        """Send a control frame: no message of the protocol, and not in the ledger."""
        header = pack_header(
            Header(kind, len(payload), sequence, self._wire.rank, to, self._protocol, "", "")
        )
        self._send([header, payload], to=to, content="a control frame")

    def await_control(self, kind: FrameKind, *, source: int) -> memoryview:
        """Wait for a control frame.

        The wait has no limit: the other role may still compute for hours, and its death ends all.
        """
        while (kind, source) not in self._control_payloads:
            self._take_in(PROBE_AFTER)
        return self._control_payloads.pop((kind, source))

    def end(self, *, received: Sequence[int]) -> None:
        """End this role's part, and wait until all others have ended theirs.

        Args:
            received: how many messages of each rank this role has read.

        Raises:
            LedgerError: some messages were not read, or did not arrive.
        """
        others = [rank for rank in range(self._wire.size) if rank != self._wire.rank]
        for other in others:
            self.send_control(FrameKind.END, b"", to=other, sequence=self.sent[other])
        while len(self._final_counts) < len(others):
            self._take_in(PROBE_AFTER)
        for source in others:
            unread = self._messages[source]
            if unread:
                header = self.unpack(unread[0], source=source).header
                raise LedgerError(
                    f"expected nothing more from {role_name(source)}, found {len(unread)} unread: "
                    f"{header.kind} of phase {header.phase} was never received",
                    where=self._phases.where,
                )
            if self._final_counts[source] != received[source]:
                raise LedgerError(
                    f"expected {self._final_counts[source]} messages from {role_name(source)}, "
                    f"found {received[source]}",
                    where=self._phases.where,
                )

    # ---- frames

    def unpack(self, data: memoryview, *, source: int) -> Frame:
        """Take a frame apart; an error names the role that it came from."""
        try:
            return unpack_header(data, limit=self._limit)
        except MessageError as error:
            self._refuse(*error.parts, f", from {role_name(source)}")

    def _send(self, parts: Sequence[Buffer], *, to: int, content: str) -> None:
        try:
            self._wire.send(parts, to=to, timeout=self._timeout)
        except WireTimeout:
            raise TimeoutExpired(
                f"expected {role_name(to)} to take in {content}, found that it did not in "
                f"{self._timeout:g} s: raise the timeout if that role needs longer",
                where=self._phases.where,
            ) from None

    def _take_in(self, timeout: float) -> None:
        """Take in the next frame, whoever has sent it."""
        try:
            arrival = self._wire.arrive(timeout=timeout)
        except MessageError as error:
            self._refuse(*error.parts)
        if arrival is None:
            return
        source, data = arrival
        if len(data) > self._limit:
            self._refuse(
                f"expected frames of at most {self._limit} bytes, "
                f"found one of {len(data)} from {role_name(source)}"
            )
        self.received_bytes += len(data)
        if len(data) >= MIN_HEADER_BYTES and data[3] == FrameKind.MESSAGE:
            self._arrived[source] += 1
            self._messages[source].append(data)
        else:
            self._take_in_control(self.unpack(data, source=source), source)

    def _take_in_control(self, frame: Frame, source: int) -> None:
        rank = self._wire.rank
        if frame.header.sender != source or frame.header.receiver != rank:
            self._refuse(
                f"expected a control frame from {role_name(source)} for {role_name(rank)}, "
                f"found another's"
            )
        kind = FrameKind(frame.header.frame_kind)
        if kind is FrameKind.PROBE:
            self._follow(frame.payload, source)
        elif kind is FrameKind.END:
            self._final_counts[source] = frame.header.sequence
        else:
            self._control_payloads[kind, source] = frame.payload

    def _follow(self, payload: memoryview, source: int) -> None:
        try:
            probe = self._detector.follow(payload, sent=self.sent[source], arrived=self._arrived)
        except DeadlockError as error:
            raise DeadlockError(*error.parts, where=self._phases.where) from None
        self._send_probe(probe)

    def _send_probe(self, probe: Probe | None) -> None:
        if probe is not None:
            self.send_control(FrameKind.PROBE, probe.payload, to=probe.to)

    def _refuse(self, *parts: str) -> NoReturn:
        raise MessageError(*parts, where=self._phases.where) from None
