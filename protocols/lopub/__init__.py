"""LoPub: all attributes of each user in Bloom filters, and tables by expectation and maximisation
(Ren et al. 2018).
"""

from .protocol import LoPub

__all__ = ["LoPub"]
