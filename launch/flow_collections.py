"""What a rehearsal knows of collections when it reads a program: items, fields and elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .flow_values import CLEAN, MAX_NESTED, Instance, Level, Source, Value, join

__all__ = ["collection", "either", "element_of", "keys_of", "trimmed", "with_field"]


def either(values: Sequence[Value]) -> Value:
    """Make the value that is one of these; what all of them have is kept."""
    if not values:
        return CLEAN
    first, *others = values
    if all(value == first for value in others):
        return first
    if first.instance is not None and all(_is_alike(value, first) for value in others):
        return _merged(values, first.instance.kind)
    if all(value.function is not None or value.verb for value in values):
        return first  # what one of them does, the others do alike in most programs
    is_part = first.source in (Source.PARTS_BY_VALUE, Source.RANDOM_PARTS)
    whole = replace(
        join(values),
        source=first.source if is_part and all(v.source is first.source for v in values) else None,
        fixed=all(value.fixed for value in values),
        optional=any(value.optional for value in values),
    )
    if first.items and all(len(value.items) == len(first.items) for value in others):
        items = zip(*(value.items for value in values), strict=True)
        whole = replace(whole, items=tuple(either(parts) for parts in items))
    if first.fields and all(_names(value) == _names(first) for value in others):
        fields = [dict(value.fields) for value in values]
        held = [(name, either([each[name] for each in fields])) for name, _ in first.fields]
        whole = replace(whole, fields=tuple(held))
    elements = [value.element for value in values if value.element is not None]
    if elements:  # of a list that is spelled out every item is an element
        elements += [either(value.items) for value in values if value.items and not value.element]
    mapped = [value.mapped for value in values if value.mapped is not None]
    return replace(
        whole,
        element=either(elements) if elements and all(map(_knows_elements, values)) else None,
        mapped=either(mapped) if mapped and all(map(_knows_mapped, values)) else None,
        grows=any(value.grows for value in values),
    )


def _is_alike(value: Value, other: Value) -> bool:
    """Tell whether two values are objects of one class."""
    if value.instance is None or other.instance is None or value.source or other.source:
        return False
    return value.instance.kind is other.instance.kind


def _merged(values: Sequence[Value], kind: type) -> Value:
    """Make the object that is one of these."""
    held = [value.instance.attributes for value in values if value.instance is not None]
    names = dict.fromkeys(name for attributes in held for name in attributes)
    merged = {name: either([each.get(name, CLEAN) for each in held]) for name in names}
    parts = tuple(value.instance for value in values if value.instance is not None)
    instance = Instance(kind, merged, parts)
    return replace(join(values).whole, instance=instance, level=Level.NOTHING)


def _knows_elements(value: Value) -> bool:
    """Tell whether nothing of records is in a value but in its known elements."""
    return not value or value.element is not None or bool(value.items)


def _knows_mapped(value: Value) -> bool:
    return not value or value.mapped is not None


def _names(value: Value) -> list[object]:
    return [name for name, _ in value.fields]


def element_of(value: Value) -> Value:
    """Make an element of a collection."""
    if value.items:
        return either(value.items)
    if value.element is not None:
        return value.element
    parts = value.source in (Source.PARTS_BY_VALUE, Source.RANDOM_PARTS)
    element = replace(value.whole, level=max(value.inner, Level.CONTENTS)) if value else CLEAN
    return element if parts else replace(element, source=None)


def keys_of(value: Value) -> Value:
    """Make the collection of a dict's keys, which `list` makes of it; any other value stays."""
    is_dict = value.mapped is not None or (bool(value.fields) and value.element is not None)
    if not is_dict or value.items:
        return value
    keys = collection(value.element or CLEAN)
    if value.level < Level.LENGTH:
        return keys
    return replace(value.whole, inner=keys.level, element=keys.element)


def collection(
    element: Value, *, level: Level = Level.CONTENTS, mapped: Value | None = None
) -> Value:
    """Make a collection of such elements; `level` is that of its length, if records decide it."""
    parts = join([element] if mapped is None else [element, mapped])
    if not parts and level < Level.LENGTH:
        return Value(element=trimmed(element), mapped=mapped and trimmed(mapped))
    whole = parts or replace(CLEAN, level=level)
    return replace(
        whole.whole,
        level=level,
        inner=(element if mapped is None else mapped).level,
        element=trimmed(element),
        mapped=None if mapped is None else trimmed(mapped),
    )


def trimmed(value: Value, depth: int = MAX_NESTED) -> Value:
    """Forget parts within parts that are nested too deeply."""
    if not (value.items or value.fields or value.element or value.mapped):
        return value
    if not depth:
        return replace(value.whole, source=value.source)
    return replace(
        value,
        items=tuple(trimmed(item, depth - 1) for item in value.items),
        fields=tuple((name, trimmed(item, depth - 1)) for name, item in value.fields),
        element=None if value.element is None else trimmed(value.element, depth - 1),
        mapped=None if value.mapped is None else trimmed(value.mapped, depth - 1),
    )


def with_field(value: Value, name: object, part: Value) -> Value:
    """Put a part under a constant name or key; the others stay."""
    fields = {**dict(value.fields), name: trimmed(part)}
    every = fields if value.mapped is None or not value.mapped else {"": value.mapped, **fields}
    whole = join([replace(value, instance=None), part])
    level = Level.LENGTH if value.level == Level.LENGTH else min(whole.level, Level.CONTENTS)
    return replace(
        whole,
        level=level,
        inner=max(whole.inner, part.level),
        fields=tuple(fields.items()),
        element=value.element if value.element is not None else CLEAN,
        mapped=either([*every.values()]),
        grows=value.grows,
    )
