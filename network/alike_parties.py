"""What parties wait for in rounds in which all of them do the same, for all parties at once.

Each does what `round_waiting` describes of one role. All of them wait for as many frames, which are
few, so these are computed one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .alike_connections import NotAlikeError
from .model import Network
from .moment_batches import Floats, MomentBatch, chosen, given, later
from .moments import Place, Reason
from .round_waiting import WaitingRole

__all__ = ["AlikeParties"]


class _Look(NamedTuple):
    """When parties look for frames, because one has arrived."""

    moment: MomentBatch
    arrived: Floats
    order: Floats
    is_made: npt.NDArray[np.bool_]
    """Which of them do: those that compute then do not, and those that have looked since."""


class _Receipt(NamedTuple):
    """Frames that were taken, one by each party."""

    arrived: Floats
    taken: Floats
    is_late: npt.NDArray[np.bool_]
    """Which of them arrived after the party had begun to wait."""


class AlikeParties:
    """All parties, as they go from round to round."""

    def __init__(self, roles: Sequence[WaitingRole], network: Network) -> None:
        """Go on with single parties that have taken all that arrived."""
        self.clock = given([role.clock for role in roles])
        self.order = np.array([role.order for role in roles]).T
        self._speed, self._polling = network.speed, network.stack.polling_seconds
        self._last_look = np.array(
            [max((wake.moment.seconds for wake in role.wakes), default=-np.inf) for role in roles]
        )
        """The last moment when each looks for frames that it took as a single role."""
        self._start = self.clock.seconds
        """When each went on as one of a batch."""
        self._rounds = list[list[_Receipt]]()
        self._computations = list[tuple[Floats, Floats]]()
        """When each began and ended to compute, in every round."""
        self._looks = list[_Look]()
        """When each looks for frames, because it took others before it looked for them."""

    def compute(self, seconds: float) -> None:
        """Compute for some seconds of this machine."""
        before = self.clock.seconds
        self.clock = later(self.clock, seconds / self._speed, Reason.COMPUTATION, _of_party)
        self._computations.append((before, self.clock.seconds))

    def take(self, arrivals: Sequence[tuple[MomentBatch, Floats]]) -> list[Floats]:
        """Wait for frames, one of which comes to each party after another.

        Args:
            arrivals: when they arrive, and the order of those that do so at the same time.

        Returns:
            For how long each frame was waited for.

        Raises:
            NotAlikeError: a frame arrives early, or two at once.
        """
        began = before = self.clock.seconds
        for moment, _ in arrivals:
            self._check_earlier_rounds(moment.seconds)
        looks, waits, frames = self._looks, list[Floats](), list[_Receipt]()
        for moment, order in arrivals:
            now, arrived = self.clock.seconds, moment.seconds
            if self._polling > 0 and np.any(arrived == now):
                raise NotAlikeError
            look = later(moment, self._polling, Reason.POLLING, _of_party)
            looks.append(_Look(look, arrived, order, ~self._computes(arrived)))
            is_waiting, woken = arrived > now, (look, order)
            for earlier in reversed(looks[:-1]):
                in_time = earlier.is_made & (earlier.moment.seconds >= arrived)
                if in_time.any():
                    woken = (
                        chosen(woken[0], earlier.moment, where=in_time),
                        np.where(in_time, earlier.order, woken[1]),
                    )
            self.clock = chosen(self.clock, woken[0], where=is_waiting)
            self.order = np.where(is_waiting, woken[1], self.order)
            frames.append(_Receipt(arrived, self.clock.seconds, arrived > began))
            now = np.maximum(before, self.clock.seconds)
            waits.append(now - before)
            before = now
        self._rounds.append(frames)
        now = self.clock.seconds
        left = [each._replace(is_made=each.is_made & (each.moment.seconds > now)) for each in looks]
        self._looks = [each for each in left if each.is_made.any()]
        return waits

    def _computes(self, seconds: Floats) -> npt.NDArray[np.bool_]:
        """Tell which parties compute at some time: later than they began, and before they end."""
        computes = is_later = np.zeros(len(seconds), np.bool_)
        for began, ended in reversed(self._computations):
            has_begun = ~is_later & (began < seconds) & (began < ended)
            computes = computes | (has_begun & (seconds < ended))
            is_later = is_later | has_begun
            if is_later.all():
                break
        return computes

    def _check_earlier_rounds(self, arrived: Floats) -> None:
        """Check that a frame wakes no party that waits for one of an earlier round.

        Raises:
            NotAlikeError: it does so to some, or comes before those that were taken before.
        """
        if np.any((arrived <= self._last_look) | (arrived < self._start)) or any(
            np.any(each.is_made & (arrived < each.arrived)) for each in self._looks
        ):
            raise NotAlikeError
        looks, is_early = arrived + self._polling, np.ones(len(arrived), np.bool_)
        for frames in reversed(self._rounds):
            last = np.max([np.where(each.is_late, each.taken, -np.inf) for each in frames], axis=0)
            is_early = is_early & (arrived < last)
            if not is_early.any():
                return
            is_first = is_early
            for each in frames:
                is_next = is_first & each.is_late & (each.taken > looks)
                if np.any(is_next & (each.arrived <= looks)):
                    raise NotAlikeError
                is_first = is_first & ~is_next


def _of_party(index: int) -> Place:
    """Give the place where a party computes or waits, by its place in a batch."""
    return index + 1, index + 1
