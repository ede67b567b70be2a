"""Let the reference show the examples in docstrings as what they are: sessions of Python, and not
quotations.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

SESSION = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> )\S.*\n?|^ +\S.*\n?)*)+", re.MULTILINE)


class Doctests(griffe.Extension):
    """Fence them, before anybody reads the docstring as Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Put a fence around each session: from `>>>` to the next empty line."""
    return SESSION.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)
