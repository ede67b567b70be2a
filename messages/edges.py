"""Edges: what one role keeps for each other role, and how one message crosses.

An edge has sequence numbers, perhaps a seal, perhaps a digest of all bytes that were sent on it. A
message that crosses is checked on both sides and noted for the ledger.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NoReturn, TypeVar

from .buffers import Writer
from .ending import EndingExchange
from .errors import MessageError, MisuseError, Private, role_name
from .frame import FrameKind, Header, describe_mismatch, pack_header
from .ledger import Act
from .message import decode, encode, is_message, is_personal
from .phases import Phases
from .seal import Seal, bound_number
from .wire import Buffer, Wire
from .work import WorkKind, count_work

__all__ = ["CURATOR", "Edges", "any_of"]

M = TypeVar("M")

CURATOR: Final = 0
"""The curator's rank. Party i has rank i."""


def any_of(kinds: Iterable[type]) -> str:
    """Name kinds of messages of which one is expected."""
    return " or ".join(kind.__name__ for kind in kinds)


class Edges:
    """The edges between one role and all others."""

    def __init__(
        self,
        wire: Wire,
        *,
        protocol: str,
        kinds: Iterable[type],
        phases: Phases,
        timeout: float,
        limit: int,
        transcript: bool,
    ) -> None:
        self.frames = EndingExchange(
            wire, protocol=protocol, phases=phases, timeout=timeout, limit=limit
        )
        self.acts: list[Act] = []
        """Messages that this role has sent and received, in its order."""
        self.unsealed_kinds: frozenset[str] | None = None
        """The kinds of messages that may cross without a seal; `None` where all may."""
        self.seals: dict[int, Seal] = {}
        self._rank = wire.rank
        self._size = wire.size
        self._protocol = protocol
        self._kinds = {kind.__name__: kind for kind in kinds}
        self._phases = phases
        self._clock = wire.clock
        self._start = wire.clock()
        self._limit = limit
        self._received: dict[int, int] = defaultdict(int)
        self._transcript = transcript
        self._digests: dict[int, hashlib._Hash] = defaultdict(hashlib.sha256)
        self._instructions: dict[int, hashlib._Hash] = defaultdict(hashlib.sha256)

    @property
    def transcript(self) -> dict[str, str]:
        """Digest of all bytes sent on each edge that was used, if digests were asked for."""
        digests = sorted(self._digests.items())
        return {f"{self._rank}->{to}": digest.hexdigest() for to, digest in digests}

    def instructions(self, peer: int) -> bytes:
        """Digest all that the curator has sent to a party; `peer` is the role at the other end.

        Both ends compute the same. Messages that may differ from party to party are left out.
        """
        return self._instructions[peer].digest()

    def _note_instruction(self, kind: type, parts: Iterable[Buffer], *, peer: int) -> None:
        if is_personal(kind):
            return
        digest = hashlib.sha256()
        for part in parts:
            digest.update(part)
        label = f"{self._phases.current} {kind.__name__} ".encode()
        # Each message has the digest of its bytes, so two lists of messages never look the same.
        self._instructions[peer].update(label + digest.digest())

    def send(
        self, message: object, *, to: int, more: bool = False, payload: Writer | None = None
    ) -> Writer | None:
        """Send one message. It need not have left when it is to `more` receivers at once.

        Give back the message's bytes: for its next receiver they are the `payload`, so that a
        broadcast is encoded once.
        """
        self._check(type(message), to)
        if self.frames.acts_on_loss_of(to):
            return payload
        kind = type(message).__name__
        payload = encode(message) if payload is None else payload
        if self._rank == CURATOR:
            self._note_instruction(type(message), payload.parts(), peer=to)
        sequence = self.frames.sent[to]
        seal = self.seals.get(to)
        size = payload.size if seal is None else seal.sealed_size(payload.size)
        header = pack_header(self._header(kind, size, sequence, sender=self._rank, receiver=to))
        length = len(header) + size
        if length > self._limit:
            raise MisuseError(
                f"expected frames of at most {self._limit} bytes, found {kind} of ",
                Private(length),
                where=self._phases.where,
            )
        parts: list[Buffer] = [header]
        if seal is None:
            parts += payload.parts()
        else:
            bound = header + bound_number(self.frames.ahead.sent[to])
            parts.append(seal.seal(b"".join(payload.parts()), header=bound, number=sequence))
        count_work(WorkKind.STEP, 1)
        began = self._clock()
        self.frames.send_message(parts, to=to, kind=kind, more=more)
        ready = self._clock()
        if self._transcript:
            digest = self._digests[to]
            for part in parts:
                digest.update(part)
        self._note(
            to,
            sequence,
            kind,
            sent=True,
            began=began,
            ready=ready,
            payload=size,
            frame=length,
            ciphertext=payload.ciphertext,
            user_bits=payload.user_bits,
        )
        return payload

    def receive(self, *kinds: type[M], source: int) -> M:
        """Wait for one message of one of these kinds from this role.

        The sender decides which. The next frame on the edge must be of one of them, as frames
        arrive in the order in which they were sent.
        """
        for kind in kinds:
            self._check(kind, source)
        if any(self._lacks_seal(kind, source) for kind in kinds):
            # It was lost before the introduction: what seems to come from it may be anybody's.
            self.frames.acts_on_loss_of(source)
            raise self.frames.loss_of(any_of(kinds), source)
        began = self._clock()
        frame = self.frames.next_message(any_of(kinds), source=source)
        ready = self._clock()
        kind = kinds[0] if len(kinds) == 1 else self._kind_of(frame, kinds, source=source)
        name = kind.__name__
        sequence = self._received[source]
        header_length = int.from_bytes(frame[4:8], "little")
        size = len(frame) - header_length
        count_work(WorkKind.STEP, 1)
        expected = self._header(name, size, sequence, sender=source, receiver=self._rank)
        header, body = bytes(frame[:header_length]), frame[header_length:]
        if size < 0 or header != pack_header(expected):
            self._refuse(frame, expected)
        seal = self.seals.get(source)
        try:
            if seal is not None:
                bound = header + bound_number(
                    self.frames.ahead.count_before(sequence, source=source)
                )
                body = seal.open(body, header=bound, number=sequence)
            message = decode(kind, body)
            if source == CURATOR:
                self._note_instruction(kind, [body], peer=source)
        except ValueError as error:
            raise MessageError(
                f"malformed {name} from {role_name(source)}: ",
                Private(error),
                where=self._phases.where,
            ) from None
        except MessageError as error:
            raise MessageError(
                *error.parts, f", from {role_name(source)}", where=self._phases.where
            ) from None
        self._received[source] = sequence + 1
        self._note(
            source,
            sequence,
            name,
            sent=False,
            began=began,
            ready=ready,
            payload=size,
            frame=len(frame),
        )
        return message

    def end(self, *, hand_over: Callable[[], None]) -> None:
        """End this role's part, and wait until all others have ended theirs.

        Args:
            hand_over: called by a party when others know of its end, before it waits for them.

        Raises:
            LedgerError: a message was not read, or did not arrive.
        """
        self.frames.end(received=self._received, hand_over=hand_over)

    def _kind_of(self, frame: memoryview, kinds: Sequence[type[M]], *, source: int) -> type[M]:
        """Find the kind of a frame that has arrived among those that are expected."""
        name = self.frames.unpack(frame, source=source).header.kind
        kind = next((kind for kind in kinds if kind.__name__ == name), None)
        if kind is None:
            sequence, to = self._received[source], self._rank
            expected = self._header(any_of(kinds), 0, sequence, sender=source, receiver=to)
            self._refuse(frame, expected)
        return kind

    def _header(self, kind: str, size: int, sequence: int, *, sender: int, receiver: int) -> Header:
        phase = self._phases.current
        return Header(
            FrameKind.MESSAGE, size, sequence, sender, receiver, self._protocol, phase, kind
        )

    def _note(
        self,
        peer: int,
        sequence: int,
        kind: str,
        *,
        sent: bool,
        began: float,
        ready: float,
        payload: int,
        frame: int,
        ciphertext: int = 0,
        user_bits: int = 0,
    ) -> None:
        """Note a message for the ledger, and that the role goes on now."""
        phase, step = self._phases.current, self._phases.step
        times = (time - self._start for time in (began, ready, self._clock()))
        sizes = payload, frame, ciphertext, user_bits
        self.acts.append(Act(sent, peer, sequence, phase, step, kind, *sizes, *times))

    def _check(self, kind: type, peer: int) -> None:
        """Refuse what is no message of this protocol, and peers that do not exist."""
        if self._kinds.get(kind.__name__) is not kind:
            if not is_message(kind):
                raise MisuseError(
                    f"expected a message (a class under @message), found {kind.__name__}",
                    where=self._phases.where,
                )
            declared = ", ".join(self._kinds) or "none"
            raise MisuseError(
                f"expected a kind that {self._protocol} declares ({declared}), "
                f"found {kind.__name__}: "
                "nest it in the protocol's class, or name its own class there in `uses`",
                where=self._phases.where,
            )
        if not 0 <= peer < self._size or peer == self._rank:
            raise MisuseError(
                f"expected another role's rank, 0 to {self._size - 1}, found {peer}",
                where=self._phases.where,
            )
        if self._lacks_seal(kind, peer) and peer not in self.frames.lost:
            raise MisuseError(
                f"expected a seal between this role and {role_name(peer)} before {kind.__name__}, "
                "as identities were given, found none: both must be introduced first "
                "(parties_talk of the protocol, or introduce)",
                where=self._phases.where,
            )

    def _lacks_seal(self, kind: type, peer: int) -> bool:
        """Tell whether this message may not cross, as the two roles have not been introduced."""
        return not (
            self.unsealed_kinds is None
            or peer in self.seals
            or kind.__name__ in self.unsealed_kinds
        )

    def _refuse(self, frame: memoryview, expected: Header) -> NoReturn:
        """Raise an error that says in which respect a frame is not the one expected."""
        header = self.frames.unpack(frame, source=expected.sender).header
        raise MessageError(
            describe_mismatch(header, expected, kinds=self._kinds), where=self._phases.where
        )
