"""Options of the command line given as keywords in Python: what there is in their place.

`sottovoce.run` and `sottovoce.audit` take parameters of the protocol as keywords, too. So an option
that they lack would be taken for a misspelt parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ..messages import UsageError
from ..protocols.registry import find

__all__ = ["IN_PYTHON", "refuse_options"]

_COMMAND_ONLY: Final = "only the command line takes it"
IN_PYTHON: Final[Mapping[str, str]] = {
    "out": "write the results by `.save(folder)` of what it returns",
    "set": "give each parameter of the protocol as a keyword",
    "assignments": "give each parameter of the protocol as a keyword",
    "config": "give what the file says as keywords",
    "no_judge": "say judge=False",
    "no_durable": "say durable=False",
    "budget": "say budget_file=",
    "json": "read `.report` of what it returns",
    "as_json": "read `.report` of what it returns",
    "overwrite": "`.save(folder)` says where the results go",
    "quiet": "leave it out, as nothing is printed",
    "progress": _COMMAND_ONLY,
    "live": _COMMAND_ONLY,
    "hosts": _COMMAND_ONLY,
    "hostfile": _COMMAND_ONLY,
    "mpiexec": _COMMAND_ONLY,
    "mpi_arg": _COMMAND_ONLY,
}
"""What to do in Python for each option of `sottovoce run` that `sottovoce.run` does not take."""
OF_AUDIT: Final = ("out", "set", "assignments", "json", "as_json", "quiet")
"""Those of `sottovoce audit`."""


def refuse_options(keywords: Iterable[str], *, protocol: str, command: str = "run") -> None:
    """Refuse keywords that are options of the command line alone, and name the way in Python.

    A parameter of the protocol may have such a name, as `budget` has; it is that parameter then.

    Raises:
        UsageError: A keyword is such an option and no parameter of the protocol.
    """
    those = IN_PYTHON if command == "run" else OF_AUDIT
    options = [name for name in keywords if name in those]
    if not options:
        return
    names = find(protocol).Parameters.__struct_fields__
    for name in options:
        if name not in names:
            raise UsageError(
                f"expected a keyword that sottovoce.{command} takes, found {name!r}, an option of "
                f"`sottovoce {command}`: {IN_PYTHON[name]}"
            )
