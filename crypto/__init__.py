"""Cryptography: Paillier and packing, sealed channels, secure and reproducible randomness."""

from .ciphertexts import Ciphertexts
from .feistel import Permutation
from .packing import Packing
from .paillier import Encryptor, PrivateKey, new_key
from .public_key import PublicKey
from .randomness import RandomStream, RandomTree
from .sealed import Channel, Keypair
from .user_words import UserWords

__all__ = [
    "Channel",
    "Ciphertexts",
    "Encryptor",
    "Keypair",
    "Packing",
    "Permutation",
    "PrivateKey",
    "PublicKey",
    "RandomStream",
    "RandomTree",
    "UserWords",
    "new_key",
]
