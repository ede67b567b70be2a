"""Who may not see data, and all that is computed from released statistics alone."""

from .desk import Curator

__all__ = ["Curator"]
