"""Estimates of all pairs of attributes from noisy tables at any level, and plans of tables."""

from .estimate import PairEstimate, estimate_all
from .evidence import Evidence
from .groups import Level, NestedGroups, Pair, PairBatch, batches_of, first_halvings, nested_groups
from .planning import plan_tables
from .prices import Plan
from .singles import NoisySingle, SinglePosterior, shrink_singles

__all__ = [
    "Evidence",
    "Level",
    "NestedGroups",
    "NoisySingle",
    "Pair",
    "PairBatch",
    "PairEstimate",
    "Plan",
    "SinglePosterior",
    "batches_of",
    "estimate_all",
    "first_halvings",
    "shrink_singles",
    "nested_groups",
    "plan_tables",
]
