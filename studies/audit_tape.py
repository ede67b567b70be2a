"""The tape of one party's part of a run, and its replay on other records.

What arrived arrives again, releases answer as they did, and what is sent must be the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, NoReturn, TypeVar

import numpy as np

from ..crypto import RandomStream
from ..messages import PeerFailedError, Wire
from ..messages.frame import MIN_HEADER_BYTES, FrameKind
from ..messages.wire import Buffer
from ..privacy import Accountant, Mechanism
from ..privacy.composition import WHOLE, PartPath
from ..privacy.mechanism import UserRange

__all__ = [
    "DifferenceError",
    "ReplayAccountant",
    "ReplayWire",
    "TapedRelease",
    "TapingAccountant",
    "TapingWire",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TapedRelease:
    """One release of one party: the mechanism with the exact value, and the answer."""

    mechanism: Any
    answer: Any
    to: int
    """Rank of the receiver."""


# ---- wires


class TapingWire:
    """The audited party's end of the wire, which keeps what arrives and what is sent."""

    def __init__(self, wire: Wire) -> None:
        self.rank, self.size = wire.rank, wire.size
        self._wire = wire
        self.arrived: list[tuple[int, bytes]] = []
        self.sent: list[tuple[int, bytes]] = []

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float) -> None:
        frame = b"".join(parts)
        if _is_message(frame):
            self.sent.append((to, frame))
        self._wire.send(parts, to=to, timeout=timeout)

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:
        arrival = self._wire.arrive(timeout=timeout)
        if arrival is not None and _is_message(arrival[1]):
            self.arrived.append((arrival[0], bytes(arrival[1])))
        return arrival

    def abort(self, status: int) -> NoReturn:
        self._wire.abort(status)


class ReplayWire:
    """The same end once more: what arrived arrives again, and what is sent must be the same."""

    def __init__(self, tape: TapingWire) -> None:
        self.rank, self.size = tape.rank, tape.size
        self._tape = tape
        self._arrivals = iter(tape.arrived)
        self.sent = 0

    def send(self, parts: Sequence[Buffer], *, to: int, timeout: float) -> None:  # noqa: ARG002 - nothing waits
        frame = b"".join(parts)
        if not _is_message(frame):
            return
        if self.sent >= len(self._tape.sent):
            raise DifferenceError("the number of messages")
        expected_to, expected = self._tape.sent[self.sent]
        self.sent += 1
        if (to, len(frame)) != (expected_to, len(expected)):
            raise DifferenceError("the size or the receiver of a message")
        if frame != expected:
            raise DifferenceError("a message that no release covers")

    def arrive(self, *, timeout: float) -> tuple[int, memoryview] | None:  # noqa: ARG002 - all is there
        arrival = next(self._arrivals, None)
        if arrival is None:
            raise DifferenceError("the messages that are waited for")
        return arrival[0], memoryview(arrival[1])

    def abort(self, status: int) -> NoReturn:
        raise PeerFailedError(f"the replay was ended with status {status}")


def _is_message(frame: Buffer) -> bool:
    """Tell messages from control frames, which a role sends when it has waited for long."""
    return len(frame) >= MIN_HEADER_BYTES and frame[3] == FrameKind.MESSAGE


class DifferenceError(Exception):
    """The replay sends something else than the run."""


# ---- accountants


class TapingAccountant(Accountant):
    """An accountant that keeps every mechanism with its answer."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.tape: list[TapedRelease] = []

    def release(
        self,
        mechanism: Mechanism[T],
        *,
        to: int,
        phase: str,
        randomness: RandomStream,
        users: UserRange | None = None,
        part: PartPath = WHOLE,
    ) -> T:
        mechanism = _with_pages(mechanism)
        answer = super().release(
            mechanism, to=to, phase=phase, randomness=randomness, users=users, part=part
        )
        kept: Any = list(answer) if isinstance(answer, Iterator) else answer
        self.tape.append(TapedRelease(mechanism, kept, to))
        again: Any = iter(kept) if isinstance(answer, Iterator) else kept
        return again  # type: ignore[no-any-return]


class ReplayAccountant(Accountant):
    """An accountant that answers as the run did, and keeps the mechanisms of the other dataset."""

    def __init__(self, *, answers: Sequence[Any], **options: Any) -> None:
        super().__init__(**options)
        self._answers = answers
        self.mechanisms: list[Any] = []

    def release(
        self,
        mechanism: Mechanism[T],
        *,
        to: int,
        phase: str,
        randomness: RandomStream,
        users: UserRange | None = None,
        part: PartPath = WHOLE,
    ) -> T:
        mechanism = _with_pages(mechanism)
        if len(self.mechanisms) >= len(self._answers):
            raise DifferenceError("the number of releases")
        answer = self._answers[len(self.mechanisms)]
        self.mechanisms.append(mechanism)
        super().release(
            _Silent(mechanism), to=to, phase=phase, randomness=randomness, users=users, part=part
        )
        again: Any = (
            iter(answer) if isinstance(answer, list) and _answers_by_pages(mechanism) else answer
        )
        return again  # type: ignore[no-any-return]


class _Silent:
    """A mechanism with everything that the accountant records of another, which draws nothing."""

    def __init__(self, mechanism: Mechanism[Any]) -> None:
        self._mechanism = mechanism

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mechanism, name)

    def draw(self, _: object) -> None:
        """Draw nothing."""


def _with_pages(mechanism: Mechanism[T]) -> Mechanism[T]:
    """Copy pages, which can be read once, into a list."""
    if is_dataclass(mechanism) and hasattr(mechanism, "pages"):
        pages = [np.array(page) for page in mechanism.pages]
        return replace(mechanism, pages=pages)
    return mechanism


def _answers_by_pages(mechanism: object) -> bool:
    """Tell whether a mechanism's answer is an iterator, which the tape has as a list."""
    return hasattr(mechanism, "pages") or hasattr(mechanism, "cohort")
