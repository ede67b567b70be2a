"""What makes it private: mechanisms, the domain they are defined on, and the accountant."""

from .accountant import (
    Accountant,
    Mechanism,
    Neighbours,
    Release,
    Share,
    coalition,
    epsilon_by_view,
    views,
    with_curator,
)
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
    "Share",
    "SharedLaplace",
    "coalition",
    "epsilon_by_view",
    "laplace",
    "read_marginal_table",
    "views",
    "with_curator",
]
