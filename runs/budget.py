"""The budget of datasets, kept in a file from run to run.

    sottovoce budget spent.json --epsilon 3      makes it, with a total for each dataset
    sottovoce run ... --budget spent.json        spends from it, or is refused
    sottovoce budget spent.json                  shows who spent what

A dataset is a table with a certain digest. Runs on one dataset compose one after another, so their
epsilons add up. A run is written down before it begins, with the epsilon that it claims, because a
run that crashes may have released all the same. When it has ended, its loss as accounted takes the
place of the claim: the largest to any adversary that the claim covers, and infinity where a message
left without a release. Coalitions beyond a run's collusion threshold are listed beside it; a file
made with `--against-anyone` counts them, too. A run that fails before any role has begun costs
nothing.

All figures in a file are for one relation between neighbouring datasets. Others are converted where
that is possible:

    add-or-remove-one      counts twice. To replace a record is to remove one and to add one.
    replace-one            counts once where a label is protected: another label, another record

Nothing else can be converted: under replace-one the exact number of records costs nothing, and a
protocol that protects labels may send the attributes as they are. Such a run needs a file of its
own.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import math
import os
import platform
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, get_args

import msgspec

from ..messages import UsageError
from ..privacy import Neighbours
from .datasets import Dataset

__all__ = ["Budget", "Reservation", "Spending", "create_budget", "read_budget", "reserve"]

NOTE: Final = (
    "What runs of sottovoce have spent on each dataset. Keep it with the data: a digest lets "
    "anyone confirm a guess of a small table."
)
INFINITY: Final = "infinity"
SLACK: Final = 1e-9
"""Relative excess that rounding may cause."""
_CONVERTED: Final[Mapping[tuple[str, str], float]] = {
    ("add-or-remove-one", "replace-one"): 2.0,
    ("add-or-remove-one", "label-alone"): 2.0,
    ("add-or-remove-one", "label-within-belief"): 2.0,
    ("replace-one", "label-alone"): 1.0,
    ("replace-one", "label-within-belief"): 1.0,
}
"""Factors of epsilon, by the relation of a run and the relation of the file."""


class Spending(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one run spent on one dataset."""

    run: str
    """Random name of the run, the same for all of its datasets."""
    dataset: str
    """Digest of the table."""
    name: str
    """Name of the table when the run began."""
    epsilon: float
    """Spent epsilon that counts, for the file's relation."""
    to_anyone: float
    """Largest loss to any adversary, also beyond the collusion threshold."""
    delta: float
    state: Literal["started", "ended"]
    """Until it has ended, a run counts with its claim; a run that failed stays "started"."""
    protocol: str
    claimed: float
    """The protocol's claim, for its own relation."""
    neighbours: Neighbours
    """The protocol's own relation."""
    who: str
    began: datetime


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of what was spent."""

    note: str = NOTE
    epsilon: float
    """Total epsilon for each dataset."""
    neighbours: Neighbours
    against: Literal["claimed", "anyone"] = "claimed"
    """Adversaries whose loss counts: those that each run's claim covers, or all of them."""
    spending: list[Spending] = []

    def spent(self, dataset: str) -> float:
        """Add up what was spent on a dataset."""
        return math.fsum(entry.epsilon for entry in self.of(dataset))

    def of(self, dataset: str) -> list[Spending]:
        """List what was spent on a dataset."""
        return [entry for entry in self.spending if entry.dataset == dataset]

    def converted(self, epsilon: float, *, neighbours: Neighbours) -> float:
        """Convert a run's epsilon to the file's relation; infinity where that is impossible."""
        if neighbours == self.neighbours:
            return epsilon
        return epsilon * _CONVERTED.get((neighbours, self.neighbours), math.inf)


def create_budget(
    path: str | os.PathLike[str],
    *,
    epsilon: float,
    neighbours: str = "replace-one",
    against_anyone: bool = False,
) -> None:
    """Make a file with a total epsilon for each dataset.

    Args:
        path: the new file.
        epsilon: the total.
        neighbours: the relation for which it counts.
        against_anyone: whether losses to coalitions count that the claim of a run does not cover.

    Raises:
        UsageError: the file exists, or a value is wrong.
    """
    file = Path(path)
    if not 0 < epsilon < math.inf:
        raise UsageError(f"expected a finite epsilon above 0, found {epsilon:g}")
    if neighbours not in get_args(Neighbours):
        raise UsageError(
            f"expected neighbours {' or '.join(get_args(Neighbours))}, found {neighbours!r}"
        )
    with _locked(file):
        if file.exists():
            raise UsageError(
                f"expected a new file, found {file}: its total is not changed, as earlier runs "
                "were allowed under it; choose another name, or edit the file"
            )
        against = "anyone" if against_anyone else "claimed"
        values = {"epsilon": epsilon, "neighbours": neighbours, "against": against}
        budget = msgspec.convert(values, Budget)
        _write(budget, file)


