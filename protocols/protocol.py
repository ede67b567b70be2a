"""What a protocol is: one class, both sides of the conversation, and what it says of itself.

    class HeadCountParameters(Options):
        epsilon: Epsilon = 1.0

    class HeadCount(Protocol[HeadCountParameters]):
        name = "head-count"

        @message
        class NoisyCount:
            count: int

        def party(self, me: Party) -> None: ...
        def curator(self, desk: Curator) -> Outcome: ...

Messages nested in the class, in its bases and in the sub-protocols it names in `uses` are the kinds
it may say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    Self,
    TypeAlias,
    TypeVar,
    get_args,
)

import msgspec

from ..curator import Curator
from ..messages import MisuseError
from ..messages.message import is_message
from ..parties import Party
from ..privacy import Domain, Neighbours

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "AnyProtocol",
    "ParametersT",
    "Cost",
    "Epsilon",
    "Formula",
    "Mode",
    "Options",
    "Outcome",
    "Protocol",
    "Public",
    "Said",
    "add_up",
]

Mode: TypeAlias = Literal["rigorous", "paper"]
Epsilon: TypeAlias = Annotated[
    float, msgspec.Meta(gt=0, le=1000, description="privacy budget of each record")
]


class Options(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A protocol's parameters: `--set NAME=VALUE`, checked against the types and bounds written
    here.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A line of the predicted cost: so many messages of one kind in one phase, and their payload
    bytes in all.
    """

    phase: str
    kind: str
    messages: int
    payload_bytes: int


def add_up(lines: Iterable[Cost]) -> list[Cost]:
    """Add up the lines of the same kind in the same phase."""
    found: dict[tuple[str, str], Cost] = {}
    for line in lines:
        before = found.get(
            (line.phase, line.kind),
            Cost(phase=line.phase, kind=line.kind, messages=0, payload_bytes=0),
        )
        found[line.phase, line.kind] = Cost(
            phase=line.phase,
            kind=line.kind,
            messages=before.messages + line.messages,
            payload_bytes=before.payload_bytes + line.payload_bytes,
        )
    return list(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """What a paper says that a phase costs: by its formula as printed, and as it should read, for
    this run's figures.
    """

    phase: str
    printed_rounds: float
    printed_bytes: float
    corrected_rounds: float
    corrected_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Public:
    """What everybody knows of a run, and a predicted cost may depend on."""

    parties: int
    rows: int
    """Of all parties; 0 where it is secret, as neighbours differ by a record more or less."""
    key_bits: int
    domain: Domain | None
    model: Mapping[str, Any] | None = None
    """What was published of the structure that was found: a cost may follow from it that nobody
    knew beforehand.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What users say, each for herself, in a deployment; cohorts' messages wrap it, or stand for
    it.
    """

    users: int
    """There are."""
    reports: int
    """Are made."""
    bits: int
    """Of all reports together."""
    least: int
    most: int
    """Of one report."""
    simulate: str
    """Whether the reports were made, or their sums drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the curator publishes. Everything in it may be seen by anybody."""

    synthetic: pd.DataFrame | None = None
    """A synthetic table with original labels: synthetic.csv."""
    marginals: pd.DataFrame | None = None
    """Rows of attribute_1, value_1, ..., count: marginals.csv."""
    model: Mapping[str, Any] | None = None
    """A model as JSON: model.json."""
    summary: Mapping[str, Any] = field(default_factory=dict)
    """A few figures for the terminal and report.json."""
    said: Said | None = None
    """What users say, where a protocol simulates them."""


ParametersT = TypeVar("ParametersT", bound=Options)
"""The type of a protocol's parameters."""


class Protocol(ABC, Generic[ParametersT]):
    """A conversation. The class in brackets, `Protocol[MyParameters]`, declares its parameters."""

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    """What it publishes, in a few words."""
    paper: ClassVar[str] = ""
    trust: ClassVar[str] = ""
    """Who is trusted with what, in a few words."""
    modes: ClassVar[tuple[Mode, ...]] = ("rigorous",)
    least_parties: ClassVar[int] = 1
    most_parties: ClassVar[int | None] = None
    neighbours: ClassVar[Neighbours]
    needs_schema: ClassVar[bool] = False
    """Whether records come as codes of a public domain (`me.records.marginal`, `desk.domain`)."""
    uses: ClassVar[tuple[type, ...]] = ()
    Parameters: ClassVar[type[Options]] = Options
    """The class in the brackets of the base class. Whoever reads `--set` converts values to it."""

    def __init_subclass__(cls, **more: object) -> None:
        super().__init_subclass__(**more)
        for base in vars(cls).get("__orig_bases__", ()):
            for argument in get_args(base):
                if isinstance(argument, type) and issubclass(argument, Options):
                    cls.Parameters = argument

    def __init__(self, parameters: ParametersT, *, mode: Mode) -> None:
        self.parameters = parameters
        self.mode = mode

    @classmethod
    def variant(cls, parameters: ParametersT, *, mode: Mode) -> type[Self]:  # noqa: ARG003
        """Pick the class that plays: a subclass where a mode or a parameter means another protocol.

        Raises:
            UsageError: the parameters do not belong to the variant that the mode asks for.
        """
        return cls

    @abstractmethod
    def party(self, me: Party) -> None:
        """Speak for one party."""

    @abstractmethod
    def curator(self, desk: Curator) -> Outcome:
        """Speak for the curator, and publish."""

    def predict(self, public: Public) -> Sequence[Cost] | None:  # noqa: ARG002 - part of the signature
        """Predict the cost as a formula of public figures; `None` when it cannot be known."""
        return None

    def chosen(self) -> Mapping[str, Any]:
        """Say what parameters that were left open stand for, as far as that is known before the
        run; for the report.
        """
        left = (
            name
            for name in self.Parameters.__struct_fields__
            if getattr(self.parameters, name) is None
        )
        own = {name: getattr(self, name, None) for name in left}
        return {name: value for name, value in own.items() if isinstance(value, str | int | float)}

    def formulas(self, public: Public) -> Sequence[Formula]:  # noqa: ARG002 - part of the signature
        """Put the paper's own formulas beside their corrections, phase by phase."""
        return ()

    def warnings(self, public: Public) -> Sequence[str]:  # noqa: ARG002 - part of the signature
        """Say in plain words what the person gives up with these parameters; they stand in every
        report.
        """
        return ()

    @property
    def colluding(self) -> int | None:
        """How many other parties may pool what they know while the claim still holds; `None`: as
        many as there are.
        """
        return None

    @property
    def epsilon(self) -> float:
        """The budget of each party's records: what the run claims.

        It is the parameter of this name. A protocol without one overrides this property.
        """
        if "epsilon" not in self.Parameters.__struct_fields__:
            raise MisuseError(
                f"{self.name}: expected a parameter or a property epsilon, found none"
            )
        return float(getattr(self.parameters, "epsilon"))  # noqa: B009 - Options has no such field

    @classmethod
    def kinds(cls) -> tuple[type, ...]:
        """List the messages that this protocol may say."""
        found: dict[str, type] = {}
        for owner in (*cls.uses, cls):
            for base in reversed(owner.__mro__):
                found |= {name: value for name, value in vars(base).items() if is_message(value)}
        return tuple(found.values())


AnyProtocol: TypeAlias = Protocol[Any]
"""A protocol whose parameters are not known to the type checker."""
