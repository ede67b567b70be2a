"""The call of an author's code in which an error arose: what the function takes, and where it is.

A protocol calls functions of sottovoce. If arguments are missing, Python's error names neither what
the function takes nor the line of the call. If arguments are of the wrong type, the error arises
somewhere within the function. Either can be read off the traceback.
"""

from __future__ import annotations

import inspect
import numbers
import re
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final, TypeAlias, Union, get_args, get_origin, get_type_hints

from ..messages.message import is_message

__all__ = ["AuthorsCall", "call_of", "class_name", "line_of"]

PACKAGE: Final = __name__.partition(".")[0]
LIBRARIES: Final = sys.stdlib_module_names | {
    *("mpi4py", "msgspec", "networkx", "numpy", "pandas", "pyarrow", "scipy", "sklearn")
}
"""Modules whose frames are neither an author's nor ours."""
WRONG_CALL: Final = re.compile(r"^([\w.]+)\(\) (missing|takes|got) ")
"""How Python begins the text of an error about the arguments of a call."""
UNKNOWN_NAME: Final = re.compile(r"an unexpected keyword argument .*")
NAMES: Final = re.compile(r"'(\w+)'")
SEVERAL: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
Place: TypeAlias = tuple[FrameType, int]
"""A frame of a traceback, and the number of its line."""


@dataclass(frozen=True, slots=True)
class AuthorsCall:
    """A call of a function of sottovoce by code that is not."""

    takes: str
    """The function with its arguments and their types."""
    file: str
    line: int
    wrong: str = ""
    """What is wrong with the arguments; empty if their number, names and types are right."""
    public: str = ""
    """The same without names that the author's code has chosen."""

    @property
    def place(self) -> str:
        """Name the line of the author's code."""
        return f"{self.file}, line {self.line}"


def call_of(error: BaseException) -> AuthorsCall | None:
    """Find the author's call that ended in an error; `None` where it is the author's code alone."""
    places = [*_places(error.__traceback__)]
    if not places:
        return None
    frame, line = places[-1]
    if not _is_ours(frame):
        match = WRONG_CALL.match(str(error)) if isinstance(error, TypeError) else None
        function = None if match is None else _named(match.group(1), frame)
        if match is None or function is None or not _may_lack(function, str(error)):
            return None
        wrong = _wrong_call(str(error)[match.end(1) + 3 :])
        public = UNKNOWN_NAME.sub("an argument that it does not take", wrong)
        return _described(function, frame, line, wrong=wrong, public=public)
    for (frame, line), (callee, _) in reversed([*pairwise(places)]):
        if not _is_ours(frame) and _is_ours(callee):
            function = _function_of(callee)
            if function is None:
                return None
            wrong = _mismatch(function, callee)
            return _described(function, frame, line, wrong=wrong, public=wrong)
    return None


def line_of(error: BaseException) -> str:
    """Name the line of an author's code that called what ended in an error; empty without one."""
    calls = pairwise(_places(error.__traceback__))
    places = [place for place, (callee, _) in calls if not _is_ours(place[0]) and _is_ours(callee)]
    return f"{_file(places[-1][0])}, line {places[-1][1]}" if places else ""


def _places(position: TracebackType | None) -> Iterator[Place]:
    """List the frames of sottovoce and of authors. Libraries check arguments for both."""
    while position is not None:
        frame = position.tb_frame
        # A dataclass makes its functions of a text, in the module of the class.
        is_made = frame.f_code.co_filename == "<string>"
        if not is_made and _module(frame).partition(".")[0] not in LIBRARIES:
            yield position.tb_frame, position.tb_lineno
        position = position.tb_next


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _is_ours(frame: FrameType) -> bool:
    return _module(frame).partition(".")[0] == PACKAGE


def _named(name: str, caller: FrameType) -> Callable[..., object] | None:
    """Find the function of sottovoce, or the author's kind of message, of a qualified name."""
    for module in [*sys.modules]:
        if module.partition(".")[0] == PACKAGE:
            function = _within(module, name)
            if function is not None and ("." in name or _has(caller, function)):
                return function
    kind: object = sys.modules.get(_module(caller))
    for part in name.removesuffix(".__init__").split("."):
        kind = getattr(kind, part, None)
    function = vars(kind)["__init__"] if is_message(kind) else None
    return function if callable(function) else None


def _has(caller: FrameType, function: Callable[..., object]) -> bool:
    """Tell whether code has a function by its name: other libraries have a `median`, too."""
    values = [*caller.f_globals.values(), *caller.f_locals.values()]
    modules = [value for value in values if isinstance(value, types.ModuleType)]
    values += [getattr(module, function.__name__, None) for module in modules]
    return any(value is function for value in values)


