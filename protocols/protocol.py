"""What a protocol is: one class with both sides of the conversation and a forecast of its cost.

    class HeadCountParameters(Options):
        epsilon: Epsilon = 1.0

    class HeadCount(Protocol[HeadCountParameters]):
        name = "head-count"

        @message
        class NoisyCount:
            count: int

        def party(self, me: Party) -> None: ...
        def curator(self, desk: Curator) -> Outcome: ...

A protocol may send the messages that are nested in its class, in the bases of the class, and in
the sub-protocols that the class names in `uses`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeAlias, get_args

from ..curator import Curator
from ..messages import MisuseError, UsageError
from ..messages.message import is_message
from ..parties import Party
from ..privacy import BudgetHolder, Neighbours
from .cost import Cost, Formula, Public
from .options import Mode, Options, ParametersT
from .outcome import Outcome

__all__ = ["AnyProtocol", "Protocol"]


class Protocol(ABC, Generic[ParametersT]):
    """A protocol; the class in brackets, `Protocol[MyParameters]`, declares its parameters."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    """What the protocol publishes, as a short phrase."""
    paper: ClassVar[str] = ""
    trust: ClassVar[str] = ""
    """Who is trusted with what, as a short phrase."""
    modes: ClassVar[tuple[Mode, ...]] = ("rigorous",)
    least_parties: ClassVar[int] = 1
    most_parties: ClassVar[int | None] = None
    neighbours: ClassVar[Neighbours]
    budget_of: ClassVar[BudgetHolder] = "record"
    """Who has the budget: each record of a party, or each "user" for whom it acts.

    Only with users may a release name the users whose reports it is. A record is then one user's
    report, and no other release depends on it.
    """
    needs_schema: ClassVar[bool] = False
    """Whether records are codes of a public domain (`me.records.marginal`, `desk.domain`)."""
    learns_schema: ClassVar[bool] = False
    """Whether it publishes a schema (`Outcome.schema`) that it learns by `me.records.plan`."""
    uses: ClassVar[tuple[type, ...]] = ()
    goes_on: ClassVar[bool] = False
    """Whether it can go on without a party that is lost (`--on-loss continue`).

    An author who sets it says that the curator's part gathers from whoever is left: by secure sums,
    surveys, `Curator.gather_answers` and `Curator.receive_in_turn`. The conformance suite then
    loses a party after each of its messages.
    """
    needs_all: ClassVar[str] = ""
    """Why it cannot, as a clause for the refusal."""
    only_played: ClassVar[str] = ""
    """Why plays with few parties do not show what many would send, as a clause for the refusal.

    Where it is empty, `sottovoce plan` finds out by a play whether they do.
    """
    Parameters: ClassVar[type[Options]] = Options
    """The class in the brackets of the base class; values of `--set` are converted to it."""

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        for base in vars(cls).get("__orig_bases__", ()):
            for argument in get_args(base):
                if isinstance(argument, type) and issubclass(argument, Options):
                    cls.Parameters = argument

    def __init__(self, parameters: ParametersT, *, mode: Mode) -> None:
        self.parameters = parameters
        self.mode = mode

    @classmethod
    def variant(
        cls,
        parameters: ParametersT,  # noqa: ARG003 - for subclasses
        *,
        mode: Mode,  # noqa: ARG003 - for subclasses
    ) -> type[Protocol[ParametersT]]:
        """Pick the class that runs: another one where mode or parameters mean another protocol.

        It need not be a subclass, so that variants never import the class that picks them.

        Raises:
            UsageError: the parameters do not go together in any variant of this mode.
        """
        return cls

    def require_going_on(self, *, parties: int, min_parties: int) -> None:
        """Refuse to go on without lost parties, where protocol or parameters do not allow it.

        Raises:
            UsageError: the text says what can be done instead.
        """
        if not self.goes_on:
            reason = self.needs_all or "its class does not say goes_on = True"
            raise UsageError(
                f"expected a protocol that can go on without a party that is lost, found "
                f"{self.name} in mode {self.mode}, which needs all, since {reason}: with --durable "
                "a run that has stopped goes on with all its parties (sottovoce resume)"
            )
        if not 1 <= min_parties <= parties:
            raise UsageError(f"expected --min-parties of 1 to {parties}, found {min_parties}")

    @abstractmethod
    def party(self, me: Party) -> None:
        """Play one party."""

    @abstractmethod
    def curator(self, desk: Curator) -> Outcome:
        """Play the curator; the outcome is published."""

    def predict(self, public: Public) -> Sequence[Cost] | None:  # noqa: ARG002 - for subclasses
        """Predict the cost from public figures; `None` where it cannot be known."""
        return None

    def chosen(
        self,
        public: Public,  # noqa: ARG002 - for subclasses
    ) -> Mapping[str, str | int | float]:
        """List the values of parameters that were left open, as far as public figures give them.

        The report shows them beside the parameters that were set.
        """
        values = {
            name: getattr(self, name, None)
            for name in self.Parameters.__struct_fields__
            if getattr(self.parameters, name) is None
        }
        return {
            name: value for name, value in values.items() if isinstance(value, str | int | float)
        }

    def formulas(self, public: Public) -> Sequence[Formula]:  # noqa: ARG002 - for subclasses
        """Evaluate the paper's cost formulas, printed and corrected, phase by phase."""
        return ()

    def warnings(self, public: Public) -> Sequence[str]:  # noqa: ARG002 - for subclasses
        """List what these parameters give up, in plain words; every report shows the list."""
        return ()

    @property
    def colluding(self) -> int | None:
        """Collusion threshold: how many parties may collude against another while the claim holds.

        It is the parameter of this name, which protocols with secure sums have: parties add noise
        together there, and whoever colludes can subtract its shares. `None` means all parties, the
        curator included: without that parameter each party's own noise protects its records.

        Raises:
            MisuseError: the protocol uses secure sums, and its parameters lack the threshold.
        """
        if "colluding" in self.Parameters.__struct_fields__:
            return int(getattr(self.parameters, "colluding"))  # noqa: B009 - Options has no such field
        if any(getattr(part, "shared_noise", False) for part in self.uses):
            raise MisuseError(
                f"{self.name}: expected a parameter colluding, since in secure sums parties add "
                "noise together and the claim covers so many of them, found none: derive "
                f"{self.Parameters.__name__} from SumOptions"
            )
        return None

    @property
    def curator_may_collude(self) -> bool:
        """Whether the claim also covers `colluding` parties together with the curator."""
        return True

    @property
    def parties_talk(self) -> bool:
        """Whether parties send each other messages without a call of `introduce` before.

        If identities were given, they are then introduced to each other before the protocol begins.
        This takes K(K - 1) messages. Where parties only talk with the curator, set it to `False`.
        """
        return not any(getattr(part, "introduces", False) for part in self.uses)

    @property
    def epsilon(self) -> float:
        """The epsilon that the run claims for each record.

        It is the parameter of this name; a protocol without that parameter overrides the property.
        """
        if "epsilon" not in self.Parameters.__struct_fields__:
            raise MisuseError(
                f"{self.name}: expected a parameter or a property epsilon, found none"
            )
        return float(getattr(self.parameters, "epsilon"))  # noqa: B009 - Options has no such field

    @property
    def delta(self) -> float:
        """The delta of the run: the chance with which its claim may fail.

        It is converted once (`privacy.conversion`). A run whose noise is all pure needs none of it.
        """
        return self.parameters.delta

    @property
    def max_delta(self) -> float:
        """The most that deltas of mechanisms may add up to; by default the delta of the run."""
        return self.delta

    @classmethod
    def kinds(cls) -> tuple[type, ...]:
        """List the messages that this protocol may send."""
        kinds: dict[str, type] = {}
        for owner in (*cls.uses, cls):
            for base in reversed(owner.__mro__):
                kinds |= {name: value for name, value in vars(base).items() if is_message(value)}
        return tuple(kinds.values())


AnyProtocol: TypeAlias = Protocol[Any]
"""A protocol whose parameters are not known to the type checker."""
