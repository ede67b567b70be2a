"""The curator, who may not see data, and all that is computed from released statistics alone."""

from .bayesian_network import BayesianNetwork
from .desk import Curator
from .estimates import Estimate, agree, combine, make_consistent
from .information import (
    correlation_threshold,
    dependence,
    dependence_of_all,
    entropy,
    information_of_all,
    mutual_information,
)
from .junction_tree import JunctionTree, junction_tree
from .marginal import Marginal
from .sampling import Chain, Step, synthesise
from .triangulation import GrowingGraph, dependency_graph, triangulate

__all__ = [
    "BayesianNetwork",
    "Chain",
    "Curator",
    "Estimate",
    "GrowingGraph",
    "JunctionTree",
    "Marginal",
    "Step",
    "agree",
    "combine",
    "correlation_threshold",
    "dependence",
    "dependence_of_all",
    "dependency_graph",
    "entropy",
    "information_of_all",
    "junction_tree",
    "make_consistent",
    "mutual_information",
    "synthesise",
    "triangulate",
]
