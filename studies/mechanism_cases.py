"""Worst pairs of neighbouring values for every built-in mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from ..crypto import RandomStream, UserWords
from ..evaluation.exact_gaussian import gaussian_epsilon
from ..parties.report_likelihood import report_log_ratio
from ..privacy import Batch, SelectedNoise, SharedNoise, laplace
from ..privacy.conversion import rho_of
from ..privacy.exponential import choose
from ..privacy.likelihood import log_ratio
from ..privacy.local.bloom import BloomFilters
from ..privacy.local.choice import RANDOMIZERS
from ..privacy.local.heads import HeadsResponse
from ..privacy.local.randomizer import Randomizer, report
from ..privacy.loss import NO_LOSS
from ..privacy.noisy_scores import gaussian_scores, laplace_scores
from ..privacy.sparse_vector import sparse_vector, threshold_mechanism
from ..protocols.dist_diff_gen.scores import choose_together
from .audit_noise import Adversary, NoisyTables, selected_figures, shared_figures
from .author_cases import author_cases
from .mechanism_case import DELTA, EPSILON, MechanismCase, pair

__all__ = ["MechanismCase", "mechanism_cases"]

CANDIDATES: Final = 60
"""Candidates of a choice: the more there are, the closer the loss of a rare one is to epsilon."""
QUERIES: Final = 60
FALSE_QUERIES: Final = 120


def mechanism_cases() -> list[MechanismCase]:
    """List all cases."""
    return [
        *_own_noise(),
        *_shared_noise(),
        *_local(),
        *_false_claims(),
        *author_cases(),
    ]


def _own_noise() -> list[MechanismCase]:
    """List mechanisms whose answers everyone sees as they are."""
    one_up = np.eye(1, CANDIDATES)[0]
    falling = np.concatenate([np.zeros(QUERIES - 1), [1.0]])
    scores = [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]
    gaussian = [
        gaussian_scores(s, sensitivity=1.0, rho=rho_of(EPSILON, delta=DELTA)) for s in scores
    ]
    shift = math.sqrt(3) / gaussian[0].scale
    return [
        pair(*(laplace(value, sensitivity=1, epsilon=EPSILON) for value in (5, 6))),
        pair(*(choose(s, sensitivity=1.0, epsilon=EPSILON) for s in (one_up, 1 - one_up))),
        pair(
            choose_together([one_up, one_up * 0], score="max", epsilon=EPSILON),
            choose_together([1 - one_up, one_up * 0], score="max", epsilon=EPSILON),
            name="exponential (pairs of splits)",
        ),
        pair(
            *(
                sparse_vector(q, np.full(QUERIES, 3.0), sensitivity=1.0, epsilon=EPSILON, cutoff=1)
                for q in (falling, 1 - falling)
            ),
            answers=([QUERIES - 1], []),
            max_draws=1_000,
        ),
        pair(*(laplace_scores(s, sensitivity=1.0, epsilon=EPSILON) for s in scores)),
        pair(
            gaussian[0],
            gaussian[1],
            delta=DELTA,
            max_draws=1_000,
            exact_epsilon=gaussian_epsilon(shift, delta=DELTA),
        ),
    ]


def _batch(*, parties: int, colluding: int = 1) -> Batch:
    return Batch(
        cells=2, sensitivity=2, epsilon=EPSILON, rows=20, parties=parties, colluding=colluding
    )


def _tables(
    mechanism: type[SharedNoise | SelectedNoise], pages: Sequence[int], batch: Batch, **names: Any
) -> Any:
    return mechanism(pages=[np.array(pages)], batch=batch, seen={"public": NO_LOSS}, **names)


def _shared_noise() -> list[MechanismCase]:
    """List the views of a sum of three parties, with one that may collude."""
    batch = _batch(parties=3)
    exact = np.array([5, 5]), np.array([6, 4])
    share = _tables(SharedNoise, (0, 0), batch)

    def noise(stream: RandomStream) -> Any:
        return next(iter(share.draw(stream)))

    def draw(party_1: int, stream: RandomStream) -> list[Any]:
        """Draw what is left of party 1's table in the adversary's sum, and the others' noise."""
        return [exact[party_1] + noise(stream), noise(stream), noise(stream)]

    def ratio(answer: list[Any], *, unknown: Sequence[int]) -> float:
        shift = exact[1] - exact[0]
        tables = [
            NoisyTables(batch, exact[0], shift if rank == 1 else 0 * shift, cells, 1)
            for rank, cells in enumerate([answer[0] - exact[0], *answer[1:]], start=1)
        ]
        figures = shared_figures(tables[0], {2: tables[1], 3: tables[2]}, unknown)
        return float(figures.loss or 0.0)

    return [
        MechanismCase(
            name="multi-party-laplace",
            view=view,
            first=partial(draw, 0),
            second=partial(draw, 1),
            ratio=partial(ratio, unknown=unknown),
            # Noise far from 0 is rare. With more than one whole noise it loses most.
            answers=[[exact[0] + [-60, 60], np.zeros(2, np.int64), np.zeros(2, np.int64)]],
        )
        for view, unknown in (("public", (1, 2, 3)), ("other_party", (1, 2)))
    ]


