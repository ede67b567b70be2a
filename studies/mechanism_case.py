"""A case of the audit of mechanisms: a mechanism with two neighbouring values, in one view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..crypto import RandomStream
from ..privacy import Mechanism
from ..privacy.likelihood import log_ratio

__all__ = ["DELTA", "EPSILON", "MechanismCase", "pair"]

EPSILON: Final = 1.0
DELTA: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismCase:
    """A mechanism with two neighbouring values, in one view."""

    name: str
    view: str = "public"
    mode: str = "rigorous"
    first: Callable[[RandomStream], Any]
    """Draws an answer of the first value, as the view holds it."""
    second: Callable[[RandomStream], Any]
    ratio: Callable[[Any], float]
    """The log-ratio of an answer: the first value against the second."""
    claim: float = EPSILON
    accounted: float = EPSILON
    delta: float = 0.0
    answers: Sequence[Any] = ()
    """Answers that are possible and rare; their log-ratios count, too."""
    max_draws: int = 10_000_000
    """Most draws, where one takes milliseconds."""
    exact_epsilon: float | None = None
    """The exact epsilon at this delta, where single answers have no bound."""


def pair(
    first: Mechanism[Any], second: Mechanism[Any], *, name: str = "", **options: Any
) -> MechanismCase:
    """Make a case of two mechanisms whose law is declared."""
    return MechanismCase(
        name=name or first.name,
        first=first.draw,
        second=second.draw,
        ratio=lambda answer: log_ratio(first, second, answer),
        **options,
    )