def _may_lack(function: Callable[..., object], text: str) -> bool:
    """Tell whether the arguments that are missing are the function's, and not another one's."""
    names = NAMES.findall(text) if " missing " in text else []
    return {*names} <= inspect.signature(function).parameters.keys()


def _wrong_call(text: str) -> str:
    """Say what is wrong with a call in which Python has found wrong arguments.

    >>> _wrong_call("missing 1 required positional argument: 'batch'")
    "a call without 'batch'"
    >>> _wrong_call("got an unexpected keyword argument 'row'")
    "a call with an unexpected keyword argument 'row'"
    >>> _wrong_call("takes 2 positional arguments but 3 were given")
    'a call with too many arguments without a name'
    """
    if text.startswith("missing "):
        return f"a call without {text.partition(': ')[2]}"
    if text.startswith("takes "):
        return "a call with too many arguments without a name"
    return f"a call with {text.removeprefix('got ')}"


def _within(module: str, name: str) -> Callable[..., object] | None:
    """Find a function by its qualified name in the module that defines it."""
    place: Any = sys.modules.get(module)
    for part in name.split("."):
        place = getattr(place, part, None)
    if not callable(place) or getattr(place, "__module__", None) != module:
        return None
    function: Callable[..., object] = inspect.unwrap(place)
    return function


def _function_of(frame: FrameType) -> Callable[..., object] | None:
    """Find the function that a frame plays; of a dataclass it is the class."""
    function = _within(_module(frame), frame.f_code.co_qualname)
    subject = frame.f_locals.get("self")
    if function is None and frame.f_code.co_name in ("__init__", "__post_init__"):
        return None if subject is None else type(subject).__init__
    return function


def _described(
    function: Callable[..., object], frame: FrameType, line: int, *, wrong: str, public: str
) -> AuthorsCall:
    *_, kind, name = ("", *function.__qualname__.split("."))
    takes = f"{kind if name == '__init__' else name}({', '.join(_arguments(function))})"
    return AuthorsCall(takes, file=_file(frame), line=line, wrong=wrong, public=public)


def _file(frame: FrameType) -> str:
    """Name the file of a frame's module: code that was made while a part ran may name any."""
    return Path(getattr(sys.modules.get(_module(frame)), "__file__", None) or "the code").name


def _arguments(function: Callable[..., object]) -> Iterator[str]:
    """Write the arguments of a function, those that may be left out without their types."""
    is_by_name = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not is_by_name:
            is_by_name = True
            yield "*"
        if parameter.kind in SEVERAL:
            yield str(parameter).partition(":")[0]
        elif parameter.default is not parameter.empty:
            yield f"{parameter.name}=..."
        else:
            kind = parameter.annotation
            yield parameter.name if kind is parameter.empty else f"{parameter.name}: {_text(kind)}"


def _text(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _mismatch(function: Callable[..., object], frame: FrameType) -> str:
    """Name the first argument whose type is another than the function takes."""
    try:
        kinds = get_type_hints(function)
    except (NameError, TypeError):  # types that only a type checker imports
        return ""
    for parameter in inspect.signature(function).parameters.values():
        name = parameter.name
        if name not in kinds or name not in frame.f_locals or parameter.kind in SEVERAL:
            continue
        value = frame.f_locals[name]
        if not _fits(value, kinds[name]):
            kind = _text(parameter.annotation)
            return f"{_kind_of(value)} for {name}, which is of type {kind}"
    return ""


def _fits(value: object, annotation: object) -> bool:
    """Tell whether a value may be of a type, as far as its class says."""
    if isinstance(annotation, types.UnionType) or get_origin(annotation) is Union:
        return any(_fits(value, kind) for kind in get_args(annotation))
    kind = get_origin(annotation) or annotation
    if kind in (int, float) and isinstance(value, numbers.Number):
        return True  # numpy's numbers among them
    try:
        return not isinstance(kind, type) or isinstance(value, kind)
    except TypeError:  # a protocol, whose instances Python cannot recognize
        return True


def _kind_of(value: object) -> str:
    return f"the class {class_name(value)}" if isinstance(value, type) else class_name(type(value))


def class_name(kind: type) -> str:
    """Name a class, or the nearest base class that its module has under its name.

    A class that was made while a part ran may have data in its name.
    """
    return next(base.__name__ for base in kind.__mro__ if _is_in_its_module(base))


def _is_in_its_module(kind: type) -> bool:
    place: object = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        place = getattr(place, name, None)
    return place is kind
