"""JTree: a synthetic table along a junction tree, by one trusted holder or by many parties (Chen et
al. 2015).
"""

from .protocol import JTree

__all__ = ["JTree"]
