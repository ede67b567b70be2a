"""Functions that a part leaves to be called when the program ends, by `atexit.register`.

What they do comes after everything that is compared. A replay leaves none: it would print what
other records say. From the first plug-in on a function stands in the place of Python's own. For
everybody else nothing changes.
"""

from __future__ import annotations

import atexit
import functools
import sys
from collections.abc import Callable
from typing import Any, Final

from .side_effects import current_effects

__all__ = ["lead_exit_calls"]

_REGISTER: Final[Callable[..., Any]] = atexit.register


def lead_exit_calls() -> None:
    """Note the functions that parts leave from now on."""
    if atexit.register is _REGISTER:
        setattr(atexit, "register", _register)  # noqa: B010 - it is typed


@functools.wraps(_REGISTER)
def _register(call: Callable[..., Any], /, *arguments: Any, **others: Any) -> Callable[..., Any]:
    effects = current_effects()
    caller = str(sys._getframe(1).f_globals.get("__name__"))  # noqa: SLF001
    # Libraries that a part calls tidy up after themselves.
    if effects is not None and caller.partition(".")[0] in effects.packages:
        effects.registers = True
        if not effects.shown:
            return call
    _REGISTER(call, *arguments, **others)
    return call
