"""Outside judges beside ours: dp-accounting (Google), and StatDP (Ding et al. 2018).

They are no requirement: these tests are skipped where they are not installed. docs/audit.md says
how to install them, and what they say.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import sottovoce
from sottovoce import median
from sottovoce.crypto import RandomStream
from sottovoce.evaluation.exact_gaussian import gaussian_epsilon
from sottovoce.privacy import Accountant, laplace
from sottovoce.privacy.conversion import epsilon_of, rho_of
from sottovoce.privacy.gaussian_share_law import periodic_part
from sottovoce.privacy.gaussian_shares import rho_of_sum
from sottovoce.privacy.laplace_shares import excess
from sottovoce.privacy.share_law import log_probabilities

TINY = 1e-12


def test_the_ledger_adds_up_as_dp_accounting_composes() -> None:
    """Pure epsilons add up; at a tiny delta the exact composition needs as much."""
    distributions = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    epsilons = [0.3, 0.2, 0.5]
    accountant = Accountant(party=1, parties=2, budget=1.0, neighbours="replace-one")
    composed = None
    for epsilon in epsilons:
        mechanism = laplace(7, sensitivity=2, epsilon=epsilon)
        accountant.release(mechanism, to=0, phase="p", randomness=RandomStream(b"j" * 32))
        loss = distributions.from_discrete_laplace_mechanism(epsilon / 2, sensitivity=2)
        composed = loss if composed is None else composed.compose(loss)
    assert composed is not None
    theirs = composed.get_epsilon_for_delta(TINY)
    assert accountant.spent == pytest.approx(theirs, abs=2e-3)


@pytest.mark.parametrize("shape", [0.5, 1.0, 1.5, 2.0])
def test_shares_lose_what_dp_accounting_computes_from_their_law(shape: float) -> None:
    distributions = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    epsilon, reach = 0.5, 90
    logs = log_probabilities(shape, Fraction(1, 2), reach + 1)
    both = np.concatenate([logs[reach + 1 : 0 : -1], logs[: reach + 2]])
    both = both - logsumexp(both)
    places = range(-reach - 1, reach + 2)
    first = dict(zip(places, both.tolist(), strict=True))
    second = {place + 1: value for place, value in first.items()}
    shared = sorted({*first} & {*second})
    loss = distributions.from_two_probability_mass_functions(
        {place: first[place] for place in shared}, {place: second[place] for place in shared}
    )
    theirs = loss.get_epsilon_for_delta(1e-9)
    bound = epsilon * excess(rate=epsilon, shape=shape)
    assert theirs <= bound + 1e-3
    assert theirs == pytest.approx(bound, rel=0.1)


@pytest.mark.parametrize("delta", [1e-5, 1e-6])
def test_gaussian_noise_loses_what_dp_accounting_says(delta: float) -> None:
    distributions = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    for epsilon in (0.3, 1.0, 3.0):
        deviation = math.sqrt(1 / (2 * rho_of(epsilon, delta=delta)))
        theirs = distributions.from_gaussian_mechanism(deviation).get_epsilon_for_delta(delta)
        assert gaussian_epsilon(1 / deviation, delta=delta) == pytest.approx(theirs, abs=2e-3)
        assert theirs <= epsilon_of(rho_of(epsilon, delta=delta), delta=delta) + 1e-9


@pytest.mark.parametrize(
    ("variance", "shares", "shift", "excess_factor"),
    [(Fraction(25), 4, 3, 1.06), (Fraction(4), 3, 1, 1.06), (Fraction(1, 4), 2, 1, 1.4)],
)
def test_gaussian_shares_lose_what_dp_accounting_computes_from_their_law(
    variance: Fraction, shares: int, shift: int, excess_factor: float
) -> None:
    """Large shares lose what one discrete Gaussian loses; small ones less than the bound."""
    distributions = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    reach, delta = math.ceil(30 * math.sqrt(variance * shares)), 1e-9
    z = np.arange(-reach, reach + 1)
    part = periodic_part(share_variance=variance, shares=shares)
    logs = part[z % shares] - z**2 / (2 * float(variance * shares))
    first = dict(zip(z.tolist(), (logs - logsumexp(logs)).tolist(), strict=True))
    second = {place + shift: value for place, value in first.items()}
    shared = sorted({*first} & {*second})
    theirs = distributions.from_two_probability_mass_functions(
        {place: first[place] for place in shared}, {place: second[place] for place in shared}
    ).get_epsilon_for_delta(delta)
    rho = rho_of_sum(share_variance=variance, shares=shares, l2_squared=shift**2, cells=1)
    bound = epsilon_of(rho, delta=delta)
    assert theirs <= bound <= theirs * excess_factor
    if variance > 1:
        single = distributions.from_discrete_gaussian_mechanism(
            math.sqrt(variance * shares), sensitivity=shift
        )
        assert theirs == pytest.approx(single.get_epsilon_for_delta(delta), rel=1e-3)


def test_statdp_does_not_refute_a_count_and_refutes_too_little_noise() -> None:
    """StatDP's p-value of the claim, from the event that the answer is at most the exact count.

    An honest mechanism's p-value is below 1e-6 with a probability of that size.
    """
    hypothesis = pytest.importorskip("statdp.hypotest")
    stream, runs = RandomStream(b"s" * 32), 20_000
    counts = [
        sum(laplace(value, sensitivity=1, epsilon=1.0).draw(stream) <= 5 for _ in range(runs))
        for value in (5, 6)
    ]
    np.random.seed(1)  # noqa: NPY002 - StatDP draws from numpy's global generator
    assert hypothesis.test_statistics(counts[0], counts[1], 1.0, runs) > 1e-6
    assert hypothesis.test_statistics(counts[0], counts[1], 0.8, runs) < 1e-6


EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
K_MEANS = Path(__file__).parents[2] / "examples" / "k-means" / "src"


def example(monkeypatch: pytest.MonkeyPatch, name: str, **options: Any) -> dict[str, Any]:
    """Run an example of docs/mechanisms.md, and give what its report says of privacy."""
    for folder in (EXAMPLES, K_MEANS):
        monkeypatch.syspath_prepend(str(folder))
    run = sottovoce.run(
        name, rows=300, parties=3, seed=1, epsilon=0.8, judge=False, no_rehearsal=True, **options
    )
    privacy: dict[str, Any] = run.report["privacy"]
    return privacy


def test_the_report_of_k_means_says_what_dp_accounting_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both convert ten Gaussian releases for one delta; orders differ by a hundredth of it."""
    rdp = pytest.importorskip("dp_accounting.rdp")
    events = pytest.importorskip("dp_accounting.dp_event")
    privacy = example(
        monkeypatch, "k_means:KMeans", aggregator="masks", noise="gaussian", delta=1e-6
    )
    accountant = rdp.RdpAccountant()
    releases = [release for release in privacy["releases"] if release["party"] == 1]
    assert len(releases) == 10  # two in each of five iterations
    for release in releases:
        multiplier = release["scale"] / release["sensitivity"]
        accountant.compose(events.GaussianDpEvent(noise_multiplier=multiplier))
    theirs = accountant.get_epsilon(1e-6)
    assert privacy["epsilon"]["public"] == pytest.approx(theirs, rel=0.01)
    assert privacy["epsilon"]["public"] == pytest.approx(0.8, rel=1e-6)


