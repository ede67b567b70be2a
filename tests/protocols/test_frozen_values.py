"""What is published stays as it was: nothing is assigned to a part of a model."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import msgspec

PACKAGE = "sottovoce.protocols"


def structs() -> list[type[msgspec.Struct]]:
    """List the structs of all protocols. Their modules are imported here, each for itself."""
    path = import_module(PACKAGE).__path__
    modules = [each.name for each in pkgutil.walk_packages(path, f"{PACKAGE}.")]
    return [
        value
        for name in modules
        for value in vars(import_module(name)).values()
        if isinstance(value, type)
        and issubclass(value, msgspec.Struct)
        and value.__module__ == name
    ]


def test_parts_of_published_models_are_frozen() -> None:
    """A user's parameters are read by `Options`, and may be prepared step by step."""
    options = import_module(f"{PACKAGE}.options").Options
    parts = [each for each in structs() if not issubclass(each, options)]
    assert len(parts) > 10
    assert [each for each in parts if not each.__struct_config__.frozen] == []
