"""Right plug-ins that are hard to import twice: no rehearsal may break or blame them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sottovoce.launch.kept_state import imported_anew
from sottovoce.launch.rehearsal import rehearse
from sottovoce.runs.job import Job
from sottovoce.runs.threads import run_on_threads

pytestmark = pytest.mark.usefixtures("first_tables")

PROTOCOL = """
from sottovoce import Curator, Options, Outcome, Party, Protocol, laplace, message


class Right(Protocol[Options]):
    name = "right"
    summary = "the number of people"
    trust = "nobody"
    neighbours = "add-or-remove-one"
    epsilon = 1.0

    @message
    class Count:
        value: int

    def party(self, me: Party) -> None:
        with me.phase("count"):
            touch()
            count = me.release(laplace(len(me.records), sensitivity=1, epsilon=1.0), to=0)
            me.send(self.Count(value=count), to=0)

    def curator(self, desk: Curator) -> Outcome:
        with desk.phase("count"):
            touch()
            counts = [desk.receive(self.Count, source=party).value for party in desk.parties]
        return Outcome(summary={"count": sum(counts)})
"""

ONCE = """
import right_registry

if {name!r} in right_registry.NAMES:
    raise {error}("registered already")
right_registry.NAMES.add({name!r})
"""

PLUGINS = {
    "its own random numbers": """
import numpy as np

GENERATOR = np.random.default_rng()


def touch():
    GENERATOR.random()
""",
    "a clock": """
import time

STARTED, SECONDS = time.time(), []


def touch():
    SECONDS.append(time.perf_counter() - STARTED)
""",
    "a set of functions, and a cache": """
import functools


def work():
    pass


class Plain:
    pass


WORK = {work, Plain()}


@functools.cache
def square(number):
    return number**2


def touch():
    square(3)
""",
    "objects that refuse to be looked at": """
class Shy:
    __slots__ = ("name",)

    def __repr__(self):
        raise RuntimeError

    def __getattr__(self, name):
        raise RuntimeError


class Lazy:
    @property
    def __dict__(self):
        raise RuntimeError


SHY, LAZY, SET = Shy(), Lazy(), {Shy()}


def touch():
    pass
""",
    "a module that it makes": """
import sys
from types import ModuleType

if "right_registry" not in sys.modules:  # at the first import alone
    sys.modules["right_registry"] = ModuleType("right_registry")
    sys.modules[f"{__name__}.made"] = ModuleType("made")


def touch():
    assert f"{__name__}.made" in sys.modules
""",
    "an error at the second import": ONCE.format(name="whole", error="ValueError")
    + "\n\ndef touch():\n    pass\n",
    "an exit at the second import": ONCE.format(name="exit", error="SystemExit")
    + "\n\ndef touch():\n    pass\n",
    "a part that it imports late, and once": """
def touch():
    from . import late
""",
    "relative imports, enumerations and pickles": """
import enum
import pickle


class Colour(enum.Enum):
    RED = 1


def touch():
    from .bound import COLOUR

    assert COLOUR is Colour.RED
    assert pickle.loads(pickle.dumps(COLOUR)) is Colour.RED
""",
    "a thread that it starts": """
import queue
import threading

QUESTIONS, ANSWERS = queue.Queue(), queue.Queue()


def work():
    while True:
        ANSWERS.put(QUESTIONS.get() + 1)


threading.Thread(target=work, daemon=True).start()


def touch():
    QUESTIONS.put(1)
    assert ANSWERS.get(timeout=60) == 2
""",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a new package's folder. The registry that it knows is a module of somebody else."""
    folder = tmp_path / "right_plugin"
    folder.mkdir()
    (tmp_path / "right_registry.py").write_text("NAMES = set()\n")
    (folder / "late.py").write_text(ONCE.format(name="late", error="ValueError"))
    (folder / "bound.py").write_text("from . import Colour\n\nCOLOUR = Colour.RED\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [*sys.modules]:
        if name.partition(".")[0] in {"right_plugin", "right_registry"}:
            del sys.modules[name]


@pytest.mark.parametrize("what", PLUGINS)
def test_a_right_plugin_runs_after_its_rehearsal(package: Path, what: str) -> None:
    (package / "__init__.py").write_text(PLUGINS[what] + PROTOCOL)
    importlib.invalidate_caches()
    job = Job(protocol="right_plugin:Right", rows=600, seed=3)
    rehearsal = rehearse(job)
    assert (rehearsal.failure, rehearsal.unaccounted, rehearsal.remarks) == (None, [], [])
    assert rehearsal.replays
    assert isinstance(run_on_threads(job).outcome.summary["count"], int)


def test_what_is_imported_late_is_imported_again(package: Path) -> None:
    """It would be bound to the classes of the rehearsal."""
    (package / "__init__.py").write_text("class Colour:\n    RED = object()\n")
    importlib.invalidate_caches()
    plugin = importlib.import_module("right_plugin")
    with imported_anew(["right_plugin"]):
        within = importlib.import_module("right_plugin.bound")
        assert within.COLOUR is not plugin.Colour.RED
    after = sys.modules["right_plugin.bound"]
    assert after is not within
    assert after.COLOUR is plugin.Colour.RED


def test_an_interruption_leaves_modules_as_they_were(package: Path) -> None:
    (package / "__init__.py").write_text(ONCE.format(name="key", error="KeyboardInterrupt"))
    importlib.invalidate_caches()
    plugin = importlib.import_module("right_plugin")
    with pytest.raises(KeyboardInterrupt), imported_anew(["right_plugin"]):
        raise AssertionError
    assert sys.modules["right_plugin"] is plugin
