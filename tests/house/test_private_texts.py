"""Texts of errors: whoever writes one where records are at hand decides what of it is private.

An error that leaves its process travels with its public parts alone (`messages.errors`). So in
rooms that can see data every value in the text of an error must be wrapped in `Private(...)`, or be
listed here with the reason why anybody may read it.
"""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("messages", "crypto", "privacy", "parties")
"""Rooms whose every module may have data at hand: records, exact values, or messages of others."""
USERS = ("protocols", "runs", "launch/rank*")
"""Rooms of whose modules those may that import from `parties` what holds records."""
PUBLIC_OF_PARTIES = frozenset(
    [
        "ColumnChoice",
        "CsvForm",
        "DEMO",
        "DEMO_SCHEMA",
        "Encoding",
        "Schema",
        "SchemaPlan",
        "Separator",
        "cell_values",
        "read_plan",
        "read_schema",
        "read_split",
    ]
)
"""What `parties` has for others that holds no record."""
ROLES = frozenset(["Curator", "Role"])
"""Who receives messages that not everybody may read; parties are counted already."""
LOGS = frozenset(["DurableRole", "RoleLog"])
"""Who reads the log of a role, with all that it has received."""
FIRST_ERROR = "SottovoceError"


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


@cache
def error_names() -> frozenset[str]:
    """Names of all classes of errors whose texts have parts."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for path in ROOT.glob("*/**/*.py")
        if (ROOT / "src" / "sottovoce" / path.relative_to(ROOT).parts[0]).is_symlink()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef)
    }
    names = {FIRST_ERROR}
    while more := {name for name in bases if bases[name] & names} - names:
        names |= more
    return frozenset(names)


@cache
def modules() -> tuple[Path, ...]:
    """List the modules that may have data at hand."""
    whole = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    users = [
        path
        for pattern in USERS
        for path in ROOT.glob(f"{pattern}.py" if "*" in pattern else f"{pattern}/**/*.py")
        if (names := _imported(tree_of(path)))["parties"] - PUBLIC_OF_PARTIES
        or (ROLES | LOGS) & {name for room in names.values() for name in room}
    ]
    return tuple(sorted([*whole, *users]))


def _imported(tree: ast.Module) -> dict[str, set[str]]:
    """List what a module imports from each room."""
    names: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            room = (node.module or "").partition(".")[0]
            names[room].update(alias.name for alias in node.names)
    return names


def texts_of(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """List every part of the text of an error that a module makes, and its class and function.

    Functions with a parameter `*parts` pass them on to an error.
    """
    makers = error_names() | {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.args.vararg is not None
        and node.args.vararg.arg == "parts"
        and not node.name.startswith("__")
    }
    yield from _texts_within(tree, makers, place="")


def _texts_within(
    node: ast.AST, makers: frozenset[str], *, place: str
) -> Iterator[tuple[str, ast.expr]]:
    """List the texts within a node, each with its class and function."""
    if isinstance(node, ast.Call):
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
        if name in makers:
            yield from ((place, text) for text in node.args)
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        place = f"{place}.{node.name}".removeprefix(".")
    for child in ast.iter_child_nodes(node):
        yield from _texts_within(child, makers, place=place)


def values_in(text: ast.expr) -> Iterator[ast.expr]:
    """List the values in a text that are not wrapped in `Private`."""
    match text:
        case ast.Constant() | ast.Call(func=ast.Name(id="Private")):
            pass
        case ast.JoinedStr(values=parts):
            for part in parts:
                yield from values_in(part)
        case ast.FormattedValue(value=value):
            yield from values_in(value)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from values_in(left)
            yield from values_in(right)
        case ast.IfExp(body=body, orelse=other):
            yield from values_in(body)
            yield from values_in(other)
        case ast.BoolOp(values=choices):
            for choice in choices:
                yield from values_in(choice)
        case ast.Starred(value=ast.Attribute(attr="parts") | ast.Name(id="parts")):
            pass  # parts of another error, each as its author decided
        case _ if not is_public(text):
            yield text


def is_public(value: ast.expr) -> bool:
    """Tell whether anybody may read a value by its kind: constants, ranks, and names of types."""
    match value:
        case ast.Name(id=name):
            return name.isupper()
        case ast.Attribute(attr=name):
            return name in ("__name__", "strerror")
        case ast.Call(func=ast.Name(id=name)):
            # Names and labels of attributes are public, and parameters are.
            return name in ("kind_of", "most_labels", "role_name", "too_many_labels")
    return False


@cache
def listed() -> dict[tuple[str, str], str]:
    """Read the list: the reason for every place and value."""
    content = tomllib.loads((Path(__file__).parent / "public_texts.toml").read_text())
    pairs = [
        ((place, value), reason)
        for reason, places in content.items()
        for place, values in places.items()
        for value in values
    ]
    assert len(pairs) == len(dict(pairs)), "expected each value of a place once"
    return dict(pairs)


@cache
def open_values() -> dict[tuple[str, str], int]:
    """List all values in texts that are neither wrapped nor public by their kind, with a line."""
    return {
        (f"{path.relative_to(ROOT)}:{place}", ast.unparse(value)): value.lineno
        for path in modules()
        for place, text in texts_of(tree_of(path))
        for value in values_in(text)
    }


def test_every_value_in_a_text_is_private_or_has_a_reason() -> None:
    missing = [
        f"{place}, line {line}: wrap {value} in Private(...), or give the reason why anybody may "
        "read it in public_texts.toml"
        for (place, value), line in open_values().items()
        if (place, value) not in listed()
    ]
    assert not missing, "\n".join(missing)


def test_every_reason_is_needed() -> None:
    assert not [*(listed().keys() - open_values().keys())]


def test_the_rooms_are_read() -> None:
    """Modules that hold records, exact values or others' messages are among those that are read."""
    names = {str(path.relative_to(ROOT)) for path in modules()}
    assert {
        "parties/records.py",
        "privacy/laplace.py",
        "messages/fields.py",
        "protocols/secure_sum/ring.py",
        "protocols/noise_replacement/rounds.py",
        "protocols/survey/party.py",
        "runs/durable.py",
        "runs/log_header.py",
        "runs/setup.py",
    } <= names
    assert "runs/settings.py" not in names
    assert {"UsageError", "MisuseError", "TimeoutExpired", "RunFailed"} <= error_names()


@pytest.mark.parametrize(
    ("code", "values"),
    [
        ("UsageError(f'found {count}')", ["count"]),
        ("UsageError('found ', Private(count), f' of {LIMIT}')", []),
        ("messages.UsageError('found ' + text)", ["text"]),
        ("UsageError(f'found {count}' if count else note or Private(count))", ["count", "note"]),
        ("UsageError(*error.parts)", []),
        ("UsageError(*names)", ["*names"]),
        ("UsageError(str(error))", ["str(error)"]),
        ("UsageError(f'{type(error).__name__} of {role_name(2)}')", []),
        ("ValueError(f'found {count}')", []),
        ("def refuse(self, *parts): ...\nrefuse(f'found {count}')", ["count"]),
    ],
)
def test_values_are_found_in_all_ways_to_write_a_text(code: str, values: list[str]) -> None:
    found = [
        ast.unparse(value) for _, text in texts_of(ast.parse(code)) for value in values_in(text)
    ]
    assert found == values
