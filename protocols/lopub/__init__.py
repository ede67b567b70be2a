"""LoPub: tables from Bloom filters of all attributes of each user (Ren et al. 2018)."""

from .protocol import LoPub

__all__ = ["LoPub"]
