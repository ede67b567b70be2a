"""State that a plug-in keeps in its modules: module globals, attributes of classes, caches.

A role should be its arguments alone. What a part writes into its module outlives it: a later play
on other records can send it unchanged, and with threads other roles can read it without a message.
A rehearsal imports the author's modules anew, as a fresh process has them, and compares the state
before and after its play. Where it changed, parts are played again with modules imported anew.

Which modules these are is in `launch.authors_modules`. The global random generators of Python and
numpy count as state, too, since a seed that a part sets can be read off the next draws.

Objects that other packages made are not looked at. `runs.files_written` is about files, and
`runs.left_behind` about the environment, and about new names in the modules of other packages.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import itertools
import random
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from ..parties import Records
from ..parties.alternatives import alternatives
from ..parties.lacking import Rules
from ..runs.guard import repeat_part
from ..runs.instance import is_own_module
from ..runs.replay import PartTape, Replay, replay_part

__all__ = ["KEEPS", "imported_anew", "replays_anew", "state_of"]

KEEPS: Final = (
    "what it leaves in its module or class, where later plays and other roles can read it, depends "
    "on its records"
)
TABLES: Final = 3
"""Other tables on which a part is played with modules imported anew."""
MAX_DEPTH: Final = 12
PLAIN: Final = (type(None), bool, int, float, complex, str, bytes)
_IMPORTS: Final = threading.RLock()


@contextmanager
def imported_anew(names: Sequence[str]) -> Iterator[None]:
    """Import these modules once more within the block, as if nothing had been played.

    If one of them cannot be imported twice all stay as they are. After the block all are as before.
    """
    packages = {name.partition(".")[0] for name in names}
    with _IMPORTS:
        # With those that the modules made themselves, which an import cannot make.
        earlier = _modules_of(packages)
        try:
            try:
                for name in names:
                    del sys.modules[name]
                for name in names:
                    importlib.import_module(name)
            except (Exception, SystemExit):  # noqa: BLE001 - the author's code may raise any
                sys.modules.update(earlier)
            yield
        finally:
            within = _modules_of(packages)
            for name in within:
                del sys.modules[name]
            sys.modules.update(earlier)
            _import_late(within, earlier)


def _modules_of(packages: AbstractSet[str]) -> dict[str, ModuleType]:
    """Give the imported modules of these packages, and those that they made."""
    return {
        name: module
        for name, module in [*sys.modules.items()]
        if name.partition(".")[0] in packages and not is_own_module(name)
    }


def _import_late(within: Mapping[str, ModuleType], earlier: Mapping[str, ModuleType]) -> None:
    """Import what a role imported for the first time within the block.

    It is bound to the classes of the block, so it is imported again. What cannot be stays as it is:
    a module that registers itself somewhere else, say.
    """
    for name, module in within.items():
        if name not in earlier:
            try:
                importlib.import_module(name)
            except (Exception, SystemExit):  # noqa: BLE001 - the author's code may raise any
                sys.modules[name] = module


def replays_anew(
    tape: PartTape, names: Sequence[str], *, records: Records, longest: float, rules: Rules
) -> list[Replay]:
    """Replay a part with its modules imported anew: on its own records, and on other ones.

    Messages that then differ depend on what was kept. A state that differs is a doubt, if it does
    not differ on the same records: clocks and randomness of the author's own do.
    """
    replays, states = [], []
    for _ in range(2):
        with imported_anew(names):
            replays.append(repeat_part(tape, records=records, seconds=longest))
            states.append(state_of(names))
    steady = {name for name, value in states[0].items() if states[1].get(name) == value}
    varying = {name for state in states for name in state} - steady
    tables = alternatives(
        records,
        rows_are_secret=tape.accountant.neighbours == "add-or-remove-one",
        generator=np.random.default_rng(tape.seed),
        rules=rules,
    )
    for table, has_lacking, _ in itertools.islice(tables, TABLES):
        with imported_anew(names):
            replay = replay_part(tape, records=table, seconds=longest)
            # A part that was ended early has not left all that it would.
            keeps = replay.error is None and any(
                name not in varying and states[0].get(name) != value
                for name, value in state_of(names).items()
            )
        doubts = [*replay.doubts, *[KEEPS][: int(keeps)]]
        replays.append(replace(replay, doubts=doubts, has_lacking=has_lacking))
    return replays


def state_of(names: Sequence[str]) -> dict[str, bytes]:
    """Compute a digest of each global of modules, and of each attribute of their classes.

    The global random generators have digests, too.
    """
    visited: dict[int, object] = {}
    state: dict[str, bytes] = {}
    for name, value in _places(names):
        digest = hashlib.sha256()
        _note(digest, value, frozenset(names), visited, 0)
        state[name] = digest.digest()
    return state


def _places(names: Sequence[str]) -> Iterator[tuple[str, object]]:
    """List where modules can keep something, with what is there."""
    yield "random", random.getstate()
    if "numpy.random" in sys.modules:
        yield "numpy.random", np.random.get_state()  # noqa: NPY002 - the global one
    for name in names:
        module = sys.modules.get(name)
        for key, value in [*vars(module).items()] if module else ():
            if key.startswith("__"):
                continue
            if isinstance(value, type) and value.__module__ in names:
                for attribute, held in _attributes(value).items():
                    yield f"{name}.{key}.{attribute}", held
            else:
                yield f"{name}.{key}", value


def _attributes(value: type | FunctionType) -> dict[str, object]:
    """Give what a class or a function holds, apart from what Python keeps there."""
    return {k: v for k, v in vars(value).items() if not k.startswith(("__", "_abc_"))}


def _note(
    digest: Any, value: object, names: AbstractSet[str], visited: dict[int, object], depth: int
) -> None:
    """Add a value to a digest, with all that it holds of these modules' own.

    `visited` keeps what was met alive, so that no other object has its number.
    """
    digest.update(f"{depth} {type(value).__qualname__} ".encode())
    if isinstance(value, PLAIN):
        digest.update(repr(value).encode())
        return
    if id(value) in visited or depth > MAX_DEPTH:
        return
    visited[id(value)] = value
    if isinstance(value, set | frozenset):
        # In an order that depends on no address.
        for alone in sorted(_digest_alone(element, names, depth) for element in value):
            digest.update(alone)
        return
    try:
        parts = [*_parts(value, names)]
    except Exception:  # noqa: BLE001 - the author's code may raise any: a property, say
        return
    for part in parts:
        _note(digest, part, names, visited, depth + 1)


def _digest_alone(value: object, names: AbstractSet[str], depth: int) -> bytes:
    """Compute the digest of an element of a set."""
    digest = hashlib.sha256()
    _note(digest, value, names, {}, depth + 1)
    return digest.digest()


def _parts(value: object, names: AbstractSet[str]) -> Iterator[object]:
    """List what a value holds, down to plain values."""
    if isinstance(value, dict):
        yield from itertools.chain(*value.items())
    elif isinstance(value, list | tuple | deque):
        yield from value
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        yield from (str(value.dtype), str(value.shape), value.tobytes())
    elif isinstance(value, np.random.Generator):
        yield repr(value.bit_generator.state)
    elif isinstance(value, random.Random):
        yield repr(value.getstate())
    elif isinstance(value, functools._lru_cache_wrapper):  # noqa: SLF001 - it has no public name
        yield value.cache_info().currsize
    elif isinstance(value, ModuleType):
        return
    elif isinstance(value, type | FunctionType):
        yield from _parts_of_code(value, names)
    elif type(value).__module__ in names:
        yield dict(getattr(value, "__dict__", {}))
        slots = itertools.chain(*(vars(kind).get("__slots__", ()) for kind in type(value).__mro__))
        yield [getattr(value, name, None) for name in slots if name != "__dict__"]
    else:
        parts = value.__reduce_ex__(4)  # a lock, say, has none, and no state to keep
        yield [[*part] if isinstance(part, Iterator) else part for part in parts]


def _parts_of_code(value: type | FunctionType, names: AbstractSet[str]) -> Iterator[object]:
    """List what a class or a function of these modules holds."""
    if value.__module__ not in names:
        return
    yield _attributes(value)
    if isinstance(value, FunctionType):
        yield (value.__defaults__, value.__kwdefaults__)
        for cell in value.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # an empty cell
                continue
