"""Estimates of all pairs of attributes from noisy tables at any level, and plans of tables."""

from .estimate import PairEstimate, estimate_all
from .evidence import Evidence
from .groups import Level, NestedGroups, Pair, PairBatch, batches_of, first_halvings, nested_groups
from .named_pairs import MIN_CELLS, NamedPair, doubtful_pairs, remaining_distances
from .planning import plan_tables
from .prices import Plan
from .singles import NoisySingle, SinglePosterior, shrink_singles

__all__ = [
    "MIN_CELLS",
    "Evidence",
    "Level",
    "NamedPair",
    "NestedGroups",
    "NoisySingle",
    "Pair",
    "PairBatch",
    "PairEstimate",
    "Plan",
    "SinglePosterior",
    "batches_of",
    "doubtful_pairs",
    "estimate_all",
    "first_halvings",
    "nested_groups",
    "plan_tables",
    "remaining_distances",
    "shrink_singles",
]
