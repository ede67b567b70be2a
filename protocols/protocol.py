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
from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    TypeAlias,
    TypeVar,
    get_args,
)

import msgspec

from ..curator import Curator
from ..messages import ArgumentError, MisuseError, UsageError
from ..messages.message import is_message
from ..parties import Party, Schema
from ..privacy import BudgetHolder, Members, Neighbours
from ..privacy.domain import LabelledRows
from .cost import Cost, Formula, Public

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "AnyProtocol",
    "ParametersT",
    "Epsilon",
    "MAX_SYNTHETIC_ROWS",
    "Mode",
    "Options",
    "Outcome",
    "Protocol",
    "UserTraffic",
]

Mode: TypeAlias = Literal["rigorous", "paper"]
Epsilon: TypeAlias = Annotated[
    float, msgspec.Meta(ge=1e-12, le=1000, description="privacy budget of each record")
]
Confidence: TypeAlias = Annotated[
    float,
    msgspec.Meta(gt=0, lt=1, description="of the interval from low to high around each count"),
]
MAX_SYNTHETIC_ROWS: Final = 100_000_000
"""Rows that a protocol publishes at most; whether they fit in memory is checked before a run."""
Delta: TypeAlias = Annotated[
    float,
    msgspec.Meta(ge=0, lt=1, description="chance that epsilon may fail; 0 allows pure noise only"),
]


class Options(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A protocol's parameters: `--set NAME=VALUE`, checked against types and bounds."""

    delta: Delta = 1e-9

    def covering(
        self,
        adversaries: Sequence[Members],  # noqa: ARG002 - for subclasses
        *,
        parties: int,  # noqa: ARG002 - for subclasses
    ) -> str:
        """Say which options make the claim cover these adversaries, and at which price.

        The text is empty where no option does.
        """
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserTraffic:
    """What users would send in a deployment, where each of them sends her own reports.

    In a run a cohort stands for its users: its messages carry their reports, or sums of reports.
    """

    users: int
    """Number of users."""
    reports: int
    """Number of reports of all users."""
    bits: int
    """Size of all reports together."""
    least: int
    """Bits of the smallest report."""
    most: int
    """Bits of the largest report."""
    simulate: str
    """Whether every report was made (`reports`) or sums of reports were drawn."""
    smallest_group: int | None = None
    """Least number of users who answer one question in one round; `None` if it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the curator publishes; anyone may see all of it."""

    synthetic: pd.DataFrame | LabelledRows | None = None
    """A synthetic table with the original labels, written to synthetic.csv."""
    marginals: pd.DataFrame | Sequence[Mapping[str, object]] | None = None
    """Rows of attribute_1, value_1, ..., count, written to marginals.csv."""
    model: Mapping[str, object] | None = None
    """A model that JSON can hold, written to model.json."""
    schema: Schema | None = None
    """A schema that was learnt, written to schema.json."""
    summary: Mapping[str, object] = field(default_factory=dict)
    """Some figures for the terminal and for report.json."""
    user_traffic: UserTraffic | None = None
    """What users send, where a protocol simulates users."""

    def __post_init__(self) -> None:
        for name in ("summary", "model"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Mapping):
                raise ArgumentError(
                    f"expected {name}={{NAME: VALUE}} in Outcome, found a {type(value).__name__}"
                )
        for name in ("synthetic", "marginals"):
            value = getattr(self, name)
            is_rows = name == "marginals" and isinstance(value, Sequence)
            are_mappings = is_rows and all(isinstance(row, Mapping) for row in value)
            if not (value is None or hasattr(value, "columns") or are_mappings):
                raise ArgumentError(
                    f"expected a DataFrame for {name} in Outcome, found a {type(value).__name__}"
                )


ParametersT = TypeVar("ParametersT", bound=Options)
"""The type of a protocol's parameters."""


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
