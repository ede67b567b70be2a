"""What Open MPI prints when it has lost its daemon on a host, and the name of this host in it.

Nothing else names the host: Open MPI ends all ranks then, and their lifelines end in any order.

A rank can print the same text. It decides nothing but what the line for the person says.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["DaemonMessages", "lost_host"]

_HOST: Final = re.compile(
    r"Remote host:\s+(\S+)\s+Daemon exit status|Remote daemon:\s+\S+ on node (\S+)"
)
_FIRST_WORDS: Final = (
    "A daemon failed to report back after being spawned.",
    "PRTE has lost communication with a remote daemon.",
)
_RULE: Final = re.compile(r"-{40,}\s*")
MAX_LINES: Final = 24
"""Lines of such a message at most, with the two rules of dashes around it."""


def lost_host(text: str) -> str | None:
    """Give the host whose daemon was lost, by what mpiexec has printed.

    >>> lost_host("Local host:    a  Remote host:   b  Daemon exit status: 0")
    'b'
    """
    match = _HOST.search(text)
    return None if match is None else match[1] or match[2]


class DaemonMessages:
    """Takes messages about a lost daemon out of what is printed, line by line."""

    def __init__(self) -> None:
        self.text = ""
        """All such messages so far."""
        self._held: list[str] = []

    def take(self, line: str) -> list[str]:
        """Take a line; return the lines that may be shown now."""
        is_rule = _RULE.fullmatch(line) is not None
        if not self._held:
            if not is_rule:
                return [line]
            self._held = [line]
            return []
        if is_rule and len(self._held) == 1:
            return [line]  # One that ends something else came before.
        self._held.append(line)
        if not self._held[1].startswith(_FIRST_WORDS) or len(self._held) > MAX_LINES:
            return self.rest()
        if is_rule:
            self.text += "".join(self._held)
            self._held = []
        return []

    def rest(self) -> list[str]:
        """Give the lines that were held, as they do not go on as such a message does."""
        held, self._held = self._held, []
        return held
