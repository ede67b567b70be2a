"""AIM: an adaptive and iterative mechanism for synthetic data (McKenna et al. 2022)."""

from .protocol import AIM

__all__ = ["AIM"]
