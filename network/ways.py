"""The ways of a simulation: what messages pass between two roles, found once for roles alike.

A network describes few hosts by themselves. All other parties have the same links, so among
thousands of roles the links in series are those of a handful of pairs.
"""

from __future__ import annotations

from ..messages import CURATOR
from .link import Link
from .model import PARTIES, Network, Path, Stretches, host_name

__all__ = ["Ways"]


class Ways:
    """The ways between all roles of a network."""

    def __init__(self, network: Network) -> None:
        self._network = network
        sites = (site.hosts for site in network.sites)
        self._special = frozenset[str]().union(network.hosts, *network.edges, *sites)
        self._kinds: dict[int, str] = {}
        self._stretches: dict[tuple[str, str], Stretches] = {}

    def path(self, sender: int, receiver: int) -> Path:
        """Give the way of messages from one role to another, as `Network.path` does."""
        return self.stretches(sender, receiver).path(sender, receiver)

    def link(self, sender: int, receiver: int) -> Link:
        """Give all stretches of that way together."""
        return self.stretches(sender, receiver).link

    def stretches(self, sender: int, receiver: int) -> Stretches:
        """Give the links in series of that way, as `Network.stretches` does."""
        kinds = self._kind(sender), self._kind(receiver)
        if kinds not in self._stretches:
            self._stretches[kinds] = self._network.stretches(sender, receiver)
        return self._stretches[kinds]

    def _kind(self, rank: int) -> str:
        """Name what the links of a role depend on: its host, if it is described by itself."""
        if rank not in self._kinds:
            name = host_name(rank)
            is_special = rank == CURATOR or name in self._special
            self._kinds[rank] = name if is_special else PARTIES
        return self._kinds[rank]
