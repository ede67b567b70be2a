"""What makes it private: mechanisms, the domain they are defined on, and the accountant."""

from .accountant import Accountant, Mechanism, Neighbours, Release, epsilon_by_view
from .binary import Binary
from .domain import Domain, read_marginal_table
from .laplace import DiscreteLaplace, laplace
from .shares import Batch, SelectedNoise, SharedLaplace

__all__ = [
    "Accountant",
    "Batch",
    "Binary",
    "DiscreteLaplace",
    "Domain",
    "Mechanism",
    "Neighbours",
    "Release",
    "SelectedNoise",
    "SharedLaplace",
    "epsilon_by_view",
    "laplace",
    "read_marginal_table",
]
