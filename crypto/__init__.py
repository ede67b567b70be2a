"""Cryptography: sealed channels, secure and reproducible randomness; Paillier in its own modules.

What every role needs is here. `paillier`, `ciphertexts`, `public_key` and `packing` are imported by
those who encrypt: loading phe takes longer than a small protocol takes to run.
"""

from .feistel import Permutation
from .identified_role import IdentifiedRole
from .randomness import RandomStream, RandomTree, stretched_key
from .sealed import Channel, Keypair
from .user_words import UserWords

__all__ = [
    "Channel",
    "IdentifiedRole",
    "Keypair",
    "Permutation",
    "RandomStream",
    "RandomTree",
    "UserWords",
    "stretched_key",
]
