"""The curator: a role without data. It sees what parties release and say, and publishes what it computes from that."""

from __future__ import annotations

from ..crypto import RandomStream, RandomTree
from ..messages import Role, Wire
from ..messages.role import DEFAULT_TIMEOUT

__all__ = ["Curator"]


class Curator(Role):
    """The curator in the conversation. This room cannot import `parties`: no line here can reach a record."""

    def __init__(
        self,
        wire: Wire,
        *,
        protocol: str,
        kinds: tuple[type, ...],
        randomness: RandomTree,
        timeout: float = DEFAULT_TIMEOUT,
        transcript: bool = False,
    ) -> None:
        super().__init__(wire, protocol=protocol, kinds=kinds, timeout=timeout, transcript=transcript)
        self._randomness = randomness

    def randomness(self, purpose: str) -> RandomStream:
        """Find the curator's stream for a purpose within the current phase."""
        return self._randomness.stream(phase=self._phase, purpose=purpose)
