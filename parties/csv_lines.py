"""Lines of a CSV file: each must have as many fields as the header, and none may be empty.

pandas leaves out empty lines and fills short ones without a word. So the lines are counted here, on
the way from the file to pandas. Empty lines at the end of a file are no rows and are let pass.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np

from ..messages import Private, UsageError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from .csv_form import Recoded

__all__ = ["CheckedLines", "HeaderLines"]

MAX_RECORD: Final = 1 << 20
"""Characters of one row. A quote that is never closed would make a row of the rest of the file."""
NEWLINE: Final = ord("\n")
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
OLD_NEWLINE: Final = re.compile(rb"\r(?!\n)")
"""A line that ends in a carriage return alone."""
SENTINEL: Final = "the next line"
"""Stands for the line after those that have been read."""


class CheckedLines(io.RawIOBase):
    """A decompressed CSV file that is read from its beginning, with a check of every line.

    The first line that is wrong is noted in `problem`, and ends the file for pandas. The reader
    raises it between its blocks, since pandas would hide an error from within.
    """

    def __init__(
        self, file: BinaryIO | Recoded, *, fields: int, where: str, separator: str = ","
    ) -> None:
        self.problem: UsageError | None = None
        self._file = file
        self._fields = fields
        self._where = where
        self._separator = separator
        self._is_first = True
        self._line = 0
        """Number of lines that were checked."""
        self._empty = 0
        """Number of the first of the empty lines that were read last; 0 where there is none."""
        self._rest = b""
        """The line that has not ended yet."""
        self._open: list[str] = []
        """Lines of a row that has not ended yet, because a quote is open."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        data = b"" if self.problem else self._read(len(view))
        if self.problem is None:
            self._check(data)
        if self.problem is not None:
            return 0  # pandas must not see what is wrong: it would warn, or fail in its own words
        view[: len(data)] = data
        return len(data)

    def _read(self, size: int) -> bytes:
        """Read bytes without a byte order mark."""
        try:
            data = self._file.read(size)
        except UnicodeDecodeError as error:
            self._refuse_encoding(self._line + 1, error)
            return b""
        if self._is_first and data.startswith(BYTE_ORDER_MARK):
            data = data[len(BYTE_ORDER_MARK) :] or self._file.read(size)
        self._is_first = False
        return data

    def require_good(self) -> None:
        """Raise the first problem, if there is one."""
        if self.problem is not None:
            raise self.problem

    def _check(self, data: bytes) -> None:
        """Check the lines that end in these bytes; no bytes are the end of the file."""
        text = self._rest + data
        end = text.rfind(b"\n") + 1 if data else len(text)
        lines, self._rest = text[:end], text[end:]
        if not data and lines and not lines.endswith(b"\n"):
            lines += b"\n"
        self._check_characters(lines)
        if self.problem is not None:
            return
        is_plain = self._fields > 1 and not self._open and b'"' not in lines
        if is_plain and not OLD_NEWLINE.search(lines):
            self._check_plain(lines)
        else:
            self._check_quoted(lines.decode("latin-1"))
        if not data and self._open and self.problem is None:
            self.problem = UsageError(
                f"expected a closing quote for that of line {self._line + 1} of {self._where}, "
                "found the end of the file"
            )
        if len(self._rest) > MAX_RECORD:
            self._refuse(self._line + 1, f"a line of more than {MAX_RECORD} bytes")

    def _check_characters(self, lines: bytes) -> None:
        """Refuse bytes that are no text in UTF-8, and NUL bytes, at which pandas would stop."""
        if (place := lines.find(b"\0")) >= 0:
            self._refuse_text(self._line + lines.count(b"\n", 0, place) + 1, "a NUL byte")
        elif not lines.isascii():
            try:
                lines.decode()
            except UnicodeDecodeError as error:
                line = self._line + lines.count(b"\n", 0, error.start) + 1
                self._refuse_encoding(line, error)

    def _refuse_encoding(self, line: int, error: UnicodeDecodeError) -> None:
        # "charmap" is Python's name for every encoding of one byte a character.
        encoding = "that encoding" if error.encoding == "charmap" else error.encoding
        if self.problem is None:
            self.problem = UsageError(
                f"expected text in {encoding} in line {line} of {self._where}, found ",
                Private(f"the byte 0x{error.object[error.start]:02x}"),
                ": say how it is encoded, such as --encoding latin-1 or cp1252 or utf-16",
            )

    def _refuse_text(self, line: int, content: str) -> None:
        if self.problem is None:
            self.problem = UsageError(
                f"expected text in line {line} of {self._where}, found {content}: export the "
                "table again, or say how it is encoded, such as --encoding utf-16"
            )

    def _check_plain(self, lines: bytes) -> None:
        """Count the separators of lines without quotes."""
        codes = np.frombuffer(lines, np.uint8)
        ends = np.flatnonzero(codes == NEWLINE)
        commas = np.searchsorted(np.flatnonzero(codes == ord(self._separator)), ends)
        wrong = np.flatnonzero(np.diff(commas, prepend=0) != self._fields - 1)
        before = 0
        for index in wrong.tolist():
            if index > before:
                self._end_empty_lines()
            before = index + 1
            start = int(ends[index - 1]) + 1 if index else 0
            fields = lines[start : int(ends[index])].decode("latin-1").split(self._separator)
            self._check_row(fields, line=self._line + index + 1)
            if self.problem is not None:
                return
        if before < len(ends):
            self._end_empty_lines()
        self._line += len(ends)

    def _check_quoted(self, text: str) -> None:
        """Read rows whose fields may be quoted, and may hold commas and line breaks."""
        lines = [*self._open, *io.StringIO(text, newline="")]
        reader = csv.reader([*lines, SENTINEL], delimiter=self._separator)
        begin = 0
        try:
            for row in reader:
                if reader.line_num > len(lines):
                    break  # the sentinel, or the row that has swallowed it
                is_quoted = any('"' in line for line in lines[begin : reader.line_num])
                self._check_row(row, line=self._line + begin + 1, is_quoted=is_quoted)
                begin = reader.line_num
        except csv.Error as error:
            self._refuse(self._line + begin + 1, str(error))
        self._line += begin
        self._open = lines[begin:]
        if sum(map(len, self._open)) > MAX_RECORD:
            self._refuse(self._line + 1, "a quote that is not closed")

    def _check_row(self, fields: list[str], *, line: int, is_quoted: bool = False) -> None:
        """Check the number of fields. A quoted field without a text is a row of one column."""
        if not is_quoted and len(fields) <= 1 and not "".join(fields).strip():
            self._empty = self._empty or line
            return
        self._end_empty_lines()
        if len(fields) != self._fields:
            self._refuse(line, f"{len(fields)}")

    def _end_empty_lines(self) -> None:
        """Note empty lines as a problem, since a row follows them."""
        if self._empty and self.problem is None:
            self.problem = UsageError(
                f"expected a row in line {self._empty} of {self._where}, found an empty line: "
                "remove all empty lines"
            )

    def _refuse(self, line: int, content: str) -> None:
        if self.problem is None:
            self.problem = UsageError(
                "expected ",
                Private(self._fields),
                f" fields in line {line} of {self._where}, as in its header, found ",
                Private(content),
                ": complete the line, or leave it out",
            )


class HeaderLines(CheckedLines):
    """The beginning of a file, of which only the characters are checked, not the fields."""

    def __init__(self, file: BinaryIO | Recoded, *, where: str) -> None:
        super().__init__(file, fields=0, where=where)

    def _check(self, data: bytes) -> None:
        """Check the header alone: other lines are checked when they are read."""
        if self._line == 0:
            self._rest += data
            header, newline, _ = self._rest.partition(b"\n")
            if newline or not data:
                self._check_characters(header)
                self._line = 1
