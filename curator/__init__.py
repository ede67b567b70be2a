"""Who may not see data, and all that is computed from released statistics alone."""

from .bayesian_network import BayesianNetwork
from .desk import Curator
from .estimates import Estimate, agree, combine, consistent
from .information import correlated, dependence, entropy, information_of_all, mutual_information
from .junction_tree import JunctionTree, dependency_graph, junction_tree, triangulate
from .marginal import Marginal
from .sampling import Chain, Step, synthesise

__all__ = [
    "BayesianNetwork",
    "Chain",
    "Curator",
    "Estimate",
    "JunctionTree",
    "Marginal",
    "Step",
    "agree",
    "combine",
    "consistent",
    "correlated",
    "dependence",
    "dependency_graph",
    "entropy",
    "junction_tree",
    "information_of_all",
    "mutual_information",
    "synthesise",
    "triangulate",
]