def test_the_report_of_a_mean_says_what_dp_accounting_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pld = pytest.importorskip("dp_accounting.pld")
    events = pytest.importorskip("dp_accounting.dp_event")
    privacy = example(monkeypatch, "private_mean:PrivateMean", aggregator="masks")
    (release,) = (release for release in privacy["releases"] if release["party"] == 1)
    accountant = pld.PLDAccountant()
    multiplier = release["scale"] / release["sensitivity"]
    accountant.compose(events.LaplaceDpEvent(noise_multiplier=multiplier))
    assert privacy["epsilon"]["public"] == pytest.approx(accountant.get_epsilon(TINY), abs=2e-3)


def test_the_report_of_a_median_says_what_dp_accounting_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The law of the worst pair of the audit needs 0.97 of the epsilon, and not more."""
    distributions = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    privacy = example(monkeypatch, "private_median:PrivateMedian")
    assert privacy["epsilon"]["public"] == 0.8
    laws = []
    for table in ([0, 0, 990, 1000], [0, 990, 1000, 1000]):
        mechanism = median(
            table, bounds=(0, 1000), resolution=1, neighbours="replace-one", epsilon=0.8
        )
        laws.append({point: mechanism.log_likelihood(float(point)) for point in range(1001)})
    loss = distributions.from_two_probability_mass_functions(*laws)
    assert 0.97 * 0.8 < loss.get_epsilon_for_delta(TINY) <= 0.8 + 2e-3
