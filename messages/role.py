"""Roles: participants of a protocol, with a few verbs by which they talk to each other.

The verbs are `send`, `receive`, `broadcast`, `gather` and `phase`. They block, so a protocol reads
from top to bottom, and they mean the same on every transport. `Party` and `Curator` are roles that
know more.

Every role keeps these rules, whatever the protocol:

- Frames from one role arrive in the order in which they were sent. Sequence numbers are checked all
  the same.
- Sender and receiver are in the same phase, and the receiver names the kind that it expects, or
  the kinds of which it expects one.
- Waits have limits, and circles of waiting roles are found (`exchange`, `deadlock`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, overload

from .edges import CURATOR, any_of
from .errors import ConversationError, MisuseError, PeerLostError, role_name
from .frame import FrameKind
from .position import Position, Verb
from .role_state import RoleState
from .seal import Seal

__all__ = ["CURATOR", "Position", "Role"]

M = TypeVar("M")
N = TypeVar("N")
P = TypeVar("P")


class Role(RoleState):
    """One participant, and what it can do."""

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Open a phase for the messages within.

        Phases nest: the phase `sum` of a sub-protocol within `learn` is `learn/sum`.
        """
        with self._phases.enter(name):
            yield
        self._progress = (0.0, 0.0)

    def _prepare_to_send(self) -> None:
        """Do what must be done before a message may leave.

        Kinds of roles say here what that is, and not by verbs of their own: the module that calls a
        verb is taken for the author of the message (`messages.tape`).
        """

    def send(self, message: object, *, to: int) -> None:
        """Send one message."""
        self._prepare_to_send()
        self._begin("sends", type(message).__name__, to)
        self._edges.send(message, to=to)
        self._verb = None

    @overload
    def receive(self, kind: type[M], /, *, source: int) -> M: ...
    @overload
    def receive(self, kind: type[M], second: type[N], /, *, source: int) -> M | N: ...
    @overload
    def receive(
        self, kind: type[M], second: type[N], third: type[P], /, *, source: int
    ) -> M | N | P: ...
    @overload
    def receive(self, kind: type[M], /, *more: type[M], source: int) -> M: ...
    def receive(self, kind: type[Any], /, *more: type[Any], source: int) -> Any:
        """Wait for one message from this role, of this kind or of one of several.

        The sender decides which of several kinds it sends. `match` tells them apart, and a type
        checker knows which kinds are possible.
        """
        kinds = (kind, *more)
        self._begin("waits for", any_of(kinds), source)
        message = self._read(*kinds, source=source)
        self._verb = None
        return message

    def _read(self, *kinds: type[M], source: int) -> M:
        """Read one message; all verbs that receive come here."""
        return self._edges.receive(*kinds, source=source)

    def broadcast(self, message: object, *, to: Sequence[int] | None = None) -> None:
        """Send one message to all others, or to those named.

        It is one step, with a row of the ledger for each receiver. All frames leave at once: no
        receiver waits until another one has taken its frame in.
        """
        self._prepare_to_send()
        self._begin("sends", type(message).__name__, self.rank)
        # The last frame is held for all, so it must be one that leaves.
        receivers = [
            rank for rank in (self.others if to is None else to) if not self._acts_on_loss_of(rank)
        ]
        payload = None
        for number, rank in enumerate(receivers, start=1):
            self._verb = Verb("sends", type(message).__name__, rank)
            more = number < len(receivers)
            payload = self._edges.send(message, to=rank, more=more, payload=payload)
        self._verb = None

    @overload
    def gather(self, kind: type[M], /, *, sources: Sequence[int] | None = None) -> list[M]: ...
    @overload
    def gather(
        self, kind: type[M], second: type[N], /, *, sources: Sequence[int] | None = None
    ) -> list[M | N]: ...
    @overload
    def gather(
        self, kind: type[M], /, *more: type[M], sources: Sequence[int] | None = None
    ) -> list[M]: ...
    def gather(
        self, kind: type[Any], /, *more: type[Any], sources: Sequence[int] | None = None
    ) -> list[Any]:
        """Wait for one message from each other role, or from those named, in that order.

        Each of them may be of another kind, if there are several.
        """
        kinds = (kind, *more)
        self._begin("waits for", any_of(kinds), self.rank)
        messages = []
        for source in self.others if sources is None else sources:
            self._verb = Verb("waits for", any_of(kinds), source)
            messages.append(self._read(*kinds, source=source))
        self._verb = None
        return messages

    def gather_living(self, kind: type[M], *, sources: Sequence[int]) -> dict[int, M]:
        """Wait for one message from each of these roles that is not lost before it sends it.

        What a role has sent before it was lost is received.

        Raises:
            PeerLostError: a role is lost, in a run that a loss ends.
        """
        self._begin("waits for", kind.__name__, self.rank)
        messages = {}
        for source in sources:
            self._verb = Verb("waits for", kind.__name__, source)
            try:
                messages[source] = self._read(kind, source=source)
            except PeerLostError:
                # Ranks may outlive a loss that ends the run, and nobody goes on with fewer there.
                if self.min_parties is None:
                    raise
        self._verb = None
        return messages

    def seal(self, peer: int, seal: Seal) -> None:
        """Seal all further messages to this peer, and accept only sealed ones from it.

        There is no way back.
        """
        if peer in self._edges.seals:
            raise MisuseError(
                f"expected to seal the edge to {role_name(peer)} once, found it sealed",
                where=self.where,
            )
        self._edges.seals[peer] = seal

    def require_seals(self, *, but: Iterable[type]) -> None:
        """Refuse from now on to send or receive on an edge without a seal, but for these kinds.

        There is no way back.
        """
        self._edges.unsealed_kinds = frozenset(kind.__name__ for kind in but)

    def progress(self, done: float, *, of: float) -> None:
        """Report how far a long computation is."""
        self._progress = (done, of)

    def _begin(self, verb: str, kind: str, peer: int) -> None:
        self._phases.next_step()
        self._verb = Verb(verb, kind, peer)
        if not self._phases.current:
            raise MisuseError(
                f"expected {kind} to be sent or received within a phase, found none: "
                "use `with role.phase(name)`",
                where=self.where,
            )

    # ---- closing frames

    def send_control(self, kind: FrameKind, payload: bytes, *, to: int) -> None:
        """Send a control frame: no message of the protocol, and not in the ledger."""
        self._edges.frames.send_control(kind, payload, to=to)

    def ahead_of(self, source: int) -> list[memoryview]:
        """List the releases that a party has sent ahead, where it may be lost."""
        return self._edges.frames.ahead.arrived[source]

    def await_control(self, kind: FrameKind, *, source: int) -> memoryview:
        """Wait for a control frame, without a limit."""
        return self._edges.frames.await_control(kind, source=source)

    def end(self, *, hand_over: Callable[[], None] = lambda: None) -> None:
        """End this role's part, and wait until all others have ended theirs.

        Args:
            hand_over: called by a party when others know of its end, before it waits for them.

        Raises:
            LedgerError: a message was not read, or did not arrive.
        """
        self._verb = None
        self._edges.end(hand_over=hand_over)

    def place(self, error: ConversationError) -> ConversationError:
        """Add this role's place to an error that has none yet."""
        if error.where is None:
            error.where = self.where
        return error
