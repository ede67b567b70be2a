"""A place of its own for a play that is repeated: its files, its working folder, its variables.

What a replay, or the play of a rehearsal, writes or sets is seen by that play alone. So replays of
several parties cannot disturb each other, nor a part that is played for real, nor files of the
user's. What the play leaves can be compared before the place is closed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from .private_environment import PrivateVariables, reset_variables, use_variables
from .private_files import PrivateFiles, working_folder
from .routed_calls import reset_files, use_files

__all__ = ["PrivatePlace", "private_place"]


class PrivatePlace:
    """Files and variables of one play."""

    def __init__(
        self,
        *,
        variables: Mapping[str, str],
        absent: Iterable[Path] = (),
        folder: str | None = None,
    ) -> None:
        self.variables = PrivateVariables(dict(variables))
        self.files = PrivateFiles(absent=absent)
        self._folder = folder

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Let the block, on this thread and with copies of its context, have this place."""
        of_variables, of_files = use_variables(self.variables), use_files(self.files)
        of_folder = working_folder.set(self._folder)
        try:
            yield
        finally:
            working_folder.reset(of_folder)
            reset_files(of_files)
            reset_variables(of_variables)


@contextlib.contextmanager
def private_place(
    *, variables: Mapping[str, str], absent: Iterable[Path] = (), folder: str | None = None
) -> Iterator[PrivatePlace]:
    """Make a place, which is closed after the block.

    Args:
        variables: the environment as the play finds it.
        absent: files that the play does not find.
        folder: the folder in which the play works; by default that of the process.
    """
    place = PrivatePlace(variables=variables, absent=absent, folder=folder)
    try:
        yield place
    finally:
        place.files.close()
