"""Mechanisms, the domain they are defined on, and the accountant of their privacy loss."""

from .accountant import Accountant, BudgetHolder, Neighbours
from .adversary import Members, coalition, coalition_sizes, members, views, with_curator
from .binary import BinaryEncoding
from .composition import PartPath, PartStep
from .domain import Domain, read_marginal_table
from .laplace import DiscreteLaplace, laplace
from .mechanism import Mechanism, UserCost
from .releases import Release, epsilon_by_view
from .shares import Batch, SelectedNoise, SharedLaplace

__all__ = [
    "Accountant",
    "Batch",
    "BinaryEncoding",
    "BudgetHolder",
    "DiscreteLaplace",
    "Domain",
    "Mechanism",
    "Members",
    "Neighbours",
    "PartPath",
    "PartStep",
    "Release",
    "SelectedNoise",
    "SharedLaplace",
    "UserCost",
    "coalition",
    "coalition_sizes",
    "epsilon_by_view",
    "laplace",
    "members",
    "read_marginal_table",
    "views",
    "with_curator",
]
