"""What makes it private: mechanisms and the accountant."""

from .accountant import Accountant, Mechanism, Neighbours, Release, epsilon_by_view
from .laplace import DiscreteLaplace, laplace

__all__ = ["Accountant", "DiscreteLaplace", "Mechanism", "Neighbours", "Release", "epsilon_by_view", "laplace"]
