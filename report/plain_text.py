"""Text of others on a terminal: without codes that move the cursor or hide what stands there."""

from __future__ import annotations

from typing import Final

__all__ = ["plain_text"]

CONTROLS: Final = frozenset([*range(0x20), *range(0x7F, 0xA0)]) - {0x09, 0x0A}
"""Control characters but tabs and ends of lines; escape sequences begin with one of them."""
DIRECTIONS: Final = frozenset(
    [0x200E, 0x200F, 0x061C, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
)
"""Characters that change the direction of the text around them."""
_TABLE: Final = {
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in CONTROLS | DIRECTIONS
}


def plain_text(text: str) -> str:
    r"""Write control characters as Python does in a string.

    >>> print(plain_text("\x1b[2Jparty 1 is fine"))
    \x1b[2Jparty 1 is fine
    """
    return text if text.isascii() and text.isprintable() else text.translate(_TABLE)