def read_budget(path: str | os.PathLike[str]) -> Budget:
    """Read a file of what was spent.

    Raises:
        UsageError: there is none, or it is damaged. A damaged file is never taken for an empty one.
    """
    file = Path(path)
    try:
        return msgspec.convert(_with_numbers(json.loads(file.read_text())), Budget, strict=False)
    except FileNotFoundError:
        raise UsageError(
            f"expected a budget at {file}, found no file: make one by "
            f"`sottovoce budget {file} --epsilon TOTAL`"
        ) from None
    except OSError as error:
        raise UsageError(f"expected a budget at {file}, found {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"expected a file of `sottovoce budget` at {file}, found another content: {error}"
        ) from None


class Reservation:
    """What a run has taken from a budget before it began."""

    def __init__(self, file: Path, run: str, neighbours: Neighbours) -> None:
        self._file = file
        self._run = run
        self._neighbours = neighbours

    def cancel(self) -> None:
        """Give back what was taken. This is for a run in which no role has begun."""
        with _locked(self._file):
            budget = read_budget(self._file)
            spending = [entry for entry in budget.spending if entry.run != self._run]
            _write(msgspec.structs.replace(budget, spending=spending), self._file)

    def settle(
        self, costs: Mapping[str, float], *, to_anyone: Mapping[str, float], delta: float
    ) -> None:
        """Write down what the run cost each dataset, as accounted, in place of its claim.

        Args:
            costs: by digest, the largest loss to any adversary that the claim covers.
            to_anyone: by digest, the largest loss to any adversary.
            delta: the probability with which the losses may not hold.
        """
        with _locked(self._file):
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
            _write(msgspec.structs.replace(budget, spending=spending), self._file)


def reserve(
    path: str | os.PathLike[str],
    claims: Sequence[tuple[Dataset, float]],
    *,
    protocol: str,
    claimed: float,
    neighbours: Neighbours,
) -> Reservation:
    """Take a run's claim from the budget of each of its datasets, before the run begins.

    Args:
        path: the file.
        claims: the datasets, and the epsilon that the run claims on each.
        protocol: the protocol's name, to be written down.
        claimed: the protocol's claim.
        neighbours: the protocol's relation.

    Raises:
        UsageError: the budget of a dataset does not suffice. Then nothing is written.
    """
    file = Path(path)
    with _locked(file):
        budget = read_budget(file)
        run, began = secrets.token_hex(8), datetime.now(UTC)
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
        _write(msgspec.structs.replace(budget, spending=[*budget.spending, *entries]), file)
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


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Keep other processes from the file. The lock is a file beside it, as the file is replaced."""
    path = file.resolve()
    try:
        lock = path.with_name(f".{path.name}.lock").open("a")
    except OSError as error:
        raise UsageError(
            f"expected to write to {path.parent}, where the budget {file.name} is, found "
            f"{error.strerror}"
        ) from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write(budget: Budget, file: Path) -> None:
    """Write the file as a whole, or not at all, and have it on the disk before going on."""
    path = file.resolve()
    text = json.dumps(_with_words(msgspec.to_builtins(budget)), indent=1) + "\n"
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as new:
            try:
                new.write(text)
                new.flush()
                os.fsync(new.fileno())
                os.fchmod(new.fileno(), mode)
                Path(new.name).replace(path)
            except BaseException:
                Path(new.name).unlink(missing_ok=True)
                raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise UsageError(f"expected to write the budget {file}, found {error.strerror}") from None


def _with_words(value: Any) -> Any:
    """Write infinity as a word, since JSON has no such number."""
    if isinstance(value, dict):
        return {key: _with_words(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_words(item) for item in value]
    return INFINITY if value == math.inf else value


def _with_numbers(value: Any) -> Any:
    """Read the word for infinity as a number."""
    if isinstance(value, dict):
        return {key: _with_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_numbers(item) for item in value]
    return math.inf if value == INFINITY else value
