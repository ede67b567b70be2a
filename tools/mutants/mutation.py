"""Mutations of a module's source: small changes, each at one place of the text.

A mutation replaces a part of the text, so all else keeps its layout. Error messages, annotations,
decorators, docstrings and progress bars are left alone: no result depends on what they say. So is
what else changes no result (`unseen`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from .unseen import (
    is_docstring,
    is_power_of_two,
    is_round_bound,
    is_shown_only,
    is_size,
    is_text,
    is_type,
    negative_ones,
    says_what_holds,
)

__all__ = ["Mutation", "Statement", "mutations", "statement_of"]

Place: TypeAlias = tuple[int, int]

COMPARISONS: Final[dict[type[ast.cmpop], tuple[str, dict[str, str]]]] = {
    ast.Lt: ("<", {"boundary": "<=", "negation": ">="}),
    ast.LtE: ("<=", {"boundary": "<", "negation": ">"}),
    ast.Gt: (">", {"boundary": ">=", "negation": "<="}),
    ast.GtE: (">=", {"boundary": ">", "negation": "<"}),
    ast.Eq: ("==", {"negation": "!="}),
    ast.NotEq: ("!=", {"negation": "=="}),
    ast.In: ("in", {"negation": "not in"}),
    ast.NotIn: ("not in", {"negation": "in"}),
    ast.Is: ("is", {"negation": "is not"}),
    ast.IsNot: ("is not", {"negation": "is"}),
}
ARITHMETIC: Final[dict[type[ast.operator], tuple[str, str]]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
}
QUANTIFIERS: Final = {"all": "any", "any": "all", "min": "max", "max": "min"}


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of a module's text."""

    kind: str
    line: int
    """Line, from 1, on which the changed part begins."""
    start: int
    """Place of the changed part: characters from the beginning of the text."""
    end: int
    replacement: str

    def applied(self, source: str) -> str:
        """Return the mutated text."""
        return source[: self.start] + self.replacement + source[self.end :]

    def before(self, source: str) -> str:
        """Return the changed statement's first line as it is."""
        return source.splitlines()[self.line - 1].strip()

    def after(self, source: str) -> str:
        """Return the same line after the change; lines of a removed statement become one."""
        return self.applied(source).splitlines()[self.line - 1].strip()


def mutations(source: str) -> list[Mutation]:
    """List all mutations of a module, in the order of the text.

    >>> [mutation.after("x = a < 1") for mutation in mutations("x = a < 1")]
    ['x = a <= 1', 'x = a >= 1', 'x = a < 0', 'x = a < 2']
    """
    return sorted(set(_Finder(source).all()), key=lambda m: (m.start, m.end, m.kind, m.replacement))


class Statement(NamedTuple):
    """The lines of a statement, of a compound one those before its body."""

    lines: range
    in_function: bool
    """Whether it runs when a function is called, and not when the module is imported."""


def statement_of(source: str, line: int) -> Statement:
    r"""Find the innermost statement on a line.

    >>> statement_of("def f(a):\n    if (a\n        < 1):\n        b()", 3)
    Statement(lines=range(2, 4), in_function=True)
    """
    return _innermost(ast.parse(source), line, in_function=False) or Statement(
        range(line, line + 1), in_function=False
    )


def _innermost(node: ast.AST, line: int, *, in_function: bool) -> Statement | None:
    for child in ast.iter_child_nodes(node):
        inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if statement := _innermost(child, line, in_function=inside):
            return statement
        if isinstance(child, ast.stmt):
            body = getattr(child, "body", None)
            last = body[0].lineno - 1 if body else child.end_lineno or child.lineno
            lines = range(child.lineno, max(last, child.lineno) + 1)
            if line in lines:
                return Statement(lines, inside)
    return None


