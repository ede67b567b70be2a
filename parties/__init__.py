"""Who holds data. The only room in which raw records exist."""

from .party import Party
from .records import Records, load, share

__all__ = ["Party", "Records", "load", "share"]
