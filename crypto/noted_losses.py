"""Losses in a role's log, in a run that goes on without lost parties (`crypto.durable`)."""

from __future__ import annotations

from ..messages import CURATOR
from .role_log import RoleLog

__all__ = ["NotedLosses"]


class NotedLosses:
    """The losses that a role has heard of, and which of them are to be in its log.

    A loss upon which the role acts, by doing something else then, is written down before its next
    message leaves. Others are not. If a launcher is killed all roles end, one after the other, and
    that another one was lost meanwhile must not decide how the run goes on.
    """

    def __init__(self, log: RoleLog, *, goes_on: bool) -> None:
        """Begin with the losses of the log.

        Args:
            log: the role's log.
            goes_on: whether the run goes on without lost parties. Otherwise nothing is written.
        """
        self.taken = 0
        """Number of the log's frames that the role has taken in."""
        self._log = log
        self._goes_on = goes_on
        self._known = {CURATOR, *log.lost}  # No role goes on without the curator.
        self._heard: dict[int, int] = {}
        """Losses that are not in the log, in order: how many frames came before each."""
        self._acted_upon: list[int] = []
        self._order = log.losses

    def hear(self, peer: int) -> None:
        """Note that the role hears of a loss now."""
        if peer not in self._known:
            self._heard.setdefault(peer, self.taken)

    def note_acting(self, peer: int) -> None:
        """Note that the role does something else as another one is lost."""
        if self._goes_on and peer in self._heard and peer not in self._known:
            self._known.add(peer)
            self._acted_upon.append(peer)

    @property
    def parties(self) -> frozenset[int]:
        """The parties whose losses are in the log, or will be before the next message leaves."""
        return frozenset(self._known) - {CURATOR}

    @property
    def is_acting(self) -> bool:
        """Whether a loss is to be written down."""
        return bool(self._acted_upon)

    def write(self) -> bool:
        """Write down upon which losses the role has acted since the last call; `False` for none."""
        acted_upon, self._acted_upon = self._acted_upon, []
        for peer in acted_upon:
            order = self._order + [*self._heard].index(peer)
            self._log.note_loss(peer, before=self._heard[peer], order=order)
        return bool(acted_upon)
