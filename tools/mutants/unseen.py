"""Changes of a module's text that no result can depend on, so that they are no mutants.

Of code these are:

- `reshape(-2)` for `reshape(-1)`: NumPy computes a length wherever it finds a negative one.
- The raising of an `AssertionError`, left out: a place that is never reached.
- `del name`, left out: the name is read nowhere afterwards, or else the unchanged code would fail.
- Another power of two for a size in which work is cut, or for what a cache keeps (`SIZES`). It
  decides how much memory is used at once. Other numbers are tried, as pieces could overlap.
- One more or one less of a bound in round numbers, as in `MAX_ROWS = 200_000`: where it lies
  is a choice, and no reason for it tells these apart. Powers of two are tried, as what has so many
  bits has room for one number less.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

__all__ = [
    "is_docstring",
    "is_power_of_two",
    "is_round_bound",
    "is_shown_only",
    "is_size",
    "is_text",
    "is_type",
    "negative_ones",
    "says_what_holds",
]

SHOWN_ONLY: Final = {"progress", "warn"}
"""Calls that only show something, so that no result depends on them."""
ASSERTED: Final = {"strict", "repr", "where"}
"""Keywords that say what should hold anyway, what is printed, or where an error occurred."""
SIZES: Final = re.compile(
    r"(MAX_)?(BATCH|CHUNK|BLOCK|BUFFER|KEPT)(_(BITS|BYTES|CELLS|REPORTS|USERS))?"
)
"""Names of constants for the size of a piece of work, or for what is kept to save time."""
BOUND: Final = re.compile(r"(MAX|MIN)_[A-Z_]+")
ROUND: Final = 1000
ONE_BLOCK: Final = {"BLOCK_BYTES"}
"""The length of a cipher's block, which is no choice."""
TYPE_NAMES: Final = {"TypeVar", "TypeAlias", "ParamSpec", "cast"}


def is_type(node: ast.AST) -> bool:
    """Whether a node only says something about types."""
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Import() | ast.ImportFrom():
            return True
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in TYPE_NAMES
        case ast.Subscript(value=ast.Name(id=name)):
            return name in {"Annotated", "Literal", "Callable"}
    return False


def is_shown_only(node: ast.AST) -> bool:
    """Whether a node shows something to the user, or asserts what should hold anyway."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return name in SHOWN_ONLY
        case ast.keyword(arg=str(name)):
            return name in ASSERTED
    return False


def says_what_holds(node: ast.AST) -> bool:
    """Whether a statement is never reached, or only ends the life of a name."""
    match node:
        case ast.Raise(exc=ast.Call(func=ast.Name(id="AssertionError"))):
            return True
        case ast.Delete(targets=targets):
            return all(isinstance(target, ast.Name) for target in targets)
    return False


def negative_ones(node: ast.expr) -> Iterator[ast.expr]:
    """Find the numbers of -1 in an argument of `reshape`, which may be a tuple."""
    for part in node.elts if isinstance(node, ast.Tuple) else [node]:
        match part:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1) as number):
                yield number


def is_size(target: ast.expr) -> bool:
    return (
        isinstance(target, ast.Name)
        and SIZES.fullmatch(target.id) is not None
        and target.id not in ONE_BLOCK
    )


def is_round_bound(node: ast.AnnAssign) -> bool:
    """Whether a bound is a multiple of a thousand in decimal digits."""
    match node:
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=int(number))):
            return BOUND.fullmatch(name) is not None and number > 0 and number % ROUND == 0
    return False


def is_power_of_two(text: str) -> bool:
    """Compute a constant, such as 1 << 13, and tell whether it is a power of two above 1."""
    match ast.parse(text, mode="eval").body:
        case ast.Constant(value=int(number)):
            value = number
        case ast.BinOp(left=ast.Constant(value=int(left)), op=op, right=ast.Constant(value=int(n))):
            value = left << n if isinstance(op, ast.LShift) else left >> n
        case _:
            return False
    return value > 1 and value.bit_count() == 1


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_text(*operands: ast.AST) -> bool:
    return any(
        isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
        for node in operands
    )
