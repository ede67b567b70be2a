"""Threads that a part starts: they have its context, so what they do is noted, too.

A thread has no context variables of the one that starts it. So what it prints or writes would be
nobody's. From the first plug-in on, a thread that a part's code starts has a copy of the context,
and so has a call that it hands to a pool of threads. For everybody else nothing changes.

The end of a part waits for its threads for a moment, but for daemons. What a thread does afterwards
is not looked at.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from concurrent.futures.thread import ThreadPoolExecutor
from typing import Any, Final

from .side_effects import SideEffects, current_effects, is_authors

__all__ = ["await_threads", "lead_threads"]

SECONDS: Final = 1.0
"""Time that the end of a part waits for its threads."""
_START: Final = threading.Thread.start
_SUBMIT: Final[Callable[..., Future[Any]]] = ThreadPoolExecutor.submit


def lead_threads() -> None:
    """Let threads of parts have their context from now on, and note processes of `multiprocessing`.

    A part may be left behind on its thread, so the functions stay in their place.
    """
    if threading.Thread.start is _START:
        setattr(threading.Thread, "start", _start)  # noqa: B010 - they are typed
        setattr(ThreadPoolExecutor, "submit", _submit)  # noqa: B010
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and not hasattr(processes.BaseProcess.start, "__wrapped__"):
        processes.BaseProcess.start = _noting_processes(processes.BaseProcess.start)


def await_threads(effects: SideEffects) -> None:
    """Wait for the threads of a part that has ended, and note if some go on."""
    until = time.monotonic() + SECONDS
    for thread in effects.threads:
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(max(0.0, until - time.monotonic()))
    calls = wait(effects.calls, timeout=max(0.0, until - time.monotonic()))
    effects.leaves_threads = bool(calls.not_done) or any(
        thread.is_alive() for thread in effects.threads
    )


@functools.wraps(_START)
def _start(thread: threading.Thread) -> None:
    effects = current_effects()
    if effects is not None and is_authors(effects.packages):
        effects.has_threads = True
        thread.is_of_a_part = True  # type: ignore[attr-defined]
        in_context = contextvars.copy_context().run
        thread.run = functools.partial(in_context, thread.run)  # type: ignore[method-assign]
        # A pool's threads wait for further calls, so its calls are waited for in their place.
        target = getattr(thread, "_target", None)
        if getattr(target, "__module__", "") != ThreadPoolExecutor.__module__:
            effects.threads.append(thread)
    _START(thread)


@functools.wraps(_SUBMIT)
def _submit(
    pool: ThreadPoolExecutor, call: Callable[..., Any], /, *arguments: Any, **others: Any
) -> Future[Any]:
    effects = current_effects()
    if effects is None or not is_authors(effects.packages):
        return _SUBMIT(pool, call, *arguments, **others)
    effects.has_threads = True
    in_context = contextvars.copy_context().run
    future = _SUBMIT(pool, in_context, call, *arguments, **others)
    effects.calls.append(future)
    return future


def _noting_processes(start: Callable[[Any], None]) -> Callable[[Any], None]:
    @functools.wraps(start)
    def noted(process: Any) -> None:
        effects = current_effects()
        if effects is not None and is_authors(effects.packages):
            effects.starts_processes = True
        start(process)

    return noted
