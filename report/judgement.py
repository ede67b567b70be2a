"""The judgement on a run: what was published, measured against the real tables.

It is made by whoever started the run, after the run has ended, if the tables can be read there. It
is not private, so it has a file of its own, judgement.json. The curator does not see the tables: a
run inside another program's MPI job has no judgement, and `sottovoce evaluate` measures afterwards.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import msgspec

from ..evaluation import Utility
from ..messages import UsageError
from ..runs.record import of_numpy

__all__ = ["NOT_CLASSIFIED", "Judgement", "Judging", "judgement_json", "read_judgement"]

NOT_CLASSIFIED: Final = "nothing was classified"
"""The beginning of the judge's warnings about classifiers."""
NOT_PRIVATE: Final = (
    "measured on the real table, without noise: not private, and not to be published"
)


class Judging(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the judge measures beyond the distances."""

    classify: list[str] = []
    classify_without: list[str] = []
    """Attributes that classifiers do not get."""
    test: str = ""
    """A table of other people, on which classifiers are tested.

    Without it they are tested on a fifth of the table itself.
    """
    binary: bool = False
    """Whether marginals of binarised attributes are compared, too."""
    l2: list[int] = []
    """L2 errors of marginals of so many attributes."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What judgement.json holds."""

    warning: str = NOT_PRIVATE
    """The first key: whoever opens the file reads first that it is not private."""
    rows: int
    """Number of real records, also where it is secret."""
    utility: Utility | None
    warnings: list[str] = []


def judgement_json(judgement: Judgement) -> bytes:
    """Write judgement.json."""
    builtins = msgspec.to_builtins(judgement, enc_hook=of_numpy)
    return (json.dumps(builtins, indent=2, allow_nan=False) + "\n").encode()


def read_judgement(folder: Path) -> Judgement | None:
    """Read the judgement.json of a run's folder; `None` where there is none."""
    try:
        return msgspec.json.decode((folder / "judgement.json").read_bytes(), type=Judgement)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(
            f"expected judgement.json in {folder} to be readable, found {error.strerror}"
        ) from None
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UsageError(
            f"expected judgement.json of a run in {folder}, found {type(error).__name__}: {error}"
        ) from None
