"""Read the patterns of `match` statements, for what depends on records (`launch.record_flow`)."""

from __future__ import annotations

import ast

from .flow_calls import CallFlow
from .flow_collections import element_of
from .flow_values import Frame, Value

__all__ = ["PatternFlow"]


class PatternFlow(CallFlow):
    """The reading of patterns; statements are read by a subclass."""

    def capture(  # noqa: C901, PLR0912 - a case for each kind of pattern
        self, pattern: ast.pattern, subject: Value, frame: Frame
    ) -> None:
        """Give the names of a pattern the parts of the subject."""
        fields: dict[object, Value] = dict(subject.fields)
        if subject.instance is not None and subject.source is None:
            fields = dict(subject.instance.attributes.items())
        match pattern:
            case ast.MatchAs(pattern=inner, name=name):
                if inner is not None:
                    self.capture(inner, subject, frame)
                if name:
                    frame.variables[name] = subject
            case ast.MatchClass(patterns=parts, kwd_attrs=names, kwd_patterns=named):
                held = [*subject.items] if subject.items else [*fields.values()]
                for index, part in enumerate(parts):
                    value = held[index] if index < len(held) else element_of(subject)
                    self.capture(part, value, frame)
                for name, part in zip(names, named, strict=True):
                    self.capture(part, fields.get(name, element_of(subject)), frame)
            case ast.MatchSequence(patterns=parts):
                items = subject.items if len(subject.items) == len(parts) else ()
                for index, part in enumerate(parts):
                    self.capture(part, items[index] if items else element_of(subject), frame)
            case ast.MatchStar(name=str() as name):
                frame.variables[name] = subject
            case ast.MatchMapping(patterns=parts) | ast.MatchOr(patterns=parts):
                whole = isinstance(pattern, ast.MatchOr)
                for part in parts:
                    self.capture(part, subject if whole else element_of(subject), frame)
            case _:
                pass
