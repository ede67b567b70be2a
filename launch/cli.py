"""The command line. No bad input ends in a traceback.

A user's error is one line and exit status 2. A failed run is one line and exit status 3. What
reports errors is imported when there is an error, so that help starts quickly.
"""

from __future__ import annotations

import gc
import signal
import sys
import time
from typing import Final

import typer

from .commands import app

__all__ = ["app", "main"]

INTERRUPTED: Final = 130
LEAVE_AFTER: Final = 3.0
"""Seconds after which a rank that does not report an error leaves.

The start-up times of ranks differ by less.
"""


def main() -> None:
    """Run the command line."""
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # a batch system stops a job with SIGTERM
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted: all roles were ended, nothing was written")
        sys.exit(INTERRUPTED)
    except typer.Exit as stop:
        status = stop.exit_code
    except Exception as error:  # noqa: BLE001 - other errors than ours are raised again
        sys.exit(_report(error))
    finally:
        gc.freeze()  # The interpreter, which ends now, need not search modules for garbage.
    if isinstance(status, int) and status:  # a command ended by `typer.Exit`
        sys.exit(status)


def _report(error: Exception) -> int:
    """Print the error in one line, and return the exit status."""
    from ..messages import SottovoceError

    # Typer's errors of usage share a class that it does not export under a name of its own.
    usage = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
    if isinstance(error, SottovoceError):
        if traceback := getattr(error, "traceback", ""):
            sys.stderr.write(traceback)
        _complain(str(error))
        return int(getattr(error, "status", error.exit_status))
    if isinstance(error, usage):
        _complain(f"{getattr(error, 'format_message', error.__str__)()} (see --help)")
        return 2
    raise error


def _complain(text: str) -> None:
    # In the user's own MPI job every rank finds the same mistake on the command line, and the
    # curator's rank reports it. The others must leave later: when the first rank leaves, mpirun
    # ends all, and the report might not have been printed.
    from ..messages import CURATOR
    from .mpiexec import this_rank

    if this_rank() == CURATOR:
        sys.stderr.write(f"sottovoce: {' '.join(text.split())}\n")
        sys.stderr.flush()
    else:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        time.sleep(LEAVE_AFTER)
