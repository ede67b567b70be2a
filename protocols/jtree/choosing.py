"""The dependency graph: which pairs of attributes are joined. Both sides, and what they share.

tree        edges one by one, each the best by `away` less what its table's noise will cost, or none; first edges that join
what was apart, then edges within, between attributes that share a neighbour, while cliques stay small
top         the c pairs of largest R, as c choices by the exponential mechanism (one-shot Gumbel noise is the same law)
svt         pairs whose R is above a threshold, by the sparse vector technique
laplace     all R with Laplace noise; of several parties, the secure sum of n_k R_k (R of the union does not add up)
gauss       all R with Gaussian noise: epsilon but for a chance of delta
threshold   pairs whose I is above its threshold, as printed: no epsilon holds (spec J1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ...curator import correlation_threshold, dependency_graph, triangulate
from ...messages import CURATOR
from ...parties import Party, Records
from ...privacy import Domain, views
from ...privacy.exponential import choose
from ...privacy.noisy_scores import GaussianScores, gaussian_scores
from ...privacy.sensitivity import dependence_sensitivity, mutual_information_sensitivity
from ...privacy.sparse_vector import sparse_vector, threshold_mechanism
from .scores import Pair, Scores, information, r_of, sample_size, sampled_epsilon
from .settings import Choices, Settings

__all__ = [
    "by_sparse_vector",
    "by_threshold",
    "by_top",
    "by_tree",
    "counted_votes",
    "grow",
    "grow_tree",
    "of_gauss",
    "pairs_of",
]


def pairs_of(domain: Domain) -> list[Pair]:
    """List the pairs of attributes that can depend on one another."""
    return list(combinations([name for name in domain.attributes if domain.cells((name,)) > 1], 2))


# A party's side: edges named in order, each choice a release.


def by_tree(
    me: Party, domain: Domain, values: Scores, *, settings: Settings, rows: int
) -> tuple[list[Pair], int]:
    """Choose a tree, and edges within, by these values on one's own records; and say how many
    choices that took.
    """
    pairs, taken = pairs_of(domain), 0

    def chosen(candidates: Sequence[int]) -> int | None:
        nonlocal taken
        taken += 1
        scores = np.append(values[list(candidates)], 0.0)  # the last: none is worth it
        # One record moves 1 / n from a cell to another, whatever it is; margins and penalties are
        # public.
        at = me.release(
            choose(scores, sensitivity=1 / len(me.records), epsilon=settings.of_a_pick), to=CURATOR
        )
        return None if at == len(candidates) else candidates[at]

    return grow_tree(domain, pairs, settings, rows=rows, chosen=chosen), taken


def by_top(me: Party, domain: Domain, *, settings: Settings) -> list[Pair]:
    """Choose the pairs of largest R, in order."""
    pairs = pairs_of(domain)
    scores, found = r_of(me.records, pairs), list[int]()
    for _ in range(min(settings.picks, len(pairs))):
        left = [at for at in range(len(pairs)) if at not in found]
        sensitivity = dependence_sensitivity(max(2, len(me.records)))
        picked = choose(
            scores[left], sensitivity=sensitivity, epsilon=settings.graph / settings.picks
        )
        found.append(left[me.release(picked, to=CURATOR)])
    return [pairs[at] for at in found]


def by_sparse_vector(
    me: Party, domain: Domain, choices: Choices, *, settings: Settings
) -> list[Pair]:
    """Name pairs whose R is above a threshold that is known beforehand, from the smallest table
    on.
    """
    pairs = sorted(pairs_of(domain), key=domain.cells)
    asked = sparse_vector(
        r_of(me.records, pairs),
        np.full(len(pairs), choices.least),
        epsilon=settings.graph,
        cutoff=settings.picks,
        sensitivity=dependence_sensitivity(max(2, len(me.records))),
    )
    return [pairs[at] for at in me.release(asked, to=CURATOR)]


def by_threshold(me: Party, domain: Domain, choices: Choices, *, settings: Settings) -> list[Pair]:
    """Algorithm 1 as printed."""
    pairs, records, epsilon = pairs_of(domain), me.records, settings.graph
    # Theorem 3, as it is used: one attribute of more than two labels is enough for the larger bound
    # (two are: spec J8).
    binary = all(domain.cells((name,)) <= 2 for name in domain.attributes)
    if choices.sample:
        # Lines 2 to 4.
        rate = sample_size(len(records), epsilon=epsilon, binary=binary) / len(records)
        records = _sample(me, records, rate)
        epsilon = sampled_epsilon(epsilon, rate=rate)
    # Lines 5 to 10.
    sensitivity = mutual_information_sensitivity(max(2, len(records)), binary=binary, base=np.e)
    asked = threshold_mechanism(
        information(records, pairs),
        [correlation_threshold(domain, *pair, phi=choices.phi) for pair in pairs],
        sensitivity=sensitivity,
        epsilon=epsilon,
        claimed=settings.graph,
        views=tuple(views(len(me.parties))),
    )
    # LEAK: whether a pair is above its threshold, of all pairs at once, for any epsilon:
    # `log_likelihood` says how much.
    return [pairs[at] for at in me.release(asked, to=CURATOR)]


def of_gauss(me: Party, domain: Domain, choices: Choices, *, settings: Settings) -> GaussianScores:
    """Prepare all R of one's own records for release."""
    sensitivity = dependence_sensitivity(max(2, len(me.records)))
    values = r_of(me.records, pairs_of(domain))
    return gaussian_scores(
        values, sensitivity=sensitivity, epsilon=settings.graph, delta=choices.delta
    )