class _Finder:
    """A walk over a module's syntax tree."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lines = source.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))
        self._tree = ast.parse(source)
        self._any_length: set[int] = set()
        """Constants of -1 in a `reshape`, by identity."""

    def all(self) -> Iterator[Mutation]:
        """Find the mutations of all statements."""
        yield from self._walk(self._tree)

    def _walk(self, node: ast.AST) -> Iterator[Mutation]:
        if is_type(node) or is_shown_only(node):
            return
        if isinstance(node, ast.AnnAssign) and is_size(node.target):
            yield from self._other_than_powers(node)
            return
        if isinstance(node, ast.AnnAssign) and is_round_bound(node):
            return  # the number alone could change, by one
        yield from self._of(node)
        if isinstance(node, ast.Raise | ast.JoinedStr):
            return  # the text of a message; places within f-strings are not known before 3.12
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list", "type_params", "bases"}:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not is_docstring(child):
                    yield from self._walk(child)

    def _of(self, node: ast.AST) -> Iterator[Mutation]:
        yield from self._of_expression(node) if isinstance(node, ast.expr) else ()
        yield from self._of_statement(node) if isinstance(node, ast.stmt) else ()
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            test = node.test
            if not isinstance(test, ast.Compare | ast.BoolOp | ast.Constant):
                yield self._replace("negation", test, f"(not ({self._text(test)}))")

    def _of_expression(self, node: ast.expr) -> Iterator[Mutation]:
        match node:
            case ast.Compare():
                yield from self._comparison(node)
            case ast.BoolOp(op=op, values=values):
                before, after = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
                for left, right in pairwise(values):
                    yield from self._operator("logic", left, right, before, after)
            case ast.BinOp(left=left, op=op, right=right) if not is_text(left, right):
                yield from self._operator("arithmetic", left, right, *ARITHMETIC.get(type(op), ()))
            case ast.Call(func=ast.Attribute(attr="reshape"), args=args):
                self._any_length |= {id(number) for arg in args for number in negative_ones(arg)}
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
                yield self._replace("logic", node, f"({self._text(operand)})")
            case ast.Constant():
                yield from self._constant(node)
            case ast.Call(func=ast.Name(id=name) as function) if name in QUANTIFIERS:
                yield self._replace("quantifier", function, QUANTIFIERS[name])

    def _of_statement(self, node: ast.stmt) -> Iterator[Mutation]:
        match node:
            case ast.AugAssign(target=target, op=op, value=value):
                yield self._replace("statement", node, "pass")
                operators = [f"{sign}=" for sign in ARITHMETIC.get(type(op), ())]
                yield from self._operator("arithmetic", target, value, *operators)
            case ast.Continue():
                yield self._replace("jump", node, "break")
            case ast.Break():
                yield self._replace("jump", node, "continue")
            case ast.Raise() | ast.Assert() | ast.Delete() if not says_what_holds(node):
                yield self._replace("statement", node, "pass")
            case ast.Expr(value=ast.Call() | ast.Await()):
                yield self._replace("statement", node, "pass")
            case ast.Return(value=ast.expr() as value):
                if not (isinstance(value, ast.Constant) and value.value is None):
                    yield self._replace("result", node, "return None")

    def _other_than_powers(self, node: ast.AnnAssign) -> Iterator[Mutation]:
        """Change a size to anything but another power of two."""
        if node.value is None:
            return
        first, last = self._start(node.value), self._end(node.value)
        for mutation in self._walk(node.value):
            longer = len(mutation.replacement) - (mutation.end - mutation.start)
            if not is_power_of_two(mutation.applied(self._source)[first : last + longer]):
                yield mutation

    def _comparison(self, node: ast.Compare) -> Iterator[Mutation]:
        operands = [node.left, *node.comparators]
        for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
            before, changes = COMPARISONS[type(op)]
            for kind, after in changes.items():
                yield from self._operator(kind, left, right, before, after)

    def _constant(self, node: ast.Constant) -> Iterator[Mutation]:
        value = node.value
        if isinstance(value, bool):
            yield self._replace("constant", node, str(not value))
        elif isinstance(value, int | float):
            # In a reshape -2 is as good as -1, so only 0 is tried there.
            for changed in (value - 1,) if id(node) in self._any_length else (value + 1, value - 1):
                text = repr(changed)
                yield self._replace("constant", node, f"({text})" if changed < 0 else text)

    def _operator(
        self, kind: str, left: ast.AST, right: ast.AST, before: str = "", after: str = ""
    ) -> Iterator[Mutation]:
        """Replace the operator that stands between two operands."""
        if not before:
            return
        first, last = self._end(left), self._start(right)
        word = r"\b" if before[0].isalpha() else ""
        pattern = word + re.escape(before).replace(r"\ ", r"\s+") + word
        if match := re.search(pattern, self._without_comments(first, last)):
            start = first + match.start()
            line = self._source.count("\n", 0, start) + 1
            yield Mutation(kind, line, start, first + match.end(), after)

    def _without_comments(self, first: int, last: int) -> str:
        """Blank out comments between two operands."""
        return re.sub(r"#[^\n]*", lambda m: " " * len(m[0]), self._source[first:last])

    def _replace(self, kind: str, node: ast.expr | ast.stmt, text: str) -> Mutation:
        return Mutation(kind, node.lineno, self._start(node), self._end(node), text)

    def _text(self, node: ast.AST) -> str:
        return self._source[self._start(node) : self._end(node)]

    def _start(self, node: ast.AST) -> int:
        return self._place(getattr(node, "lineno"), getattr(node, "col_offset"))  # noqa: B009

    def _end(self, node: ast.AST) -> int:
        return self._place(getattr(node, "end_lineno"), getattr(node, "end_col_offset"))  # noqa: B009

    def _place(self, line: int, column: int) -> int:
        """Convert a line and a column, which Python counts in bytes, to a place in the text."""
        octets = self._lines[line - 1].encode()[:column]
        return self._starts[line - 1] + len(octets.decode())
