"""The file of a budget: locked while it changes, and written as a whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec

from ..messages import UsageError
from ..privacy import Neighbours
from .budget import Budget
from .infinity import from_json, in_json

__all__ = ["create_budget", "locked", "read_budget", "write_budget"]


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
    with locked(file):
        if file.exists():
            raise UsageError(
                f"expected a new file, found {file}: its total is not changed, as earlier runs "
                "were allowed under it; choose another name, or edit the file"
            )
        against = "anyone" if against_anyone else "claimed"
        values = {"epsilon": epsilon, "neighbours": neighbours, "against": against}
        budget = msgspec.convert(values, Budget)
        write_budget(budget, file)


def read_budget(path: str | os.PathLike[str]) -> Budget:
    """Read a file of what was spent.

    Raises:
        UsageError: there is none, or it is damaged. A damaged file is never taken for an empty one.
    """
    file = Path(path)
    try:
        return msgspec.convert(from_json(json.loads(file.read_text())), Budget, strict=False)
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


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
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


def write_budget(budget: Budget, file: Path) -> None:
    """Write the file as a whole, or not at all, and have it on the disk before going on."""
    path = file.resolve()
    text = json.dumps(in_json(msgspec.to_builtins(budget)), indent=1) + "\n"
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
