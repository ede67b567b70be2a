"""A role that others know by its key pair: what a party and the curator have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from ..messages import Role, Wire
from ..messages.role_state import DEFAULT_TIMEOUT
from .kem import Encapsulated, KemKey, encapsulate
from .key_sizes import DEFAULT_KEY_BITS
from .randomness import RandomStream, RandomTree
from .sealed import Channel, Keypair

__all__ = ["IdentifiedRole"]


class IdentifiedRole(Role):
    """A role with random streams, an identity, and channels to the roles that it was introduced to.

    Args:
        wire: the role's end of the transport.
        protocol: the protocol's name.
        kinds: the message classes that the protocol declares.
        randomness: the role's random streams.
        key_bits: the length of the curator's Paillier key.
        workers: the number of threads that it may use.
        identity: its key pair; by default one is made for the run.
        pinned: the public identities of other roles, where they were given before the run.
        job_digest: the digest of the job that this role was given (`runs.job_digest`).
        hybrid: whether channels also need ML-KEM (`crypto.kem`). All roles must agree on it.
        timeout: seconds that any wait for a message may last.
        transcript: whether to digest all bytes that are sent.
    """

    def __init__(
        self,
        wire: Wire,
        *,
        protocol: str,
        kinds: Iterable[type],
        randomness: RandomTree,
        key_bits: int = DEFAULT_KEY_BITS,
        workers: int = 1,
        identity: Keypair | None = None,
        pinned: Mapping[int, bytes] | None = None,
        job_digest: bytes = b"",
        hybrid: bool = False,
        timeout: float = DEFAULT_TIMEOUT,
        transcript: bool = False,
    ) -> None:
        super().__init__(
            wire, protocol=protocol, kinds=kinds, timeout=timeout, transcript=transcript
        )
        self._randomness = randomness
        self._identity = identity
        self.key_bits = key_bits
        """Length of the curator's Paillier key: the curator makes it, parties check it."""
        self.workers = workers
        """Number of threads that it may use."""
        self.pinned = pinned or {}
        """Public identities of other roles that were given before the run."""
        self.job_digest = job_digest
        """Digest of the job that this role was given. The introductions bind it."""
        self.hybrid = hybrid
        """Whether channels also need ML-KEM."""
        self.encapsulator: Callable[[bytes], Encapsulated] = encapsulate
        """Draws secrets of ML-KEM, whose library takes no stream."""
        self.channels: dict[int, Channel] = {}
        """Sealed channels, after the introductions (`protocols.introductions`)."""

    @cached_property
    def identity(self) -> Keypair:
        """The key pair by which others know this role: given before the run, or made for it."""
        if self._identity is not None:
            return self._identity
        return Keypair.new(self._randomness.stream(phase="", purpose="identity"))

    @cached_property
    def kem_key(self) -> KemKey:
        """The role's key pair of ML-KEM, made for the run."""
        return KemKey(self._randomness.stream(phase="", purpose="kem key"))

    def encapsulate(self, public: bytes) -> Encapsulated:
        """Draw a secret for the owner of a public key of ML-KEM. A replay gives it once more.

        Raises:
            ValueError: these bytes are no public key.
        """
        return self.encapsulator(public)

    def randomness(self, purpose: str) -> RandomStream:
        """Make the random stream for a purpose within the current phase."""
        return self._randomness.stream(phase=self.current_phase, purpose=purpose)
