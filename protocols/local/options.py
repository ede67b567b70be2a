"""Options that all protocols over users share, and which randomizer they mean."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from ...messages import UsageError
from ...privacy.local import RANDOMIZERS, Randomizer, best, printed_choice
from ..protocol import Epsilon, Mode, Options
from ..registry import load

__all__ = ["LocalOptions", "Simulate", "SurveyOptions", "SyntheticRows", "Ways", "choose"]

Simulate = Literal["reports", "counts"]


SyntheticRows = Annotated[
    int, msgspec.Meta(ge=0, description="rows of the synthetic table, at most one a user; 0: none")
]
Ways = Annotated[
    int, msgspec.Meta(ge=1, le=6, description="attributes of each marginal that is published")
]


class SurveyOptions(Options):
    """Options of a survey."""

    epsilon: Epsilon = 1.0
    simulate: Annotated[
        Simulate,
        msgspec.Meta(
            description="reports: make, send and count every user's; counts: draw their sums from the exact law"
        ),
    ] = "reports"
    users: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            lt=1 << 50,
            description="draw so many users from the records, with replacement; 0: one each",
        ),
    ] = 0


class LocalOptions(SurveyOptions):
    """Options of a survey in which the randomizer may be chosen."""

    oracle: Annotated[
        str,
        msgspec.Meta(
            description="local randomizer: best (the least variance for each table), adaptive (CALM's rule), "
            f"{', '.join(RANDOMIZERS)}, or module:Class"
        ),
    ] = "best"

    def __post_init__(self) -> None:
        choose(2, self, mode="rigorous")


def choose(cells: int, options: LocalOptions, *, mode: Mode) -> Randomizer:
    """Make the randomizer for a table of so many cells; what cannot be is a `UsageError`."""
    if mode == "paper" and options.oracle == "best":
        return printed_choice(cells, epsilon=options.epsilon)
    try:
        match options.oracle:
            case "best":
                return best(cells, epsilon=options.epsilon)
            case "adaptive":
                return printed_choice(cells, epsilon=options.epsilon)
            case name if name in RANDOMIZERS:
                return RANDOMIZERS[name](cells, epsilon=options.epsilon)
            case name if ":" in name:
                return _find(name)(cells, epsilon=options.epsilon)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - of somebody's own randomizer
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise UsageError(f"{options.oracle} for {cells} cells: {kind}{error}") from None
    known = f"best, adaptive, {', '.join(RANDOMIZERS)}, or module:Class"
    raise UsageError(f"expected a randomizer for oracle ({known}), found {options.oracle!r}")


def _find(reference: str) -> type[Randomizer]:
    found = load(reference, what="a randomizer")
    if not (isinstance(found, type) and issubclass(found, Randomizer)):
        raise UsageError(
            f"expected a subclass of sottovoce.privacy.local.Randomizer at {reference}, found {found!r}"
        )
    if "name" not in vars(found):
        raise UsageError(f"expected {reference} to define a name of its own, found none")
    return found
