"""What the curator waits for in rounds in which all parties do the same, for all frames at once.

It does what `round_waiting` describes of one role: it waits for the frames of all parties, and
takes all that have arrived whenever it looks for them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..messages import CURATOR
from .alike_connections import NotAlikeError
from .model import Network
from .moment_batches import Floats, Indices, MomentBatch, given, joined, later, picked
from .moments import Reason
from .round_waiting import WaitingRole

__all__ = ["Arrivals", "CuratorWaiting"]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Frames that have arrived, or when a role looks for frames that arrived then."""

    moment: MomentBatch
    arrived: Floats
    sender: Indices
    round: Indices
    """The round in which the receiver waits for each."""
    order: Floats
    """What decides which is first of those at the same time: five figures of each."""

    def __len__(self) -> int:
        return len(self.arrived)

    def at(self, indices: Indices) -> Arrivals:
        """Give some of them."""
        return Arrivals(
            picked(self.moment, indices),
            self.arrived[indices],
            self.sender[indices],
            self.round[indices],
            self.order[:, indices],
        )

    def where(self, is_chosen: npt.NDArray[np.bool_]) -> Arrivals:
        """Give those for which something holds."""
        return self if is_chosen.all() else self.at(np.flatnonzero(is_chosen))

    def __add__(self, other: Arrivals) -> Arrivals:
        if not len(self) or not len(other):
            return other if len(other) else self
        return Arrivals(
            joined([self.moment, other.moment]),
            np.concatenate([self.arrived, other.arrived]),
            np.concatenate([self.sender, other.sender]),
            np.concatenate([self.round, other.round]),
            np.concatenate([self.order, other.order], axis=1),
        )


class CuratorWaiting:
    """The curator, as it goes from round to round; see `WaitingRole`."""

    def __init__(self, role: WaitingRole, network: Network, *, waits: Floats) -> None:
        """Go on with a curator that has taken all that arrived.

        Args:
            role: the curator as a single role.
            network: the network.
            waits: seconds for which it waited for each party before.
        """
        self.clock = given([role.clock])
        """One moment."""
        self.order = np.array(role.order)
        self.waits = waits
        """Seconds for which it waited for each party."""
        self._speed, self._polling = network.speed, network.stack.polling_seconds
        self._begins, self._ends = [*role.begins], [*role.ends]
        self._rounds = [(np.array(each.arrivals), np.array(each.moments)) for each in role.rounds]
        """When frames arrived for which it waited, and when it took them, by round."""
        none = np.zeros(0, np.int64)
        self._inbox = self._fresh = self._nothing = Arrivals(
            picked(self.clock, none), np.zeros(0), none, none, np.zeros((5, 0))
        )
        unknown = np.zeros(len(role.wakes), np.int64)
        self._wakes = Arrivals(
            given([wake.moment for wake in role.wakes]),
            np.array([wake.arrived for wake in role.wakes]),
            unknown,
            unknown,
            np.array([wake.order for wake in role.wakes]).reshape(-1, 5).T,
        )

    def compute(self, seconds: float) -> None:
        """Compute for some seconds of this machine."""
        before = float(self.clock.seconds[0])
        self.clock = later(
            self.clock, seconds / self._speed, Reason.COMPUTATION, lambda _: (CURATOR, CURATOR)
        )
        if self.clock.seconds[0] > before:
            self._begins.append(before)
            self._ends.append(float(self.clock.seconds[0]))

    def take(self, arrivals: Arrivals | None, *, number: int, senders: Sequence[int]) -> None:
        """Wait for the frames of a round, and take them; see `WaitingRole.take`.

        Args:
            arrivals: the frames that were sent in this round, in the order in which they arrive.
                Some may be of a later one; `None` if there are none.
            number: the round.
            senders: numbers of frames of every party, which are wanted one after another: first so
                many of each party, then so many of each.

        Raises:
            NotAlikeError: a frame arrives early, or two at once.
        """
        arrivals = self._nothing if arrivals is None else arrivals
        self._check_earlier_rounds(arrivals.arrived)
        wakes, mail = self._notice(arrivals), self._inbox + arrivals
        wanted = mail.where(mail.round == number)
        self._inbox = mail.where(mail.round != number)
        wanted = wanted.at(np.argsort(wanted.arrived, kind="stable"))
        seconds, looks = wanted.arrived.tolist(), wakes.moment.seconds.tolist()
        began = now = float(self.clock.seconds[0])
        taken, done, place, woken = np.empty(len(seconds)), 0, 0, -1
        while True:
            until = bisect_right(seconds, now, lo=done)
            if self._polling > 0 and until > done and seconds[until - 1] == now:
                raise NotAlikeError
            taken[done:until], done = now, until
            if done == len(seconds):
                break
            woken = place = bisect_left(looks, seconds[done], lo=place)
            now = looks[place]
            taken[done], done = now, done + 1
        if woken >= 0:
            self.clock = picked(wakes.moment, np.array([woken]))
            self.order = wakes.order[:, woken]
        self._rounds.append((wanted.arrived[wanted.arrived > began], taken[wanted.arrived > began]))
        self._add_waits(wanted.sender, taken, began=began, senders=senders)
        self._fresh = self._fresh.where(self._fresh.arrived > now)
        self._wakes = wakes.where((wakes.arrived <= now) & (now < wakes.moment.seconds))

    def _notice(self, arrivals: Arrivals) -> Arrivals:
        """List when the role looks for frames, up to the end of this round."""
        self._fresh = fresh = self._fresh + arrivals
        before = np.searchsorted(self._begins, fresh.arrived, side="left") - 1
        ends = np.append(self._ends, -np.inf)  # the last one stands for no computation before
        fresh = fresh.where(fresh.arrived >= ends[before])
        noticed = later(fresh.moment, self._polling, Reason.POLLING, lambda _: (CURATOR, CURATOR))
        wakes = self._wakes + Arrivals(
            noticed, fresh.arrived, fresh.sender, fresh.round, fresh.order
        )
        return wakes.at(np.argsort(wakes.moment.seconds, kind="stable"))

    def _check_earlier_rounds(self, arrived: Floats) -> None:
        """Check that no frame wakes the curator while it waits for one of an earlier round."""
        for before, taken in reversed(self._rounds):
            arrived = arrived[arrived < taken[-1]] if len(taken) else arrived[:0]
            if not len(arrived):
                return
            looks = arrived + self._polling
            places = np.searchsorted(taken, looks, side="right")
            places, looks = places[places < len(taken)], looks[places < len(taken)]
            if np.any(before[places] <= looks):
                raise NotAlikeError

    def _add_waits(
        self, sender: Indices, taken: Floats, *, began: float, senders: Sequence[int]
    ) -> None:
        """Add the seconds for which each frame was waited for, in the order of the part."""
        by_party = taken[np.argsort(sender, kind="stable")].reshape(len(self.waits), -1)
        first, before = 0, began
        for count in senders:
            frames = by_party[:, first : first + count].reshape(-1)
            now = np.maximum(before, np.maximum.accumulate(frames))
            waited = np.diff(now, prepend=before).reshape(len(self.waits), -1)
            for each in waited.T:
                self.waits = self.waits + each
            first, before = first + count, float(now[-1])
