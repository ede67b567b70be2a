"""Mechanisms, the domain they are defined on, and the accountant of their privacy loss."""

from .accountant import Accountant
from .adversary import Members, coalition, coalition_sizes, members, views, with_curator
from .batch import Batch
from .binary import BinaryEncoding
from .budget import Budget
from .composition import PartPath, PartStep
from .domain import Domain
from .gaussian import GaussianNumbers, gaussian
from .laplace import DiscreteLaplace, laplace
from .loss import Loss
from .marginal_table import read_marginal_table
from .mechanism import Mechanism, UserCost
from .neighbours import BudgetHolder, Neighbours
from .real_values import RealMean, RealSum, real_mean, real_sum
from .releases import Release, losses_by_view
from .shares import SelectedNoise, SharedNoise

__all__ = [
    "Accountant",
    "Batch",
    "BinaryEncoding",
    "Budget",
    "BudgetHolder",
    "DiscreteLaplace",
    "Domain",
    "GaussianNumbers",
    "Loss",
    "Mechanism",
    "Members",
    "Neighbours",
    "PartPath",
    "PartStep",
    "RealMean",
    "RealSum",
    "Release",
    "SelectedNoise",
    "SharedNoise",
    "UserCost",
    "coalition",
    "coalition_sizes",
    "gaussian",
    "laplace",
    "losses_by_view",
    "members",
    "read_marginal_table",
    "real_mean",
    "real_sum",
    "views",
    "with_curator",
]
