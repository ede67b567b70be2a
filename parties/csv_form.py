"""The form of a CSV file: what separates its columns, and how its text is encoded."""

from __future__ import annotations

import codecs
from typing import Annotated, BinaryIO, Final, TypeAlias

import msgspec

from ..messages import UsageError

__all__ = ["COMMAS", "CsvForm", "Encoding", "Recoded", "Separator"]

Separator: TypeAlias = Annotated[
    str,
    msgspec.Meta(description="between columns of CSV files: , (default), ';', tab, bar, space"),
]
Encoding: TypeAlias = Annotated[
    str, msgspec.Meta(description="of CSV files: utf-8 (default), latin-1, cp1252, utf-16")
]
"""The two options of every command that reads a table; `Job` has them as fields."""

NAMES: Final = {
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "\\t": "\t",
    "bar": "|",
    "space": " ",
}
"""Words for separators that are hard to type in a shell."""
UTF8: Final = ("utf-8", "utf-8-sig", "ascii")
"""Encodings that need no conversion; a byte order mark is left out in any case."""


class CsvForm(msgspec.Struct, frozen=True, kw_only=True):
    """What separates columns, and the encoding."""

    separator: Separator = ","
    encoding: Encoding = "utf-8"

    @classmethod
    def of(cls, *, separator: str = ",", encoding: str = "utf-8") -> CsvForm:
        """Read the two options.

        Raises:
            UsageError: The separator is no single character, or the encoding is not known.
        """
        mark = NAMES.get(separator, separator)
        if len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in '"\n\r\0':
            raise UsageError(
                "expected one character for --separator, or comma, semicolon, tab, bar or space, "
                f"found {separator!r}"
            )
        try:
            name = codecs.lookup(encoding).name
            "".encode(name)
        except (LookupError, ValueError):
            raise UsageError(
                "expected an encoding such as utf-8, latin-1, cp1252 or utf-16 for --encoding, "
                f"found {encoding!r}"
            ) from None
        return cls(separator=mark, encoding=name)

    @property
    def is_utf8(self) -> bool:
        return self.encoding in UTF8

    def recode(self, file: BinaryIO) -> BinaryIO | Recoded:
        """Give a file's bytes in UTF-8."""
        return file if self.is_utf8 else Recoded(file, encoding=self.encoding)


COMMAS: Final = CsvForm()
"""Comma-separated values in UTF-8."""


class Recoded:
    """A file whose text is read in its encoding and given in UTF-8."""

    def __init__(self, file: BinaryIO, *, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)()

    def read(self, size: int) -> bytes:
        """Read at most so many bytes; a character takes up to four.

        Raises:
            UnicodeDecodeError: The file has another encoding.
        """
        while True:
            data = self._file.read(max(size // 4, 1))
            text = self._decoder.decode(data, final=not data)
            if text or not data:
                return text.encode()
