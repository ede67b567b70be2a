"""CLLDP: protocols that protect a label, and what attributes tell of it."""

from .decision_tree import LabelDecisionTree
from .joint import LabelJoint
from .naive_bayes import LabelNaiveBayes

__all__ = ["LabelDecisionTree", "LabelJoint", "LabelNaiveBayes"]
