"""Options of commands, made from the fields of `Job` and `Placement`.

A field's description is the option's help text, and its type the type that the command line reads.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Final, TypeVar

import msgspec
import typer

from ...parties import CsvForm
from ...runs.job import Job
from ...runs.placement import Placement

__all__ = [
    "COLUMN_OPTIONS",
    "FORM_OPTIONS",
    "PrintJson",
    "Quiet",
    "ShowLive",
    "ShowProgress",
    "csv_form",
    "with_job_options",
]

ShowProgress = Annotated[
    bool, typer.Option("--progress", help="show progress even where there is no terminal")
]
ShowLive = Annotated[
    bool,
    typer.Option("--live", help="serve a page on this machine that shows where every role is"),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="print nothing but errors")]
PrintJson = Annotated[bool, typer.Option("--json", help="print report.json on standard output")]

CommandT = TypeVar("CommandT", bound=Callable[..., None])

FORM_OPTIONS: Final = ("separator", "encoding")
"""How a table's file is read: options of every command that reads one."""
COLUMN_OPTIONS: Final = ("rows", "drop", "columns")
"""What of a table is taken."""
NOT_OPTIONS: Final = ("protocol", "parameters", "schema_plan")
_READ_AS: Final[dict[type[msgspec.inspect.Type], type]] = {
    msgspec.inspect.IntType: int,
    msgspec.inspect.FloatType: float,
    msgspec.inspect.BoolType: bool,
    msgspec.inspect.VarTupleType: list[str],
}


def with_job_options(*, names: Collection[str] | None = None) -> Callable[[CommandT], CommandT]:
    """Replace a command's `**options` by an option for each field of `Job` and `Placement`.

    The command gets `None` for an option that was not given.

    Args:
        names: the fields that are options of the command, by default all.
    """

    def replace_options(command: CommandT) -> CommandT:
        options = [
            option
            for struct in (Job, Placement)
            for option in _options(struct)
            if names is None or option.name in names
        ]
        _add_options(command, options)
        return command

    return replace_options


def csv_form(options: Mapping[str, str | None]) -> CsvForm:
    """Read `FORM_OPTIONS`, of which those that were not given are `None`."""
    values = {name: value for name in FORM_OPTIONS if (value := options[name]) is not None}
    return CsvForm.of(**values)


def _add_options(command: Callable[..., None], options: list[inspect.Parameter]) -> None:
    signature = inspect.signature(command, eval_str=True)
    fixed = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    parameters = [
        parameter.replace(kind=parameter.KEYWORD_ONLY)
        for parameter in (*fixed[:1], *options, *fixed[1:])
    ]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {
        **{parameter.name: parameter.annotation for parameter in parameters},
        "return": None,
    }


def _options(struct: type[msgspec.Struct]) -> list[inspect.Parameter]:
    described = msgspec.inspect.type_info(struct)
    if not isinstance(described, msgspec.inspect.StructType):
        raise TypeError(f"expected a struct, found {struct}")
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=_annotation(field.name, field.type),
        )
        for field in described.fields
        if field.name not in NOT_OPTIONS
    ]


def _annotation(name: str, kind: msgspec.inspect.Type) -> Any:
    help_text, is_open = "", False
    while isinstance(kind, msgspec.inspect.Metadata):
        help_text = (kind.extra_json_schema or {}).get("description", help_text)
        kind = kind.type
    if isinstance(kind, msgspec.inspect.UnionType):
        inner = [part for part in kind.types if not isinstance(part, msgspec.inspect.NoneType)]
        kind, is_open = inner[0], True
        while isinstance(kind, msgspec.inspect.Metadata):
            kind = kind.type
    option = f"--{name.replace('_', '-')}"
    if is_open and isinstance(kind, msgspec.inspect.BoolType):
        option += f"/--no-{option.removeprefix('--')}"  # its default is neither on nor off
    return Annotated[_READ_AS.get(type(kind), str) | None, typer.Option(option, help=help_text)]
