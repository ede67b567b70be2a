"""Read a plug-in's program for lines that send what depends on records past every release.

A play shows what differs between the tables that it has. A condition that holds for none of them,
such as a threshold between two sizes, it does not show. So the source of the party's part is read,
too: from `me.records` through assignments, conditions and calls of the author's functions to what
is sent. (The literature calls this taint analysis.) What `me.release` gives back is covered by the
release. The number of rows is public where a neighbour replaces one.

The reading may err on either side, so its results are remarks, and no messages are counted for
them. A line may be named whose value never differs. What goes through an object of the author's own
class is followed by its fields alone, if the class is a dataclass or a named tuple.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from types import FunctionType
from typing import Final

from ..protocols import AnyProtocol
from ..runs.failure import public_kind
from ..runs.record import Unaccounted
from .authors_modules import files_of
from .flow_passages import Passage
from .flow_sources import function_at
from .flow_statements import StatementFlow
from .flow_values import CLEAN, Frame, Function, Level, Source, Value

__all__ = ["passages_in", "remarks_on_source"]

RECORDS: Final = "me.records"
SENDS: Final = (
    "by its source, line {line} of {file} sends something of records that no release covers "
    "({what}). No play saw it differ, and epsilon leaves it out"
)
DECIDES: Final = (
    "by its source, records decide whether line {line} of {file} {does} ({what}), and no release "
    "covers that. No play saw it differ, and epsilon leaves it out"
)
STATES: Final = (
    "by its source, {act} in line {line} of {file} depends on records ({what}), but must be "
    "public. No play saw it differ"
)
NOT_FOLLOWED: Final = "the source of the party's part could not be followed ({})"
DOES: Final = {
    "send": "sends something",
    "broadcast": "sends something",
    "progress": "tells its progress",
    "release": "releases something",
    "raise": "raises an error",
}


def remarks_on_source(kind: type[AnyProtocol], *, unaccounted: Sequence[Unaccounted]) -> list[str]:
    """Name the lines of a program that send or release something that no release covers.

    Args:
        kind: the protocol's class.
        unaccounted: what plays have shown. Messages of these kinds are not named again, nor are
            releases if plays have shown something of them.
    """
    kinds = {line.kind.rpartition(".")[-1] for line in unaccounted}
    try:
        passages = passages_in(kind, files=files_of(kind))
    except Exception as error:  # noqa: BLE001 - the author's modules may raise any for a name
        return [NOT_FOLLOWED.format(public_kind(error))]
    return [
        _text_of(passage)
        for passage in passages
        if (passage.kind not in kinds if passage.kind else not unaccounted)
    ]


def passages_in(kind: type[AnyProtocol], *, files: Sequence[Path]) -> list[Passage]:
    """List the lines of the party's part, and of what it calls, that let records out.

    Args:
        kind: the protocol's class.
        files: the files of which functions are read.
    """
    if kind.neighbours.startswith("label"):
        return []  # Attributes are public, or partly so, and a source does not show which.
    method = inspect.getattr_static(kind, "party")
    owner = next(base for base in kind.__mro__ if "party" in vars(base))
    if not isinstance(method, FunctionType):
        return []
    file = Path(method.__code__.co_filename).resolve()
    node = function_at(file, method.__code__.co_firstlineno) if file in files else None
    if node is None:
        return []
    level = Level.CONTENTS if kind.neighbours == "replace-one" else Level.LENGTH
    records = Value(level, Level.CONTENTS, name=RECORDS)
    flow = StatementFlow(kind, files=files, records=records)
    names = [argument.arg for argument in node.args.args]
    sources = (Source.PROTOCOL, Source.PARTY)
    variables = {name: Value(source=source) for name, source in zip(names, sources, strict=False)}
    function = Function(node, file, method.__globals__, owner)
    flow.body(node.body, Frame(function, variables, CLEAN))
    return sorted(flow.passages.values(), key=lambda passage: (passage.file, passage.line))


def _text_of(passage: Passage) -> str:
    variable = f"`{passage.variable}`, line {passage.since}"
    if passage.decides:
        variable = f"the condition in line {passage.since}"
    form = DECIDES if passage.decides else SENDS if passage.act in DOES else STATES
    return form.format(
        file=passage.file.name,
        line=passage.line,
        act=passage.act,
        does=DOES.get(passage.act, ""),
        what=variable,
    )
