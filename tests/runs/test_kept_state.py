"""What a plug-in keeps beside its arguments: in modules, in classes, and in its mechanisms."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from sottovoce.launch.authors_modules import authors_modules
from sottovoce.launch.kept_state import KEEPS, imported_anew, state_of
from sottovoce.launch.rehearsal import rehearse
from sottovoce.report.making import make_report
from sottovoce.runs.failure import RunFailed, describe, public_kind
from sottovoce.runs.job import Job
from sottovoce.runs.threads import run_on_threads

pytestmark = pytest.mark.usefixtures("first_tables")

HOLDER = """
import functools
import random

import numpy as np

NUMBERS = {"one": 1}
GENERATOR = np.random.default_rng(1)
COINS = random.Random(1)


@functools.cache
def square(number):
    return number**2


def append(number, *, to=[]):
    to.append(number)


def closure():
    inner = []
    return inner.append


note = closure()


def remember():
    remember.last = 1


class Holder:
    table = np.zeros(3)

    def __init__(self):
        self.value = 0


HOLDER = Holder()
"""


@pytest.fixture(autouse=True)
def _protocols_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)


@pytest.fixture
def holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    (tmp_path / "held_by_a_module.py").write_text(HOLDER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "held_by_a_module", raising=False)
    return importlib.import_module("held_by_a_module")


def job_of(name: str) -> Job:
    return Job(protocol=f"keeping_protocols:{name}", rows=600, seed=3)


@pytest.mark.parametrize("name", ["KeptInTheClass", "KeptInACache", "SharedWithTheCurator"])
def test_what_depends_on_records_is_not_accounted(name: str) -> None:
    """After a run, too, whose counts are kept: the rehearsal imports the module anew."""
    record = run_on_threads(job_of(name))
    rehearsal = rehearse(job_of(name))
    assert rehearsal.failure is None
    lines = rehearsal.unaccounted
    assert {line.party for line in lines if line.reason == KEEPS} == {1, 2, 3}
    sent = {line.party for line in lines if line.kind == "Figure"}
    assert sent == (set() if name == "SharedWithTheCurator" else {1, 2, 3})
    report = make_report(msgspec.structs.replace(record, rehearsal=rehearsal))
    assert {line.party for line in report.privacy.not_accounted} == {1, 2, 3}


def test_public_figures_may_be_kept() -> None:
    rehearsal = rehearse(job_of("CachesPublicFigures"))
    assert (rehearsal.failure, rehearsal.unaccounted, rehearsal.remarks) == (None, [], [])


@pytest.mark.parametrize("name", ["PredictableNoise", "NoiseInPairs"])
def test_noise_that_is_not_from_the_stream_is_named(name: str) -> None:
    remarks = rehearse(job_of(name)).remarks
    assert any("is not from the stream that" in remark for remark in remarks)


def test_noise_from_the_stream_is_not_named() -> None:
    rehearsal = rehearse(Job(protocol="leaky_protocols:TooLittleNoise", rows=600, seed=3))
    assert not any("is not from the stream that" in remark for remark in rehearsal.remarks)


def test_a_mechanism_whose_code_fails_ends_no_rehearsal() -> None:
    rehearsal = rehearse(job_of("BrokenMechanism"))
    assert rehearsal.failure is None
    remarks = " ".join(rehearsal.remarks)
    assert "ends in LookupError" in remarks
    assert "ends in RuntimeError" in remarks
    assert "found" not in remarks


def test_the_name_of_an_error_holds_no_data() -> None:
    with pytest.raises(RunFailed) as caught:
        run_on_threads(job_of("ErrorNamedByData"))
    assert "MeanAgeIs" in str(caught.value)
    assert "MeanAgeIs" not in caught.value.public
    assert caught.value.public.endswith("LookupError")
    failure = rehearse(job_of("ErrorNamedByData")).failure
    assert failure is not None
    assert failure.partition(": ")[2].startswith("LookupError in keeping_protocols.py, line ")


def test_errors_of_modules_keep_their_names() -> None:
    for error in (KeyError("x"), msgspec.ValidationError("x"), RunFailed("x", status=1)):
        assert public_kind(error) == type(error).__name__

    class Local(KeyError):
        pass

    assert describe(Local("x"), where=None).public == "KeyError"
    assert "Local" in describe(Local("x"), where=None).line


@pytest.mark.parametrize(
    "change",
    [
        lambda module: module.NUMBERS.update(one=2),
        lambda module: module.GENERATOR.random(),
        lambda module: module.COINS.random(),
        lambda module: module.square(3),
        lambda module: module.append(1),
        lambda module: module.note(1),
        lambda module: module.remember(),
        lambda module: module.Holder.table.__setitem__(0, 1.0),
        lambda module: setattr(module.Holder, "name", "new"),
        lambda module: setattr(module.HOLDER, "value", 1),
        lambda module: setattr(module, "NEW", 1),
    ],
)
def test_the_state_of_a_module(holder: ModuleType, change: Callable[[ModuleType], None]) -> None:
    names = authors_modules(holder.Holder)
    assert names == ["held_by_a_module"]
    before = state_of(names)
    assert state_of(names) == before
    change(holder)
    after = state_of(names)
    assert after != before
    with imported_anew(names):
        assert sys.modules["held_by_a_module"] is not holder
        assert state_of(names) == before
    assert sys.modules["held_by_a_module"] is holder
    assert state_of(names) == after


def test_a_module_that_cannot_be_imported_twice_stays(holder: ModuleType) -> None:
    Path(str(holder.__file__)).write_text("raise RuntimeError")
    importlib.invalidate_caches()
    with imported_anew(["held_by_a_module"]):
        assert sys.modules["held_by_a_module"] is holder
    assert sys.modules["held_by_a_module"] is holder