def _sample(me: Party, records: Records, rate: float) -> Records:
    """Take every row with a chance of its own."""
    drawn = me.randomness("sample").generator().random(len(records))
    return records.take(np.flatnonzero(drawn < rate))


# The curator's side: from what was named, or summed up, to a graph.


def counted_votes(
    domain: Domain, named: Mapping[int, Sequence[Pair]], rows: Mapping[int, int], settings: Settings
) -> Scores:
    """Count what parties have named, each by its share of the rows; what was named first counts
    twice what comes last.
    """
    pairs, whole = pairs_of(domain), sum(rows.values())
    found = dict.fromkeys(pairs, 0.0)
    for party, edges in named.items():
        for rank, edge in enumerate(edges):
            found[edge] += rows[party] / whole * (1 - rank / 2 / (settings.picks + settings.extra))
    return np.array([*found.values()])


def grow(domain: Domain, edges: Sequence[Pair], *, most_cells: float) -> list[Pair]:
    """Add edges in this order, but for those that would make a clique too large. The paper has no
    such bound (spec J11).
    """
    found: list[Pair] = []
    for edge in edges:
        if _largest(domain, [*found, edge]) <= most_cells:
            found.append(edge)
    return found


def grow_tree(
    domain: Domain,
    pairs: Sequence[Pair],
    settings: Settings,
    *,
    rows: int,
    chosen: Callable[[Sequence[int]], int | None],
) -> list[Pair]:
    """Add edges that are chosen one by one among those that may be: first of a tree, then within
    it; `None` ends it.

    An edge that joins two trees may have any table: it is worth its noise, or was not chosen.
    """
    found: list[Pair] = []
    part = {name: name for name in domain.attributes}
    near: dict[str, set[str]] = {name: set() for name in domain.attributes}
    most = settings.most_cells(rows)
    for step in range(settings.picks + settings.extra):
        if step < settings.picks:
            candidates = [at for at, (one, other) in enumerate(pairs) if part[one] != part[other]]
        else:
            candidates = [
                at
                for at, (one, other) in enumerate(pairs)
                if other not in near[one]
                and near[one] & near[other]
                and _largest(domain, [*found, (one, other)]) <= most
            ]
        if not candidates:
            continue
        at = chosen(candidates)
        if at is None:
            break
        one, other = pairs[at]
        found.append((one, other))
        near[one].add(other)
        near[other].add(one)
        joined, into = part[other], part[one]
        part = {name: into if own == joined else own for name, own in part.items()}
    return found


def highest(
    values: npt.NDArray[np.float64], *, above: float
) -> Callable[[Sequence[int]], int | None]:
    """Choose the highest value above a bound: what needs no noise, as the values are released."""

    def chosen(candidates: Sequence[int]) -> int | None:
        best = max(candidates, key=lambda at: (values[at], -at))
        return best if values[best] > above else None

    return chosen


def _largest(domain: Domain, edges: Sequence[Pair]) -> int:
    _, cliques = triangulate(domain, dependency_graph(domain, edges))
    return max(map(domain.cells, cliques))
