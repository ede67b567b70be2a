"""Every mechanism has every field, and the accountant refuses one that lacks any."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any, ClassVar

import numpy as np
import pytest

from sottovoce.crypto import RandomStream
from sottovoce.messages import MisuseError
from sottovoce.parties.clear import ClearReports
from sottovoce.parties.cohort import CohortReports, CohortSums
from sottovoce.parties.filtering import FilterReports
from sottovoce.privacy import (
    Accountant,
    Batch,
    Loss,
    Mechanism,
    SelectedNoise,
    SharedNoise,
    gaussian,
    laplace,
    real_mean,
    real_sum,
)
from sottovoce.privacy.above_threshold import above_threshold
from sottovoce.privacy.conversion import rho_of
from sottovoce.privacy.disclosure import Disclosure
from sottovoce.privacy.exponential import choose
from sottovoce.privacy.gaussian_range import gaussian_of_range
from sottovoce.privacy.histogram import secret_histogram
from sottovoce.privacy.mechanism import MECHANISM_FIELDS, PURE_FIELDS
from sottovoce.privacy.noisy_max import report_noisy_max
from sottovoce.privacy.noisy_scores import gaussian_scores, laplace_scores
from sottovoce.privacy.quantiles import median, quantiles
from sottovoce.privacy.sparse_vector import sparse_vector, threshold_mechanism
from sottovoce.protocols.dist_diff_gen.disclosure import Disclosure as DisclosureToParty
from sottovoce.protocols.dist_diff_gen.scores import choose_together

BATCH = Batch(cells=2, sensitivity=1, epsilon=1.0, rows=9, parties=1, colluding=0)
COUNTS = np.array([3, 4])
SCORES = [0.0, 1.0]

# The annotation lets the type checker compare each class with the protocol.
MECHANISMS: list[Mechanism[object]] = [
    laplace(3, sensitivity=1, epsilon=1.0),
    choose(SCORES, sensitivity=1.0, epsilon=1.0),
    laplace_scores(SCORES, sensitivity=1.0, epsilon=1.0),
    gaussian_scores(SCORES, sensitivity=1.0, rho=rho_of(1.0, delta=1e-6)),
    sparse_vector(SCORES, SCORES, sensitivity=1.0, epsilon=1.0, cutoff=1),
    threshold_mechanism(SCORES, SCORES, sensitivity=1.0, epsilon=1.0, views=("public",)),
    SharedNoise(pages=[COUNTS], batch=BATCH, seen={}),
    SelectedNoise(pages=[COUNTS], batch=BATCH, seen={}),
    Disclosure(COUNTS, sensitivity=2),
    DisclosureToParty(COUNTS, sensitivity=2, epsilon=1.0),
    choose_together([np.array([0.0, 1.0])], score="gain", epsilon=1.0),
    gaussian([3, 4], sensitivity=1, rho=0.5),
    real_sum(SCORES, bound=1, neighbours="replace-one", epsilon=1.0),
    real_mean(SCORES, bound=1, neighbours="add-or-remove-one", rho=0.5),
    median(SCORES, bounds=(0, 1), neighbours="replace-one", epsilon=1.0),
    quantiles(SCORES, [0.2, 0.7], bounds=(0, 1), neighbours="replace-one", epsilon=1.0),
    report_noisy_max(SCORES, sensitivity=1, epsilon=1.0),
    above_threshold(1.0, sensitivity=1, epsilon=1.0).question(2.0),
    secret_histogram(["a"], neighbours="replace-one", epsilon=1.0, delta=1e-9),
]


def surveys(
    reports: CohortReports, sums: CohortSums, filters: FilterReports, clear: ClearReports
) -> list[Mechanism[object]]:
    """Let the type checker compare the mechanisms of users with the protocol; never called."""
    return [reports, sums, filters, clear]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
def test_every_mechanism_has_every_field(mechanism: Mechanism[object]) -> None:
    assert [name for name in MECHANISM_FIELDS if not hasattr(mechanism, name)] == []


@pytest.mark.parametrize("kind", [CohortReports, CohortSums, FilterReports, ClearReports])
def test_mechanisms_of_users_have_every_field(kind: type) -> None:
    assert set(MECHANISM_FIELDS) <= set(dir(kind))


def test_the_fields_are_those_that_the_accountant_records() -> None:
    assert MECHANISM_FIELDS == (
        "name",
        "sensitivity",
        "scale",
        "loss",
        "seen",
        "by_users",
        "whole_record",
        "draw",
    )


class Complete:
    """A mechanism with every field."""

    name = "complete"
    sensitivity = 1.0
    scale = 1.0
    loss = Loss.pure(0.5, delta=1e-6)
    by_users = ()
    whole_record = inf
    seen: ClassVar[Mapping[str, Loss]] = {}

    def draw(self, randomness: RandomStream) -> int:
        return 7


def released(mechanism: Any) -> Accountant:
    accountant = Accountant(party=1, parties=3, budget=1.0, delta=1e-6, neighbours="replace-one")
    accountant.release(mechanism, to=0, phase="p", randomness=RandomStream(b"k" * 32))
    return accountant


def test_the_accountant_records_each_field() -> None:
    (release,) = released(Complete()).releases
    assert (release.mechanism, release.epsilon, release.delta) == ("complete", 0.5, 1e-6)
    assert release.whole_record == inf


@pytest.mark.parametrize("field", MECHANISM_FIELDS)
def test_a_mechanism_without_a_field_is_refused(field: str) -> None:
    """Nothing is recorded and nothing is drawn."""
    draws = []
    fields: dict[str, object] = {
        **{name: getattr(Complete, name) for name in MECHANISM_FIELDS},
        "draw": lambda _, stream: draws.append(stream),
    }
    del fields[field]
    mechanism: Any = type("Partial", (), fields)()
    accountant = Accountant(party=1, parties=3, budget=1.0, neighbours="replace-one")
    with pytest.raises(MisuseError, match=rf"found Partial without {field}: define it"):
        accountant.release(mechanism, to=0, phase="p", randomness=RandomStream(b"k" * 32))
    assert not accountant.releases
    assert not draws


class Pure:
    """A mechanism that states an epsilon and a delta instead of a loss."""

    name = "pure"
    sensitivity = 1.0
    scale = 1.0
    epsilon = 0.5
    delta = 1e-6
    by_users = ()
    whole_record = None
    seen: ClassVar[Mapping[str, float]] = {"curator": 0.25}

    def draw(self, randomness: RandomStream) -> int:
        return 7


def test_a_mechanism_may_state_epsilon_and_delta() -> None:
    (release,) = released(Pure()).releases
    assert release.loss == Loss(0.5, 0.125, 1e-6, 0.5, gaussian_of_range(1.0))
    assert release.seen["curator"] == Loss.pure(0.25)


@pytest.mark.parametrize("field", [name for name in PURE_FIELDS if name != "draw"])
def test_a_pure_mechanism_without_a_field_is_refused(field: str) -> None:
    class Partial(Pure):
        def __getattribute__(self, name: str) -> object:
            if name == field:
                raise AttributeError(name)
            return super().__getattribute__(name)

    with pytest.raises(MisuseError, match=f"found Partial without .*{field}"):
        released(Partial())
