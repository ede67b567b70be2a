"""Read the statements of a program, for what depends on records (`launch.record_flow`)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .flow_collections import either, element_of
from .flow_errors import is_caught, name_of_error, names_caught
from .flow_names import IN_MEMORY, WRITERS
from .flow_outputs import opens, writes_into_file
from .flow_patterns import PatternFlow
from .flow_sources import errors_suppressed, item_of, looped_over, may_return, may_turn, nodes_in
from .flow_values import CLEAN, NONE, Frame, Function, Level, Value, join

__all__ = ["StatementFlow"]


class StatementFlow(PatternFlow):
    """The reading of a whole program."""

    def body(self, statements: Sequence[ast.stmt], frame: Frame) -> None:
        """Read statements in their order."""
        for statement in statements:
            self._statement(statement, frame)

    def _statement(  # noqa: C901, PLR0912, PLR0915 - a case for each kind of statement
        self, node: ast.stmt, frame: Frame
    ) -> None:
        match node:
            case ast.Expr(value=value):
                self.value_of(value, frame)
                if isinstance(value, ast.Call):
                    self.shown_by(value, frame)
                    self.written_by(value, frame)
            case ast.Assign(targets=targets, value=value):
                result = self.value_of(value, frame)
                for target in targets:
                    self.assign(target, result, frame)
                self._name_again(targets, value, frame)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.value_of(value, frame), frame)
            case ast.AugAssign(target=target, op=operator, value=value):
                change = self.value_of(value, frame)
                before = self.value_of(target, frame)
                after = self._operation(before, operator, change, frame)
                self.change(target, replace(after, fixed=before.fixed), frame)
            case ast.Return(value=value):
                result = NONE if value is None else self.value_of(value, frame)
                frame.returned.append(self._decided(result, frame))
            case ast.If():
                self._branches(node.test, [node.body, node.orelse], frame)
            case ast.While():
                self._loop(node, CLEAN, frame)
            case ast.For() | ast.AsyncFor():
                self._loop(node, self.value_of(node.iter, frame), frame)
            case ast.With(items=[item], body=body) if suppressed := errors_suppressed(item):
                handler = ast.ExceptHandler(type=suppressed, body=[])
                attempt = ast.Try(body=body, handlers=[handler], orelse=[], finalbody=[])
                self._attempt(ast.copy_location(attempt, node), frame)
            case ast.With(items=items) | ast.AsyncWith(items=items):
                for item in items:
                    opened = self.value_of(item.context_expr, frame)
                    if (entered := self._entered(opened, frame)) is not None:
                        opened = entered
                    if isinstance(item.optional_vars, ast.Name) and opens(item.context_expr):
                        frame.files.add(item.optional_vars.id)
                    if item.optional_vars is not None:
                        held = element_of(opened) if opened.element is not None else opened
                        self.assign(item.optional_vars, held, frame)
                self.body(node.body, frame)
            case ast.Try() | ast.TryStar():
                self._attempt(node, frame)
            case ast.Match():
                self._cases(node, frame)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                here = frame.function
                local = Function(node, here.file, here.globals, here.owner, within=frame)
                frame.variables[name] = Value(function=local)
            case ast.Assert(test=test):
                deciding = join([self.test(test, frame), frame.deciding])
                if deciding and not is_caught("AssertionError", frame):
                    file = frame.function.file.name
                    condition = replace(deciding, line=node.lineno, file=file)
                    self.note(node, "raise", condition, frame, decides=True)
                frame.evaluated = join([frame.evaluated, deciding])
            case ast.Raise(exc=error):
                carried = self.value_of(error, frame)
                if frame.deciding and not is_caught(name_of_error(error), frame):
                    self.note(node, "raise", frame.deciding, frame, decides=True)
                frame.evaluated = join([frame.evaluated, frame.deciding, carried])
            case ast.Nonlocal(names=names):
                frame.outer.update(names)
            case ast.Global(names=names):
                frame.shared.update(names)
            case ast.Import(names=names):
                for alias in names:
                    name = alias.asname or alias.name.partition(".")[0]
                    module_there = alias.name if alias.asname else name
                    frame.imported[name] = sys.modules.get(module_there)
            case ast.ImportFrom(module=str() as module, names=names):
                for alias in names:
                    callee = getattr(sys.modules.get(module), alias.name, None)
                    function_there = self.function_of(callee)
                    name = alias.asname or alias.name
                    if function_there is not None:
                        frame.variables[name] = Value(function=function_there)
                    else:
                        frame.imported[name] = callee
            case ast.Delete(targets=targets):
                for target in targets:
                    if frame.merging and isinstance(target, ast.Subscript):
                        self.mark(target.value, frame.merging.at_level(Level.LENGTH), frame)
            case _:
                pass

    def _entered(self, opened: Value, frame: Frame) -> Value | None:
        """Read what a block gets of an object of the author."""
        if opened.instance is None or opened.source is not None:
            return None
        return self.method_result(opened, opened.instance, "__enter__", [], frame)

    def _name_again(self, targets: Sequence[ast.expr], value: ast.expr, frame: Frame) -> None:
        """Note which variables an assignment makes names of one object, or of an open file."""
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if name_of_error(value) in WRITERS and isinstance(value, ast.Call):
            names += [part.id for part in value.args[:1] if isinstance(part, ast.Name)]
        if name_of_error(value) in IN_MEMORY:
            frame.texts.update(names)
        if opens(value) or writes_into_file(value, frame):
            frame.files.update(names)
        if isinstance(value, ast.Name):
            names.append(value.id)
        if len(names) > 1:
            frame.alias(names)

    def _decided(self, value: Value, frame: Frame) -> Value:
        if not frame.merging:
            return value
        is_optional = value.optional or value.is_none
        return replace(join([value, frame.merging]), optional=is_optional)

    def _branches(
        self, test: ast.expr, branches: Iterable[Sequence[ast.stmt]], frame: Frame
    ) -> None:
        """Read what is done in either case; it depends on what decides."""
        deciding = replace(self.test(test, frame).whole, source=None)
        if deciding:
            file = frame.function.file.name
            deciding = replace(deciding, line=test.lineno, file=file)
        self._apart(deciding, branches, frame)

    def _apart(self, deciding: Value, branches: Iterable[Sequence[ast.stmt]], frame: Frame) -> None:
        before, control = dict(frame.variables), frame.control
        ends, returns, turns = list[dict[str, Value]](), False, False
        frame.branches += 1
        for branch in branches:
            frame.variables = dict(before)
            frame.control = join([control, deciding])
            self.body(branch, frame)
            ends.append(frame.variables)
            returns |= any(map(may_return, branch))
            turns |= any(map(may_turn, branch))
        frame.branches -= 1
        frame.variables = _joined(ends)
        # After `if secret: return`, what follows happens only if it does not hold.
        frame.control = join([control, deciding]) if turns else control
        if returns:
            frame.leave(join([control, deciding]))

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, every: Value, frame: Frame) -> None:
        before, control = dict(frame.variables), frame.control
        if every.level == Level.LENGTH:
            frame.control = join([control, every])
        frame.branches += 1
        # What the end of a pass computes is there at the start of the next one.
        for _ in range(2):
            start, decided = dict(frame.variables), frame.control
            if isinstance(node, ast.While):
                self._decide(node.test, frame)
            else:
                self.assign(node.target, element_of(every), frame)
            self.body(node.body, frame)
            frame.variables = _joined([before, frame.variables])
            if frame.variables == start and frame.control == decided:
                break
        if isinstance(node, ast.While):
            self._decide(node.test, frame)
        frame.branches -= 1
        if not isinstance(node, ast.While) and not (frame.merging or any(map(may_turn, node.body))):
            self._replace_all(node, frame)
        self.body(node.orelse, frame)
        if may_return(node):
            frame.leave(frame.control)
        frame.control = control

    def _replace_all(self, node: ast.For | ast.AsyncFor, frame: Frame) -> None:
        """Forget what was under the keys of a dict of which a loop replaces every value.

        Such as `for name in counts: counts[name] = me.release(...)`.
        """
        name, key = looped_over(node)
        for statement in node.body:
            if not isinstance(statement, ast.Assign) or not name or not frame.has(name):
                continue
            target = statement.targets[0]
            others = [part for part in node.body if part is not statement]
            used = any(isinstance(part, ast.Name) and part.id == name for part in nodes_in(others))
            if used or ast.dump(target) != ast.dump(item_of(name, key)):
                continue
            value = self.value_of(statement.value, frame)
            holder = frame.holder_of(name)
            held = holder.variables[name]
            if value or held.source is not None or held.instance is not None:
                continue
            kept = CLEAN if held.level < Level.LENGTH else held.whole
            holder.variables[name] = replace(
                kept,
                inner=Level.NOTHING,
                items=(value,) * len(held.items),
                fields=tuple((field, value) for field, _ in held.fields),
                mapped=value if held.mapped is not None else None,
                element=held.element if held.mapped is not None or held.fields else value,
                fixed=held.fixed,
            )

    def _decide(self, test: ast.expr, frame: Frame) -> None:
        deciding = self.test(test, frame)
        if deciding:
            place = replace(
                deciding.whole, source=None, line=test.lineno, file=frame.function.file.name
            )
            frame.control = join([frame.control, place])

    def _attempt(self, node: ast.Try | ast.TryStar, frame: Frame) -> None:
        before, control, evaluated = dict(frame.variables), frame.control, frame.evaluated
        frame.evaluated = CLEAN
        frame.branches += 1
        around, frame.caught = frame.caught, frame.caught | names_caught(node.handlers)
        for statement in node.body:
            self._statement(statement, frame)
            # What follows is reached if this has not ended in an error that is caught here.
            frame.control = join([control, frame.evaluated]) if node.handlers else control
        frame.caught = around
        failing = join([control, frame.evaluated]) if node.handlers else control
        start = _joined([before, frame.variables])
        if node.handlers:
            frame.control = failing
        self.body(node.orelse, frame)
        ends, returns, turns = [frame.variables], False, False
        for handler in node.handlers:
            # Whether there is an error depends on what was converted or looked up.
            frame.variables, frame.control = dict(start), failing
            if handler.name:
                frame.variables[handler.name] = frame.evaluated
            self.body(handler.body, frame)
            ends.append(frame.variables)
            returns |= any(map(may_return, handler.body))
            turns |= any(map(may_turn, handler.body))
        frame.branches -= 1
        frame.variables = _joined(ends)
        frame.control = failing if turns else control
        if returns:
            frame.leave(failing)
        frame.evaluated = join([evaluated, frame.evaluated])
        self.body(node.finalbody, frame)

    def _cases(self, node: ast.Match, frame: Frame) -> None:
        subject = self.value_of(node.subject, frame)
        deciding = subject
        for case in node.cases:
            self.capture(case.pattern, subject, frame)
            deciding = join([deciding, self.test(case.guard, frame)]) if case.guard else deciding
        if deciding and not deciding.name:
            deciding = replace(deciding.whole, source=None)
        self._apart(deciding.whole, [case.body for case in node.cases], frame)


def _joined(ends: Sequence[dict[str, Value]]) -> dict[str, Value]:
    """Join what variables may hold after several ways."""
    variables = dict[str, Value]()
    for name in {name for end in ends for name in end}:
        values = [end[name] for end in ends if name in end]
        same = all(value == values[0] for value in values)
        special = next((value for value in values if _is_special(value)), None)
        variables[name] = values[0] if same else either(values) if special is None else special
    return variables


def _is_special(value: Value) -> bool:
    return bool(value.source or value.function or value.instance or value.verb) and not value
