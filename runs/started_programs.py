"""Programs that a part starts: a replay starts them, too, and shows nothing that they print.

A program has the standard output of the process, past what `runs.printing` notes. A replay gives it
another one that nobody reads, unless the part says where its output goes. From the first plug-in on
functions stand in the place of `subprocess.Popen` and `os.system`. For everybody else nothing
changes.
"""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable
from typing import Any, Final

from .side_effects import current_effects, is_authors, note_effect

__all__ = ["PROGRAM", "lead_programs"]

PROGRAM: Final = "program"
"""The beginning of the name of an act that starts a program."""
_INIT: Final[Callable[..., None]] = subprocess.Popen.__init__
_SYSTEM: Final = os.system
_STREAMS: Final = ("stdout", "stderr")


def lead_programs() -> None:
    """Show nothing of what programs of replays print, from now on."""
    if os.system is _SYSTEM:
        setattr(subprocess.Popen, "__init__", _popen)  # noqa: B010 - they are typed
        setattr(os, "system", _system)  # noqa: B010


@functools.wraps(_INIT)
def _popen(program: Any, *arguments: Any, **others: Any) -> None:
    if _is_of_replay() and len(arguments) == 1:
        unsaid = {name: subprocess.DEVNULL for name in _STREAMS if others.get(name) is None}
        others = {**others, **unsaid}
    _INIT(program, *arguments, **others)


@functools.wraps(_SYSTEM)
def _system(command: str | bytes) -> int:
    effects = current_effects()
    if effects is not None and is_authors(effects.packages):
        effects.starts_processes = True
        note_effect(PROGRAM, command)
    if _is_of_replay() and os.name == "posix":
        command = b"exec >/dev/null 2>&1; " + os.fsencode(command)
    return _SYSTEM(command)


def _is_of_replay() -> bool:
    """Tell whether the code of a part that shows nothing makes this call."""
    effects = current_effects()
    return effects is not None and not effects.shown and is_authors(effects.packages, depth=2)
