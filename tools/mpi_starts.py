"""Start the mpiexec of a test again when Open MPI's daemon does not come up on a busy host.

The launcher of sottovoce does this by itself. A test that starts mpiexec without it calls
`with_daemon`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Final

from sottovoce.launch.failures import NOT_LISTENING

__all__ = ["MAX_STARTS", "with_daemon"]

MAX_STARTS: Final = 3
"""How often mpiexec is started at most."""


def with_daemon(
    start: Callable[[], subprocess.CompletedProcess[str]],
) -> subprocess.CompletedProcess[str]:
    """Start mpiexec, and start it again if its daemon ended before it had started a rank."""
    done = start()
    for _ in range(MAX_STARTS - 1):
        if not _daemon_failed(done):
            break
        done = start()
    return done


def _daemon_failed(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the daemon said that it does not listen, and no rank had printed anything by then."""
    before, mention, _ = (done.stdout + done.stderr).partition(NOT_LISTENING)
    lines = [line for line in before.splitlines()[:-1] if line.strip("- ")]
    return bool(done.returncode and mention) and all(line.startswith("[") for line in lines)
