"""Read the statements of a program, for what depends on records (`launch.record_flow`)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .flow_calls import CallFlow
from .flow_values import CLEAN, Frame, Function, Level, Value, either, element_of, join

__all__ = ["StatementFlow"]


class StatementFlow(CallFlow):
    """The reading of a whole program."""

    def body(self, statements: Sequence[ast.stmt], frame: Frame) -> None:
        """Read statements in their order."""
        for statement in statements:
            self._statement(statement, frame)

    def _statement(  # noqa: C901, PLR0912 - a case for each kind of statement
        self, node: ast.stmt, frame: Frame
    ) -> None:
        match node:
            case ast.Expr(value=value):
                self.value_of(value, frame)
            case ast.Assign(targets=targets, value=value):
                result = self.value_of(value, frame)
                for target in targets:
                    self.assign(target, result, frame)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.value_of(value, frame), frame)
            case ast.AugAssign(target=target, value=value):
                change = self.value_of(value, frame)
                before = self.value_of(target, frame)
                self.assign(target, join([before, change]), frame)
            case ast.Return(value=value):
                frame.returned.append(self._decided(self.value_of(value, frame), frame))
            case ast.If():
                self._branches(node.test, [node.body, node.orelse], frame)
            case ast.While():
                self._loop(node, [self.value_of(node.test, frame)], frame)
            case ast.For():
                every = self.value_of(node.iter, frame)
                self.assign(node.target, element_of(every), frame)
                self._loop(node, [every] if every.level == Level.LENGTH else [], frame)
            case ast.With(items=items):
                for item in items:
                    opened = self.value_of(item.context_expr, frame)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, opened, frame)
                self.body(node.body, frame)
            case ast.Try():
                self._attempt(node, frame)
            case ast.Match():
                self._cases(node, frame)
            case ast.FunctionDef(name=name):
                here = frame.function
                function = Function(node, here.file, here.globals, here.owner, within=frame)
                frame.variables[name] = Value(function=function)
            case ast.Assert(test=test):
                self.value_of(test, frame)
            case ast.Raise(exc=error):
                self.value_of(error, frame)
                if frame.control:
                    self.note(node, "raise", frame.control, frame, decides=True)
            case _:
                pass

    def _decided(self, value: Value, frame: Frame) -> Value:
        return join([value, frame.control]) if frame.control else value

    def _branches(
        self, test: ast.expr, branches: Iterable[Sequence[ast.stmt]], frame: Frame
    ) -> None:
        """Read what is done in either case; it depends on what decides."""
        deciding = replace(self.value_of(test, frame), source=None)
        if deciding:
            deciding = replace(deciding, line=test.lineno)
        self._apart(deciding, branches, frame)

    def _apart(self, deciding: Value, branches: Iterable[Sequence[ast.stmt]], frame: Frame) -> None:
        before, control = dict(frame.variables), frame.control
        ends, leaves = list[dict[str, Value]](), False
        for branch in branches:
            frame.variables = dict(before)
            frame.control = join([control, deciding])
            self.body(branch, frame)
            ends.append(frame.variables)
            leaves |= any(map(_leaves, branch))
        frame.variables = _joined(ends)
        # After `if secret: return`, what follows happens only if it does not hold.
        frame.control = join([control, deciding]) if leaves else control

    def _loop(self, node: ast.For | ast.While, deciding: Sequence[Value], frame: Frame) -> None:
        before, control = dict(frame.variables), frame.control
        frame.control = join([control, *deciding])
        # What the end of a pass computes is there at the start of the next one.
        for _ in range(2):
            self.body(node.body, frame)
            frame.variables = _joined([before, frame.variables])
            if isinstance(node, ast.While):
                frame.control = join([frame.control, self.value_of(node.test, frame)])
        returns = any(isinstance(inner, ast.Return) for inner in ast.walk(node))
        frame.control = frame.control if returns else control
        self.body(node.orelse, frame)

    def _attempt(self, node: ast.Try, frame: Frame) -> None:
        before, control, evaluated = dict(frame.variables), frame.control, frame.evaluated
        frame.evaluated = CLEAN
        self.body(node.body, frame)
        ends = [before, frame.variables]
        for handler in node.handlers:
            frame.variables = _joined(ends[:2])
            # Whether there is an error depends on what was converted or looked up.
            frame.control = join([control, frame.evaluated])
            self.body(handler.body, frame)
            ends.append(frame.variables)
        frame.variables, frame.control = _joined(ends), control
        frame.evaluated = join([evaluated, frame.evaluated])
        self.body([*node.orelse, *node.finalbody], frame)

    def _cases(self, node: ast.Match, frame: Frame) -> None:
        subject = self.value_of(node.subject, frame)
        for case in node.cases:
            for part in ast.walk(case.pattern):
                if isinstance(part, ast.MatchAs | ast.MatchStar) and part.name:
                    frame.variables[part.name] = element_of(subject)
        self._apart(subject, [case.body for case in node.cases], frame)


def _joined(ends: Sequence[dict[str, Value]]) -> dict[str, Value]:
    """Join what variables may hold after several ways."""
    variables = dict[str, Value]()
    for name in {name for end in ends for name in end}:
        values = [end[name] for end in ends if name in end]
        same = all(value == values[0] for value in values)
        special = next((value for value in values if value.source or value.function), None)
        variables[name] = values[0] if same else either(values) if special is None else special
    return variables


def _leaves(statement: ast.stmt) -> bool:
    """Tell whether a statement may leave the function or the loop around it."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return False
    if isinstance(statement, ast.Return | ast.Break | ast.Continue):
        return True
    inner = [part for part in ast.iter_child_nodes(statement) if isinstance(part, ast.stmt)]
    handlers = statement.handlers if isinstance(statement, ast.Try) else []
    inner += [part for handler in handlers for part in handler.body]
    if isinstance(statement, ast.For | ast.While):
        return any(isinstance(part, ast.Return) for part in ast.walk(statement))
    return any(map(_leaves, inner))
