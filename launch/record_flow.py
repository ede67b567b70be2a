"""Read a plug-in's program for lines that send what depends on records past every release.

A play shows what differs between the tables that it has. A condition that holds for none of them,
such as a threshold between two sizes, it does not show. So the source of the party's part is read,
too: from `me.records` through assignments, conditions and calls of the author's functions to what
is sent. (The literature calls this taint analysis.) What `me.release` gives back is covered by the
release. The number of rows is public where a neighbour replaces one.

The reading may err on either side, so its results are remarks, and no messages are counted for
them. A line may be named whose value never differs. Of other libraries' functions only those in
`launch.flow_names` are known. A change through a second name of the same list is seen where both
are variables, and missed where one of them is an attribute or a default of an argument.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..parties import Party
from ..protocols import AnyProtocol
from ..runs.failure import public_kind
from ..runs.instance import is_own_module
from ..runs.record import Unaccounted
from .authors_modules import files_of
from .flow_names import ONE_ROW
from .flow_passages import Passage
from .flow_statements import StatementFlow
from .flow_values import CLEAN, Frame, Instance, Level, Source, Value

__all__ = ["passages_in", "remarks_on_source"]

RECORDS: Final = "me.records"
SENDS: Final = (
    "by its source, line {line} of {file} {does} of records that no release covers ({what}). "
    "No play saw it differ, and epsilon leaves it out"
)
VARIES: Final = (
    "by its source, records decide how line {line} of {file} {does} ({what}), and no release "
    "covers that. No play saw it differ, and epsilon leaves it out"
)
DECIDES: Final = (
    "by its source, records decide whether line {line} of {file} {does} ({what}), and no release "
    "covers that. No play saw it differ, and epsilon leaves it out"
)
STATES: Final = (
    "by its source, {act} in line {line} of {file} depends on records ({what}), but must be "
    "public. No play saw it differ"
)
CHANGES: Final = (
    "by its source, {act} in line {line} of {file} is computed from many records ({what}): one "
    "record more changes it and adds no row, so it may change by twice the stated bound"
)
CONTENTS: Final = {"send", "broadcast", "print", "write"}
"""Acts that show what they are given; others show that they happen, and how."""
LENGTH_OF: Final = "the length of "
NOT_FOLLOWED: Final = "the source of the party's part could not be followed ({})"
DOES: Final = {
    "send": "sends something",
    "broadcast": "sends something",
    "progress": "tells its progress",
    "release": "releases something",
    "raise": "raises an error",
    "print": "prints something",
    "write": "writes something to a file",
    "receive": "waits for a message",
    "gather": "waits for messages",
    "partition": "splits the records",
    "phase": "begins a phase",
}


def remarks_on_source(
    kind: type[AnyProtocol], *, unaccounted: Sequence[Unaccounted], has_shapes: bool
) -> list[str]:
    """Name the lines of a program that send or release something that no release covers.

    Args:
        kind: the protocol's class.
        unaccounted: what plays have shown. Messages of these kinds are not named again, nor are
            releases if plays have shown something of them.
        has_shapes: whether plays made all releases of the program, and compared their shapes on
            many tables. Then the lengths of what is released are not named.
    """
    kinds = {line.kind.rpartition(".")[-1] for line in unaccounted}
    try:
        flow, is_read = _read(kind, files=files_of(kind))
    except Exception as error:  # noqa: BLE001 - the author's modules may raise any for a name
        return [NOT_FOLLOWED.format(public_kind(error))]
    remarks: list[str] = []
    if not is_read:
        remarks.append(NOT_FOLLOWED.format("it is no function of the author's modules"))
    elif flow.is_cut:
        remarks.append(NOT_FOLLOWED.format("it has too many calls"))
    elif flow.error is not None:
        remarks.append(NOT_FOLLOWED.format(public_kind(flow.error)))
    return [
        *(
            _text_of(passage)
            for passage in _sorted(flow)
            if (passage.kind not in kinds if passage.kind else not unaccounted)
            and not (has_shapes and passage.act.startswith(LENGTH_OF))
        ),
        *remarks,
    ]


def passages_in(kind: type[AnyProtocol], *, files: Sequence[Path]) -> list[Passage]:
    """List the lines of the party's part, and of what it calls, that let records out.

    Args:
        kind: the protocol's class.
        files: the files of which functions are read.
    """
    return _sorted(_read(kind, files=files)[0])


def _sorted(flow: StatementFlow) -> list[Passage]:
    return sorted(flow.passages.values(), key=lambda passage: (passage.file, passage.line))


def _read(kind: type[AnyProtocol], *, files: Sequence[Path]) -> tuple[StatementFlow, bool]:
    """Read the party's part; tell whether its source is there, or need not be."""
    level = Level.CONTENTS if kind.neighbours == "replace-one" else Level.LENGTH
    flow = StatementFlow(kind, files=files, records=Value(level, Level.CONTENTS, name=RECORDS))
    if kind.neighbours.startswith("label"):
        return flow, True  # Attributes are public, or partly so, and a source does not show which.
    static = inspect.getattr_static(kind, "party")
    if is_own_module(static.__module__) and not any(
        Path(inspect.getfile(static)).resolve() == file for file in files
    ):
        return flow, True  # a part of sottovoce's own, which its tests check
    function = flow.function_of(static)
    if function is None or isinstance(function.node, ast.Lambda):
        return flow, False
    names = [
        argument.arg for argument in [*function.node.args.posonlyargs, *function.node.args.args]
    ]
    roles = (
        Value(source=Source.PROTOCOL, instance=Instance(kind)),
        Value(source=Source.PARTY, instance=Instance(Party)),
    )
    variables = dict(zip(names, roles, strict=False))
    try:
        flow.body(function.node.body, Frame(function, variables, CLEAN, is_part=True))
    except RecursionError as error:
        flow.error = error
    return flow, True


def _text_of(passage: Passage) -> str:
    elsewhere = passage.since_file not in ("", passage.file.name)
    where = f"line {passage.since}{f' of {passage.since_file}' if elsewhere else ''}"
    if passage.decides:
        form, what = DECIDES, f"the condition in {where}"
    else:
        of_act = SENDS if passage.act in CONTENTS else VARIES
        of_others = CHANGES if passage.act.startswith(ONE_ROW) else STATES
        form, what = of_act if passage.act in DOES else of_others, f"`{passage.variable}`, {where}"
    return form.format(
        file=passage.file.name,
        line=passage.line,
        act=passage.act,
        does=DOES.get(passage.act, f"calls {passage.act}"),
        what=what,
    )
