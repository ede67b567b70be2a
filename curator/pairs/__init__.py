"""Beliefs about all pairs of attributes from noisy tables at any level, and plans of tables."""

from .beliefs import PairBeliefs, believe
from .evidence import Evidence
from .groups import Level, NestedGroups, Pair, PairBatch, batches_of, nested_groups
from .planning import Plan, plan_tables
from .singles import NoisySingle, SingleBelief, believe_singles

__all__ = [
    "Evidence",
    "Level",
    "NestedGroups",
    "NoisySingle",
    "Pair",
    "PairBatch",
    "PairBeliefs",
    "Plan",
    "SingleBelief",
    "batches_of",
    "believe",
    "believe_singles",
    "nested_groups",
    "plan_tables",
]
