"""MST: a maximum spanning tree of pairs (McKenna, Miklau, Sheldon 2021)."""

from .protocol import MST

__all__ = ["MST"]
