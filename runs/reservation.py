"""Reservations: what a run takes from a budget before it begins, and what it cost in the end."""

from __future__ import annotations

import getpass
import math
import os
import platform
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from ..messages import UsageError
from ..privacy import Neighbours
from .budget import Budget, Spending
from .budget_file import locked, read_budget, write_budget
from .datasets import Dataset
from .infinity import INFINITY

__all__ = ["Reservation", "reserve"]

SLACK: Final = 1e-9
"""Relative excess that rounding may cause."""


class Reservation:
    """What a run has taken from a budget before it began."""

    def __init__(self, file: Path, run: str, neighbours: Neighbours) -> None:
        self._file = file
        self._run = run
        self._neighbours = neighbours

    def cancel(self) -> None:
        """Give back what was taken. This is for a run in which no role has begun."""
        with locked(self._file):
            budget = read_budget(self._file)
            spending = [entry for entry in budget.spending if entry.run != self._run]
            write_budget(msgspec.structs.replace(budget, spending=spending), self._file)

    def settle(
        self, costs: Mapping[str, float], *, to_anyone: Mapping[str, float], delta: float
    ) -> None:
        """Write down what the run cost each dataset, as accounted, in place of its claim.

        Args:
            costs: by digest, the largest loss to any adversary that the claim covers.
            to_anyone: by digest, the largest loss to any adversary.
            delta: the probability with which the losses may not hold.
        """
        with locked(self._file):
            budget = read_budget(self._file)
            counted = to_anyone if budget.against == "anyone" else costs

            def converted(losses: Mapping[str, float], entry: Spending) -> float:
                return budget.converted(losses[entry.dataset], neighbours=self._neighbours)

            spending = [
                msgspec.structs.replace(
                    entry,
                    epsilon=converted(counted, entry),
                    to_anyone=converted(to_anyone, entry),
                    delta=delta,
                    state="ended",
                )
                if entry.run == self._run
                else entry
                for entry in budget.spending
            ]
            write_budget(msgspec.structs.replace(budget, spending=spending), self._file)


def reserve(
    path: str | os.PathLike[str],
    claims: Sequence[tuple[Dataset, float]],
    *,
    protocol: str,
    claimed: float,
    neighbours: Neighbours,
    run: str | None = None,
) -> Reservation:
    """Take a run's claim from the budget of each of its datasets, before the run begins.

    Args:
        path: the file.
        claims: the datasets, and the epsilon that the run claims on each.
        protocol: the protocol's name, to be written down.
        claimed: the protocol's claim.
        neighbours: the protocol's relation.
        run: the name of a durable run. What it has taken already, it does not take again.

    Raises:
        UsageError: the budget of a dataset does not suffice. Then nothing is written.
    """
    file = Path(path)
    with locked(file):
        budget = read_budget(file)
        if run is not None and any(entry.run == run for entry in budget.spending):
            return Reservation(file, run, neighbours)
        run, began = run or secrets.token_hex(8), datetime.now(UTC)
        entries = []
        for dataset, claim in claims:
            epsilon = budget.converted(claim, neighbours=neighbours)
            _check(budget, dataset, epsilon, file=file, claim=claim, neighbours=neighbours)
            entries.append(
                Spending(
                    run=run,
                    dataset=dataset.digest,
                    name=dataset.name,
                    epsilon=epsilon,
                    to_anyone=epsilon,
                    delta=0.0,
                    state="started",
                    protocol=protocol,
                    claimed=claimed,
                    neighbours=neighbours,
                    who=_who(),
                    began=began,
                )
            )
        write_budget(msgspec.structs.replace(budget, spending=[*budget.spending, *entries]), file)
    return Reservation(file, run, neighbours)


def _check(
    budget: Budget,
    dataset: Dataset,
    epsilon: float,
    *,
    file: Path,
    claim: float,
    neighbours: Neighbours,
) -> None:
    """Refuse a run that would exceed the budget of a dataset."""
    if claim < math.inf and epsilon == math.inf:
        raise UsageError(
            f"expected a run whose privacy loss counts under {budget.neighbours}, as in {file}, "
            f"found {neighbours}, which cannot be converted: make another budget by "
            f"`sottovoce budget FILE --epsilon TOTAL --neighbours {neighbours}`"
        )
    spent = budget.spent(dataset.digest)
    if spent + epsilon <= budget.epsilon * (1 + SLACK):
        return
    left = max(0.0, budget.epsilon - spent)
    runs = len({entry.run for entry in budget.of(dataset.digest)})
    claims, spending = (INFINITY if loss == math.inf else f"{loss:g}" for loss in (epsilon, spent))
    twice = "" if epsilon == claim else f" (counted from {claim:g} under {neighbours})"
    raise UsageError(
        f"expected a run that costs at most epsilon {left:g} on {dataset.name}, found one that "
        f"claims {claims}{twice}: {file} allows {budget.epsilon:g}, and {runs} earlier "
        f"run{'' if runs == 1 else 's'} spent {spending}; see `sottovoce budget {file}`"
    )


def _who() -> str:
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a user without a name, as in some containers
        user = str(os.getuid())
    return f"{user}@{platform.node()}"
