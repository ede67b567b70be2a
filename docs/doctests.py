"""A griffe extension that shows the examples in docstrings as Python sessions.

Without it mkdocstrings would read `>>>` as a quotation.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SESSION = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> )\S.*\n?|^ +\S.*\n?)*)+", re.MULTILINE)


class Doctests(griffe.Extension):
    """Puts a fence around every session before the docstring is read as Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Put a fence around each session: from `>>>` to the next empty line."""
    return SESSION.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", text)
