"""JTree: a synthetic table along a junction tree, of one holder or of many (Chen et al. 2015)."""

from .protocol import JTree

__all__ = ["JTree"]
