"""The command line. No bad input ends in a traceback.

A user's error is one line and exit status 2. A failed run is one line and exit status 3. Ctrl-C and
SIGTERM are one line and exit status 130. What takes time to import is imported while signals end
the command, and what reports errors when there is an error, so that help starts quickly.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import signal
import sys
import time
from typing import Final

from ..report.plain_text import plain_text
from ..runs.interruption import INTERRUPTED, SignalGate
from .rank_variables import this_rank

__all__ = ["main"]

LEAVE_AFTER: Final = 3.0
"""Seconds after which a rank that does not report an error leaves.

The start-up times of ranks differ by less.
"""
FIRST_RANK: Final = 0
"""The curator's rank, which reports what all ranks find."""
MAX_NAME: Final = 200
"""Characters of a file's name in an error of the system."""


def main() -> None:
    """Run the command line."""
    gate = SignalGate()
    try:
        gate.open()
        _open_closed_streams()
        status = _run_command(gate)
        gate.close()
    except KeyboardInterrupt:
        gate.close()
        status = INTERRUPTED
        _complain(
            "interrupted: all roles were ended, files are whole or absent, and the command can be "
            "repeated"
        )
    finally:
        gate.close()
        gc.freeze()  # The interpreter, which ends now, need not search modules for garbage.
        _flush_output()
        gate.leave(lambda: _end_at_once(gate))
    # Where a text that Python executes was interrupted, as those of dataclasses are, `python -m`
    # ends by SIGINT, whatever the status. Python forgets that when it executes another one.
    exec("")  # noqa: S102 - a text of our own
    sys.exit(status)


def _run_command(gate: SignalGate) -> int:
    """Run the command, print the line of its error, and return the exit status.

    Raises:
        KeyboardInterrupt: Ctrl-C or SIGTERM came, and no line has been printed.
    """
    import typer

    from .commands import app

    try:
        _require_working_folder()
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
        _require_output()
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as stop:
        gate.close()
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        return _report(stop.__context__)  # typer and rich leave without a word
    except Exception as error:  # noqa: BLE001 - other errors than ours are raised again
        gate.close()
        if gate.is_interrupted and getattr(error, "status", 0) != INTERRUPTED:
            raise KeyboardInterrupt from None
        return _report(error)
    if gate.is_interrupted:
        raise KeyboardInterrupt  # typer returns a status instead; a library may swallow it
    return status if isinstance(status, int) else 0


def _report(error: Exception) -> int:
    """Print the error in one line, and return the exit status."""
    import typer

    from ..messages import SottovoceError

    # Typer's errors of usage share a class that it does not export under a name of its own.
    usage = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
    if isinstance(error, SottovoceError):
        if traceback := getattr(error, "traceback", ""):
            sys.stderr.write(plain_text(traceback))
        _complain(str(error))
        return int(getattr(error, "status", error.exit_status))
    if isinstance(error, usage):
        _complain(f"{getattr(error, 'format_message', error.__str__)()} (see --help)")
        return 2
    if isinstance(error, OSError):
        _complain(_system_error(error))
        return 3 if _is_shortage(error) else 2
    if isinstance(error, MemoryError):
        _complain("expected enough memory, found too little: take fewer rows, columns or cells")
        return 3
    if isinstance(error, RecursionError):
        _complain("expected input of few levels, found lists or tables within each other too often")
        return 2
    raise error


def _system_error(error: OSError) -> str:
    """Describe an error of the system that no command has described."""
    reason = error.strerror or type(error).__name__
    if _is_shortage(error):
        return (
            f"expected the system to have what the command needs, found: {reason}: end other "
            "programs, or raise their limits (ulimit -a)"
        )
    if error.filename is None:
        return f"expected to write the result to standard output, found: {reason}"
    name = str(error.filename)
    if len(name) > MAX_NAME:
        name = f"{name[:MAX_NAME]}…"
    return f"expected a file or folder that can be used, found {name}: {reason}"


def _is_shortage(error: OSError) -> bool:
    """Tell whether the system has no more processes, open files or memory."""
    return error.errno in (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def _end_at_once(gate: SignalGate) -> None:
    """End the process, whatever it has left; one line has been printed if it was interrupted."""
    if not gate.is_interrupted:
        _complain("interrupted: all is written, and something that the command has left went on")
    os._exit(INTERRUPTED)


def _complain(text: str) -> None:
    # In the user's own MPI job every rank finds the same mistake on the command line, and the
    # curator's rank reports it. The others must leave later: when the first rank leaves, mpirun
    # ends all, and the report might not have been printed.
    #
    # Nothing is imported here that loads numpy: no process can load it again after a signal has
    # interrupted its import.
    if this_rank() == FIRST_RANK:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"sottovoce: {plain_text(' '.join(text.split()))}\n")
            sys.stderr.flush()
    else:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        time.sleep(LEAVE_AFTER)


def _require_working_folder() -> None:
    try:
        os.getcwd()  # noqa: PTH109 - pathlib asks the same, later
    except OSError as error:
        from ..messages import UsageError  # it loads numpy, which help does without

        raise UsageError(
            f"expected a working folder, found: {error.strerror}; it was removed, so change to "
            "another one"
        ) from None


# ---- standard streams that are closed or full


def _open_closed_streams() -> None:
    """Open what was closed before the start, so that no other file takes its number.

    Nothing can be written to standard output then, which is an error when something is written.
    """
    for name, flags in (("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.open(os.devnull, flags), mode))  # noqa: SIM115, PTH123 - open to the end


def _require_output() -> None:
    """Check that what a command has printed could be written."""
    sys.stdout.flush()


def _flush_output() -> None:
    """Leave nothing that the interpreter could fail to write when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
