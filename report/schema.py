"""The JSON schema of report.json; docs/report-schema.json is this."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from ..runs.infinity import INFINITY
from .report import Report

__all__ = ["report_schema"]


def report_schema() -> dict[str, Any]:
    """Make the schema of the struct, with the word for infinity."""
    title = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "report.json"}
    schema = msgspec.json.schema(Report)
    for name in ("Privacy", "ClaimExcess", "CurvePoint", "Loss", "Release"):
        schema["$defs"][name] = _with_infinity(schema["$defs"][name])
    # As JSON has it: a default that is a tuple is a list there.
    published: dict[str, Any] = json.loads(json.dumps({**title, **schema}))
    return _without_indents(published)


def _without_indents(published: dict[str, Any]) -> dict[str, Any]:
    """Take the indents out of docstrings, as Python does by itself from 3.13 on."""
    for definition in published["$defs"].values():
        if "description" in definition:
            definition["description"] = inspect.cleandoc(definition["description"])
    return published


def _with_infinity(schema: Any) -> Any:
    """Allow the word for infinity beside every number."""
    if isinstance(schema, Mapping):
        if schema.get("type") == "number":
            return {
                **{key: value for key, value in schema.items() if key != "type"},
                "anyOf": [{"type": "number"}, {"const": INFINITY}],
            }
        return {key: _with_infinity(value) for key, value in schema.items()}
    return [_with_infinity(value) for value in schema] if isinstance(schema, list) else schema
