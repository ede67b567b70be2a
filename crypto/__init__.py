"""What keeps it secret: Paillier and packing, sealed channels, secure and reproducible randomness."""

from .ciphertexts import Ciphertexts
from .packing import Packing
from .paillier import Encryptor, PrivateKey, PublicKey, new_key
from .randomness import RandomStream, RandomTree
from .sealed import Channel, Keypair

__all__ = [
    "Channel",
    "Ciphertexts",
    "Encryptor",
    "Keypair",
    "Packing",
    "PrivateKey",
    "PublicKey",
    "RandomStream",
    "RandomTree",
    "new_key",
]
