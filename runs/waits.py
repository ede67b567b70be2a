"""How long a part sleeps: `time.sleep`, `asyncio.sleep`, `threading.Event.wait`, `Thread.join`.

Everybody on the network can see when a message comes. So a part that sleeps as long as a count says
tells the count. What it computes with its records takes time as well, and no one can say of that
which is meant. A call with other seconds is a deterministic sign.

The functions that note the seconds stand in the place of Python's own from the first plug-in on,
and in the author's modules, too, where these have imported one by its name.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Collection
from typing import Any, Final

from .side_effects import note_effect

__all__ = ["SLEEP", "lead_waits"]

SLEEP: Final = "sleep"
"""The beginning of the name of an act that is a sleep."""
_led: Final[dict[Callable[..., Any], Callable[..., Any]]] = {}
"""Functions of Python's, and what stands in their place."""
_searched: Final[set[str]] = set()
"""Packages whose modules have been searched for them. What is imported later finds the others."""


def lead_waits(packages: Collection[str]) -> None:
    """Note the seconds of waits from now on, in Python's modules and in these packages."""
    if not _led:
        time.sleep = _lead(time.sleep)
        threading.Event.wait = _lead(threading.Event.wait, of_method=True)  # type: ignore[method-assign]
        threading.Thread.join = _lead(threading.Thread.join, of_method=True)  # type: ignore[method-assign]
    for name in ("asyncio", "asyncio.tasks"):
        sleep = sys.modules[name].sleep if name in sys.modules else None
        if sleep is not None and not hasattr(sleep, "is_led"):
            setattr(sys.modules[name], "sleep", _led.get(sleep) or _lead(sleep))  # noqa: B010
            _searched.clear()
    if _searched.issuperset(packages):
        return
    _searched.update(packages)
    for name, module in [*sys.modules.items()]:
        if name.partition(".")[0] in packages:
            for key, value in [*vars(module).items()]:
                if callable(value) and getattr(value, "__name__", "") == "sleep" and value in _led:
                    setattr(module, key, _led[value])


def _lead(function: Callable[..., Any], *, of_method: bool = False) -> Callable[..., Any]:
    """Make the function that stands in the place of another one."""
    if hasattr(function, "is_led"):
        return function

    @functools.wraps(function)
    def call(*arguments: Any, **others: Any) -> Any:
        seconds = [*arguments[of_method:], *others.values()][:1]
        if seconds and isinstance(seconds[0], int | float):
            note_effect(SLEEP, float(seconds[0]))
        return function(*arguments, **others)

    call.is_led = True  # type: ignore[attr-defined]
    _led[function] = call
    return call
