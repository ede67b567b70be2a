"""Variables of the environment as one play has them: what it sets, nobody else sees.

Parts are played again on threads, and a thread has no environment of its own. So `os.environ` looks
up who asks: a play with variables of its own is given these, and everybody else those of the
process. The object itself stays the same, as modules import it by name. Compiled code and processes
that a play starts see the variables of the process.
"""

from __future__ import annotations

import os
import threading
from contextvars import ContextVar, Token
from typing import Any, Final

__all__ = ["PrivateVariables", "reset_variables", "use_variables"]

_lock: Final = threading.Lock()


class PrivateVariables:
    """Variables of one play, at first those that it is given."""

    def __init__(self, variables: dict[str, str]) -> None:
        self._first = variables, _encoded(variables)
        self.encoded = {**self._first[1]}
        """The variables as `os.environ` keeps them."""

    def values(self) -> dict[str, str]:
        """Give the variables as they are now."""
        first, encoded = self._first
        now = {**self.encoded}
        if now == encoded:
            return {**first}
        return {
            os.environ.decodekey(name): os.environ.decodevalue(value) for name, value in now.items()
        }


_encoded_last: tuple[dict[str, str], dict[Any, Any]] = ({}, {})
"""What was encoded last: a thousand replays of a part begin with the same variables."""


def _encoded(variables: dict[str, str]) -> dict[Any, Any]:
    global _encoded_last  # noqa: PLW0603 - it follows from the variables alone
    last, encoded = _encoded_last
    if last != variables:
        encoded = {
            os.environ.encodekey(name): os.environ.encodevalue(value)
            for name, value in variables.items()
        }
        _encoded_last = {**variables}, encoded
    return encoded


_variables: ContextVar[PrivateVariables | None] = ContextVar("_variables", default=None)


def use_variables(variables: PrivateVariables) -> Token[PrivateVariables | None]:
    """Let this thread, and those with copies of its context, have these variables."""
    with _lock:
        if type(os.environ) is not _Routed:
            os.environ.__class__ = _Routed  # for good: a play may be left behind on its thread
    return _variables.set(variables)


def reset_variables(token: Token[PrivateVariables | None]) -> None:
    """Let this thread have the variables that it had before."""
    _variables.reset(token)


class _Routed(os._Environ[str]):  # noqa: SLF001 - the environment has no other class
    """The environment of the process, or of the play that asks."""

    @property
    def _data(self) -> dict[Any, Any]:
        private = _variables.get()
        of_process: dict[Any, Any] = self.__dict__["_data"]
        return of_process if private is None else private.encoded

    def __setitem__(self, key: str, value: str) -> None:
        private = _variables.get()
        if private is None:
            super().__setitem__(key, value)
        else:
            private.encoded[self.encodekey(key)] = self.encodevalue(value)

    def __delitem__(self, key: str) -> None:
        private = _variables.get()
        if private is None:
            super().__delitem__(key)
        elif private.encoded.pop(self.encodekey(key), None) is None:
            raise KeyError(key)
