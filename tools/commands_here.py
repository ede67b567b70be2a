"""Commands of sottovoce in the process of a test, as a shell would see them.

A process of its own takes a second to import everything. Tests of what a command reads, prints and
writes need none; those of starting, of signals and of MPI do.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from sottovoce.launch.cli import _run_command
from sottovoce.runs.interruption import SignalGate

__all__ = ["command_here"]


class _OpenGate(SignalGate):
    """The gate of a command after which this process goes on."""

    def close(self) -> None:
        """Ignore no signals."""


def command_here(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; what it imports from there is forgotten afterwards."""
    output, errors = StringIO(), StringIO()
    before = Path.cwd()
    loaded_before = {*sys.modules}
    with (
        patch.object(sys, "argv", ["sottovoce", *words]),
        patch.object(sys, "path", [*sys.path]),
        patch.dict(os.environ, {"COLUMNS": "80"}),
        redirect_stdout(output),
        redirect_stderr(errors),
    ):
        os.chdir(cwd)
        try:
            status = _run_command(_OpenGate())
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        finally:
            os.chdir(before)
            for name in {*sys.modules} - loaded_before:
                if Path(str(getattr(sys.modules[name], "__file__", ""))).is_relative_to(cwd):
                    del sys.modules[name]
    return subprocess.CompletedProcess(
        ["sottovoce", *words], status, output.getvalue(), errors.getvalue()
    )
