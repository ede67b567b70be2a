"""What keeps it secret: secure and reproducible randomness; keys and ciphers follow."""

from .randomness import RandomStream, RandomTree

__all__ = ["RandomStream", "RandomTree"]
