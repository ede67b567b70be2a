"""Losses in a role's log, in a run that goes on without lost parties (`crypto.durable`)."""

from __future__ import annotations

from ..messages import CURATOR
from .role_log import RoleLog

__all__ = ["NotedLosses"]


class NotedLosses:
    """The losses that a role has heard of, and which of them are to be in its log.

    A loss is written down when the role sends its next message, which may be what it is because of
    the loss. That is not done before. If a launcher is killed all roles end, one after the other,
    and that another one was lost meanwhile must not decide how the run goes on.
    """

    def __init__(self, log: RoleLog, *, parties: int, fewest: int | None) -> None:
        """Begin with the losses of the log.

        Args:
            log: the role's log.
            parties: the number of parties.
            fewest: fewest of them with which the run goes on; `None` where a loss ends it, and no
                loss is written down.
        """
        self.taken = 0
        """Number of frames and losses in the log, as far as the role has taken them in."""
        self._log = log
        self._may_lose = 0 if fewest is None else parties - fewest
        self._lost = {*log.lost}
        self._unwritten: dict[int, int] = {}
        """Losses of which the role has heard since it sent a message, and what came before each."""

    def hear(self, peer: int) -> None:
        """Note that the role hears of a loss now.

        No role goes on without the curator, and none with too few parties: a loss that leaves so
        few is never written down, as these parties may come back.
        """
        if peer == CURATOR or peer in self._lost or len(self._lost) >= self._may_lose:
            return
        self._lost.add(peer)
        self._unwritten[peer] = self.taken
        self.taken += 1

    def write(self) -> bool:
        """Write down the losses in whose knowledge a message leaves; tell whether there are any."""
        for peer, before in self._unwritten.items():
            self._log.note_loss(peer, before=before)
        has_written = bool(self._unwritten)
        self._unwritten.clear()
        return has_written
