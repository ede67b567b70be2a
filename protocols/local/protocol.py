"""The randomizer of each question, as the parameter `oracle` chooses it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Protocol, TypeVar

import msgspec

from ...messages import Private, UsageError
from ...privacy.local import RANDOMIZERS, Randomizer, best, printed_choice
from ..options import MAX_SYNTHETIC_ROWS, Mode
from ..registry import load
from ..survey import SurveyOptions, SurveyProtocol

__all__ = ["LocalOptions", "LocalProtocol", "SyntheticRows", "Ways", "choose_randomizer"]

SyntheticRows = Annotated[
    int,
    msgspec.Meta(
        ge=0,
        le=MAX_SYNTHETIC_ROWS,
        description="rows of the synthetic table, at most one a user; 0: none",
    ),
]
Ways = Annotated[
    int, msgspec.Meta(ge=1, le=6, description="attributes of each marginal that is published")
]


class LocalOptions(SurveyOptions):
    """Parameters of a survey in which the randomizer can be chosen."""

    oracle: Annotated[
        str,
        msgspec.Meta(
            description="local randomizer: best (the least variance for each table), adaptive "
            f"(CALM's rule), {', '.join(RANDOMIZERS)}, or module:Class"
        ),
    ] = "best"

    def __post_init__(self) -> None:
        choose_randomizer(2, self)


class RandomizerRule(Protocol):
    """Makes the randomizer for a table of so many cells."""

    def __call__(self, cells: int, *, epsilon: float) -> Randomizer: ...


def choose_randomizer(
    cells: int, options: LocalOptions, *, rule: RandomizerRule = best
) -> Randomizer:
    """Make the randomizer for a table of so many cells.

    `rule` is what `oracle=best` stands for; as printed it is CALM's adaptive rule, or OUE alone.

    Raises:
        UsageError: the parameter `oracle` names no randomizer, or one that cannot be made.
    """
    try:
        match options.oracle:
            case "best":
                return rule(cells, epsilon=options.epsilon)
            case "adaptive":
                return printed_choice(cells, epsilon=options.epsilon)
            case name if name in RANDOMIZERS:
                return RANDOMIZERS[name](cells, epsilon=options.epsilon)
            case name if ":" in name:
                return _load_randomizer(name)(cells, epsilon=options.epsilon)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - of a user-defined randomizer
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise UsageError(
            f"expected {options.oracle} to take tables of {cells:,} combinations of labels, found ",
            Private(f"{kind}{error}"),
            ": take oracle=best, or give attributes fewer labels in --schema",
        ) from None
    names = f"best, adaptive, {', '.join(RANDOMIZERS)}, or module:Class"
    raise UsageError(f"expected a randomizer for oracle ({names}), found {options.oracle!r}")


def _load_randomizer(reference: str) -> type[Randomizer]:
    loaded = load(reference, what="a randomizer")
    if not (isinstance(loaded, type) and issubclass(loaded, Randomizer)):
        raise UsageError(
            f"expected a subclass of sottovoce.privacy.local.Randomizer at {reference}, "
            f"found {loaded!r}"
        )
    if "name" not in vars(loaded):
        raise UsageError(f"expected {reference} to define a name of its own, found none")
    return loaded


LocalOptionsT = TypeVar("LocalOptionsT", bound=LocalOptions)


class LocalProtocol(SurveyProtocol[LocalOptionsT]):
    """A protocol in which every user answers questions by a randomizer that can be chosen."""

    modes: ClassVar[tuple[Mode, ...]] = ("rigorous", "paper")

    def __init__(self, parameters: LocalOptionsT, *, mode: Mode) -> None:
        super().__init__(parameters, mode=mode)
        self._randomizers: dict[int, Randomizer] = {}

    def randomizer(self, cells: int) -> Randomizer:
        """Choose the randomizer for questions of so many cells; they all share it."""
        if cells not in self._randomizers:
            self._randomizers[cells] = self.choose_randomizer(cells)
        return self._randomizers[cells]

    def choose_randomizer(self, cells: int) -> Randomizer:
        """Choose by the parameter `oracle`; as printed a variant has another rule for `best`."""
        return choose_randomizer(cells, self.parameters)
