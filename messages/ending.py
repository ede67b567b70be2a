"""The end of a role's exchange of frames: every message that was sent has been read (`closing`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from .closing import counts_by_receiver, pack_counts
from .errors import LedgerError, role_name
from .exchange import LONG_WAIT, NOTICE_SECONDS, FrameExchange
from .frame import FrameKind

__all__ = ["EndingExchange"]

HUB: Final = 0
"""The rank that collects the numbers of messages when the conversation closes: the curator's."""
LATE_AFTER: Final = 60.0
"""Seconds that a message may still travel when its sender has ended its part."""


class EndingExchange(FrameExchange):
    """One role's frames, up to the end of the conversation."""

    has_ended: bool = False
    """Whether this role has ended its part, and handed over what others need of it."""

    def end(self, *, received: Mapping[int, int], hand_over: Callable[[], None]) -> None:
        """End this role's part, and wait until all others have ended theirs.

        Args:
            received: how many messages of each rank this role has read.
            hand_over: called by a party when others know of its end, before it waits for them.

        Raises:
            LedgerError: some messages were not read, or did not arrive.
        """
        self._is_ending = True
        expected = self._close() if self._wire.rank == HUB else self._await_closing(hand_over)
        self._await_late_messages(expected)
        for source in sorted(self._unread.senders.keys() | expected.keys() | received.keys()):
            unread = self._unread.of(source)
            if source in self.lost or self._is_leaving(source, expected, received):
                continue
            if unread:
                header = self.unpack(unread[0], source=source).header
                raise LedgerError(
                    f"expected nothing more from {role_name(source)}, found {len(unread)} unread: "
                    f"{header.kind} of phase {header.phase} was never received",
                    where=self._phases.where,
                )
            if expected.get(source, 0) != received.get(source, 0):
                raise LedgerError(
                    f"expected {expected.get(source, 0)} messages from {role_name(source)}, "
                    f"found {received.get(source, 0)}",
                    where=self._phases.where,
                )

    def _is_leaving(
        self, source: int, expected: Mapping[int, int], received: Mapping[int, int]
    ) -> bool:
        """Tell whether a role is lost of whose loss the curator has heard before this one.

        The curator has no numbers of messages of a role that is lost before it ends its part.
        """
        has_sent = received.get(source, 0) > 0 or bool(self._unread.of(source))
        is_unknown = has_sent and source not in expected
        return is_unknown and self.await_loss(source, seconds=NOTICE_SECONDS)

    def _close(self) -> dict[int, int]:
        """Collect the numbers of all messages, and tell each role those that are for it."""
        others = [rank for rank in range(self._wire.size) if rank != HUB]
        for other in others:
            self._send_end(b"", to=other)
        while any(rank not in self._final_counts and rank not in self.lost for rank in others):
            self._take_in(LONG_WAIT)
        counts = counts_by_receiver({**self._final_counts, HUB: self.sent})
        for other in others:
            self.send_control(FrameKind.CLOSING, pack_counts(counts.get(other, {})), to=other)
        return counts.get(HUB, {})

    def _await_closing(self, hand_over: Callable[[], None]) -> dict[int, int]:
        """Wait until all roles have ended, and learn how many messages each has sent to this one.

        Roles that wait for this one learn that it has ended, as their wait is in vain.
        """
        self._send_end(pack_counts(self.sent), to=HUB)
        for waiting in self._waiting - {HUB}:
            self._send_end(b"", to=waiting)
        hand_over()
        self.has_ended = True
        return self._read_counts(self.await_control(FrameKind.CLOSING, source=HUB), source=HUB)

    def _await_late_messages(self, expected: Mapping[int, int]) -> None:
        """Wait a while for messages that are still on their way: edges do not wait for another."""
        until = self._clock() + min(self._timeout, LATE_AFTER)
        while any(
            self._unread.arrived[source] < count
            for source, count in expected.items()
            if source not in self.lost
        ):
            left = until - self._clock()
            if left <= 0:
                return
            self._take_in(left)