def _local() -> list[MechanismCase]:
    """List the local randomizers, and Bloom filters of two attributes."""
    kinds: Mapping[str, Callable[..., Randomizer]] = {
        **RANDOMIZERS,
        "khr (attributes known)": partial(HeadsResponse, belief=1.0),
    }
    cases = []
    for name, kind in kinds.items():
        randomizer = kind(4, epsilon=EPSILON)
        cases.append(
            MechanismCase(
                name=name,
                view="curator",
                first=partial(_report, randomizer, 0),
                second=partial(_report, randomizer, 1),
                ratio=partial(report_log_ratio, randomizer, first=0, second=1),
                accounted=randomizer.local_epsilon,
            )
        )
    filters = BloomFilters([2, 2], epsilon=EPSILON, key=b"audit", hashes=1)

    def bloom(code: int, stream: RandomStream) -> Any:
        return filters.report(
            [np.array([code]), np.array([code])],
            users=np.array([0]),
            words=UserWords(stream.draw(16)),
        )

    def matches(answer: Any) -> float:
        return filters.ratio * float(
            sum(int(match[0, 0]) - int(match[1, 0]) for match in filters.matches(answer))
        )

    cases.append(
        MechanismCase(
            name="bloom",
            view="curator",
            first=partial(bloom, 0),
            second=partial(bloom, 1),
            ratio=matches,
        )
    )
    return cases


def _report(randomizer: Randomizer, value: int, stream: RandomStream) -> bytes:
    words = UserWords(stream.draw(16))
    return report(randomizer, np.array([value]), users=np.array([0]), words=words).tobytes()


def _false_claims() -> list[MechanismCase]:
    """List the papers' claims that are false: Pathak, noise replacement, JTree, and CLLDP."""
    batch = _batch(parties=2, colluding=0)
    pages = ((5, 5), (6, 4))
    selected = [_tables(SelectedNoise, page, batch) for page in pages]

    def select(party_1: int, stream: RandomStream) -> Any:
        noises = [
            next(iter(mechanism.draw(stream)))[1] for mechanism in (selected[party_1], selected[0])
        ]
        total = np.array(pages[party_1]) + np.array(pages[0]) + noises[stream.below(2)]
        return noises, total

    def selected_ratio(answer: Any) -> float:
        noises, total = answer
        shift = np.array(pages[1]) - np.array(pages[0])
        tables = NoisyTables(batch, np.array(pages[0]), shift, noises[0], 1)
        other = NoisyTables(batch, np.array(pages[0]), shift * 0, noises[1], 1)
        insider = Adversary("other_party", 1, curator=False)
        return float(selected_figures(tables, {2: other}, total, insider).loss or 0.0)

    up_and_down = np.resize([1.0, -1.0], FALSE_QUERIES)
    thresholds = [
        threshold_mechanism(
            queries, np.zeros(FALSE_QUERIES), sensitivity=1.0, epsilon=EPSILON, views=("public",)
        )
        for queries in (up_and_down, -up_and_down)
    ]
    replaced = [laplace(value, sensitivity=1, epsilon=EPSILON) for value in (5, 6)]
    heads = HeadsResponse(12, epsilon=EPSILON, belief=0.25, chosen=1)
    return [
        MechanismCase(
            name="selected-laplace (Pathak)",
            view="other_party",
            mode="paper",
            first=partial(select, 0),
            second=partial(select, 1),
            ratio=selected_ratio,
            accounted=math.inf,
        ),
        MechanismCase(
            name="replaced-laplace (noise replacement)",
            view="curator",
            mode="paper",
            # The curator sees the record's count with the noise of party 1, then with party 2's.
            first=lambda stream: [replaced[0].draw(stream) for _ in range(2)],
            second=lambda stream: [replaced[1].draw(stream) for _ in range(2)],
            ratio=lambda answer: sum(
                log_ratio(replaced[0], replaced[1], value) for value in answer
            ),
            accounted=2 * EPSILON,
        ),
        pair(
            *thresholds,
            name="threshold-mechanism (JTree)",
            max_draws=1_000,
            mode="paper",
            accounted=math.inf,
        ),
        MechanismCase(
            name="khr (CLLDP beside LabelDP)",
            view="curator",
            mode="paper",
            first=partial(_report, heads, 0),
            second=partial(_report, heads, 6),
            ratio=partial(report_log_ratio, heads, first=0, second=6),
            accounted=heads.local_epsilon,
        ),
    ]
