"""Sums of a single row, by the source: a total or a model's update, which is no record.

Where a neighbour has one record more or less, a sum of rows that are records changes by one row. A
row that was computed from many records is in both datasets, with different values. So the sum
changes by up to twice the bound.
"""

from __future__ import annotations

import ast

from .flow_assignments import constant_of

__all__ = ["sums_single_row"]


def sums_single_row(node: ast.Call) -> bool:
    """Tell whether a call sums one row that may change by more than is stated.

    A number between 0 and a bound changes by the bound at most, so that is fine.

    >>> def in_source(text): return sums_single_row(ast.parse(text, mode="eval").body)
    >>> in_source("real_sum([share], bounds=(-1, 1))"), in_source("real_sum([n], bounds=(0, 9))")
    (True, False)
    >>> in_source("real_sum(update[None, :], bound=clip)"), in_source("real_sum(ages, bound=100)")
    (True, False)
    """
    if not node.args or not _is_single(node.args[0]):
        return False
    stated = {keyword.arg: keyword.value for keyword in node.keywords}
    if "bound" in stated:
        return True
    bounds = stated.get("bounds")
    if not isinstance(bounds, ast.Tuple | ast.List) or len(bounds.elts) != 2:
        return False
    low, high = bounds.elts
    return _is_negative(low) and not _is_negative(high) and constant_of(high) != 0


def _is_single(node: ast.expr) -> bool:
    """Tell whether an expression is surely a single row."""
    match node:
        case ast.List(elts=[part]) | ast.Tuple(elts=[part]):
            return not isinstance(part, ast.Starred)
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Constant(value=None), *_])):
            return True
        case ast.Subscript(slice=ast.Constant(value=None)):
            return True
        case ast.Call(func=ast.Attribute(attr="reshape"), args=[first, *_]):
            return bool(constant_of(first) == 1)
        case ast.Call(func=ast.Attribute(attr="array" | "asarray" | "atleast_2d"), args=[part, *_]):
            return _is_single(part)
    return False


def _is_negative(node: ast.expr) -> bool:
    """Tell whether a number in the source has a minus before it: `-1`, `-CLIP`."""
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
