"""What depends on records in the results of functions that are not the author's."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .flow_collections import collection, either, element_of, keys_of
from .flow_names import (
    ALIKE,
    COUNTED,
    FILTERS,
    JOINS,
    KEYED,
    LISTS,
    NEUTRAL,
    NEW_ARRAYS,
    REDUCTIONS,
    SEARCHES,
)
from .flow_values import CLEAN, NONE, Level, Value, join

__all__ = ["fields_of", "method_of_collection", "resized", "result_of", "with_fields"]


def result_of(  # noqa: C901, PLR0911, PLR0912 - a case for each function that keeps parts
    name: str, node: ast.Call, arguments: Sequence[Value], called: Sequence[Value]
) -> Value:
    """Make the result of a function of Python or of another package.

    Args:
        name: its name.
        node: the call.
        arguments: the values of its arguments.
        called: what functions among them give back.
    """
    if name in KEYED:
        arguments = [*map(keys_of, arguments)]
    first = arguments[0] if arguments else CLEAN
    longest = max((value.level for value in arguments), default=Level.NOTHING)
    level = Level.LENGTH if longest == Level.LENGTH else Level.CONTENTS
    match name:
        case "len":
            return first.at_level(Level.CONTENTS) if first.level == Level.LENGTH else CLEAN
        case _ if name in COUNTED and join(arguments[1:]):
            return join(arguments).at_level(Level.LENGTH)
        case "enumerate":
            index = first.at_level(Level.CONTENTS) if level == Level.LENGTH else CLEAN
            return _pairs((index, element_of(first)), first, level)
        case "zip" | "product":
            arguments = arguments[: len(node.args)]  # without `strict`
            return _pairs(tuple(map(element_of, arguments)), join(arguments), level)
        case "map" | "filter" if called:
            element = either(called) if name == "map" else element_of(join(arguments[1:]))
            decided = name == "filter" and bool(join(called))
            return collection(element, level=Level.LENGTH if decided else level)
        case "range":
            return (
                join(arguments).at_level(Level.LENGTH) if join(arguments) else Value(element=CLEAN)
            )
        case "dict":
            fields = tuple(
                (keyword.arg or "", value)
                for keyword, value in zip(node.keywords, arguments[len(node.args) :], strict=True)
            )
            if fields and not node.args:
                return replace(join(arguments), fields=fields, element=CLEAN)
            if first.mapped is not None:
                return first
            pair = element_of(first)
            parts = pair.items if len(pair.items) == 2 else (pair, pair)
            return collection(parts[0], level=first.level or Level.CONTENTS, mapped=parts[1])
        case "DataFrame" if first.element is not None and (first.fields or first.mapped):
            return replace(first, level=max(first.level, first.inner))
        case "next" | "choice" | "heappop":
            item = element_of(first)
            # Whether there is one decides whether it is the default.
            return replace(item, optional=len(arguments) > 1 and first.level == Level.LENGTH)
        case _ if name in SEARCHES:
            return replace(join(arguments).whole, optional=bool(join(arguments)))
        case "defaultdict" | "Counter" if not join(arguments):
            return Value(grows=True)
        case "fromkeys":
            value = arguments[1] if len(arguments) > 1 else NONE
            level = Level.LENGTH if first else Level.CONTENTS
            return collection(element_of(first), level=level, mapped=value)
        case "histogram" if len(arguments) > 1 and not join(arguments[1:]):
            counts = first.at_level(Level.CONTENTS)
            has_range = any(keyword.arg == "range" for keyword in node.keywords)
            number = any(
                isinstance(part, ast.Constant)
                for part in [*node.args[1:2], *(word.value for word in node.keywords)]
            )
            edges = counts if number and not has_range else CLEAN
            return replace(counts, items=(counts, edges))
        case _ if name in NEW_ARRAYS and not join(arguments):
            return Value(fixed=True)
        case _ if name in NEW_ARRAYS:
            return join(arguments).at_level(Level.LENGTH)
        case _ if name in ALIKE:
            long = first.level == Level.LENGTH
            return replace(first.at_level(Level.LENGTH) if long else CLEAN, fixed=not long)
        case _ if name in LISTS and len(node.args) == 1:
            kept = name not in ("sorted", "reversed") and not called
            if called and join(called):
                return join([first, *called])
            if first.element is not None or first.items:
                element = element_of(first)
                listed = replace(first, element=element, items=first.items if kept else ())
                return replace(listed, mapped=None, fields=())
            return join([first, *called])
    if called:
        return join([*arguments, *called])
    return resized(name, node, join(arguments))


def _pairs(parts: tuple[Value, ...], whole: Value, level: Level) -> Value:
    """Make a collection of tuples with these parts."""
    joined = join(parts)
    element = replace(joined, items=parts)
    result = collection(element, level=level)
    # The length of what is clean may depend on records nevertheless.
    if not whole:
        return result
    return replace(result, level=level, name=whole.name, line=whole.line, file=whole.file)


def method_of_collection(  # noqa: PLR0911 - a case for each method
    name: str, base: Value, node: ast.Call, arguments: Sequence[Value]
) -> Value | None:
    """Make what a method of a dict gives back; `None` for other methods."""
    is_list = not base.fields and base.mapped is None and (base.items or base.element is not None)
    if name in ("pop", "popleft") and is_list and not join(arguments):
        return element_of(base)
    if base.mapped is None and base.element is None and not base.fields:
        return None
    keys = base.element or CLEAN
    values = base.mapped if base.mapped is not None else element_of(base)
    level = base.level or Level.CONTENTS
    key = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
    if name == "items" and not arguments:
        return _pairs((keys, values), base, level)
    if name == "values" and not arguments:
        return collection(values, level=level)
    if name == "keys" and not arguments:
        return collection(keys, level=level)
    if name in ("get", "pop", "setdefault") and key is not None:
        fields = dict(base.fields)
        if key in fields:
            return fields[key]
        if not base.fields and base.mapped is not None:
            part = either([base.mapped, *arguments[1:]])
            if base.level < Level.LENGTH:
                return part
            # Records may decide whether it has this key.
            return replace(join([part, base.at_level(Level.CONTENTS)]), optional=name == "get")
        return None if base else join(arguments[1:])
    if name in ("get", "pop") and base.mapped is not None and arguments and not arguments[0]:
        return join([base.mapped, *arguments[1:]])
    if name == "copy":
        return base
    return None


def resized(name: str, node: ast.Call, value: Value) -> Value:
    """Say on what the number of elements of a result depends."""
    if not value or name in NEUTRAL:
        return CLEAN
    least = any(keyword.arg == "minlength" for keyword in node.keywords)
    if name == "bincount" and not least:
        return value.at_level(Level.LENGTH)
    public = name == "reindex" and len(node.args) == 1
    if name in REDUCTIONS or name == "bincount" or public:
        return value.at_level(Level.CONTENTS)
    is_choice = name == "where" and len(node.args) == 3
    if name in JOINS and value.inner == Level.LENGTH:
        return value.at_level(Level.LENGTH)
    if name in FILTERS and not is_choice:
        result = value.at_level(Level.LENGTH)
        several = name in ("nonzero", "where") or any(
            (keyword.arg or "").startswith("return_") for keyword in node.keywords
        )
        return replace(result, inner=Level.LENGTH) if several else result
    return value.whole


def fields_of(kind: Any) -> tuple[str, ...]:
    """List the fields of a dataclass or a named tuple, in the order of its arguments."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind) if field.init)
    named = isinstance(kind, type) and issubclass(kind, tuple)
    return tuple(getattr(kind, "_fields", ())) if named else ()


def with_fields(
    kind: type, fields: Sequence[str], node: ast.Call, arguments: Sequence[Value]
) -> Value:
    """Make a value of a class with these fields; those that are not named have their defaults."""
    whole = join(arguments)
    if (
        not fields
        or len(node.args) > len(fields)
        or any(isinstance(part, ast.Starred) for part in node.args)
        or any(keyword.arg is None for keyword in node.keywords)
    ):
        return whole.whole
    named = [keyword.arg or "" for keyword in node.keywords]
    held = {
        **dict.fromkeys(fields, CLEAN),
        **dict(zip([*fields[: len(node.args)], *named], arguments, strict=True)),
    }
    items = tuple(held[name] for name in fields) if issubclass(kind, tuple) else ()
    return replace(whole, fields=tuple(held.items()), items=items)
