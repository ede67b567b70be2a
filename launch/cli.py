"""The command line. Every error that is the person's is one line and status 2; every failed run one
line and status 3.
"""

from __future__ import annotations

import signal
import sys
import time

import typer

from ..messages import CURATOR, SottovoceError
from .commands import app
from .mpiexec import this_rank

__all__ = ["app", "main"]

# Typer's errors of usage share a class that it does not export: its name is the same in all
# versions.
_WrongWords: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


def main() -> None:
    """Run the command line; no bad input ends in a traceback."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a batch system's "stop" is a Ctrl-C
    try:
        app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except SottovoceError as error:
        if traceback := getattr(error, "traceback", ""):
            sys.stderr.write(traceback)
        _complain(str(error))
        sys.exit(getattr(error, "status", error.exit_status))
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted: all roles were ended, nothing was written")
        sys.exit(130)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except _WrongWords as error:
        _complain(f"{getattr(error, 'format_message', error.__str__)()} (see --help)")
        sys.exit(2)


LEAVE_AFTER = 3.0
"""Seconds; start-up times of ranks differ by less."""


def _complain(text: str) -> None:
    # In somebody else's MPI job every rank finds the same mistake on the command line; one says it.
    # The others leave after it: at the first that leaves, mpirun ends them all, and the one might
    # not have spoken yet.
    if this_rank() == CURATOR:
        sys.stderr.write(f"sottovoce: {' '.join(text.split())}\n")
        sys.stderr.flush()
    else:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        time.sleep(LEAVE_AFTER)
