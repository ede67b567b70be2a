"""Networks: which links lie between two roles, each on a host of its own.

A message goes out of its sender's host, perhaps through an uplink that a site's hosts share, across
the network, and into its receiver's host. The hosts' links and the link across are added. Where
messages wait for one another, in uplinks, downlinks and links with a bandwidth of their own, there
is a `Pipe`.

Networks are values: `with_host`, `with_edge`, `with_site`, `with_stack`, `with_speed` and
`with_cores` give changed copies.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from ..messages import CURATOR, role_name
from .link import PERFECT, Link
from .quantities import bandwidth_text, time_text
from .stack import Stack

__all__ = [
    "PARTIES",
    "Host",
    "Network",
    "Path",
    "Pipe",
    "Site",
    "Stretches",
    "host_name",
    "network_text",
]

PARTIES: Final = "parties"
"""Name that stands for all parties that are not described by themselves."""
_SCALE: Final = 1 << 64


def host_name(rank: int) -> str:
    """Name the host of a role, as in files.

    >>> host_name(0), host_name(2)
    ('curator', 'party 2')
    """
    return role_name(rank).removeprefix("the ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The links of one host: all that it sends and all that it receives passes them."""

    uplink: Link = PERFECT
    downlink: Link = PERFECT


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Hosts that share an uplink and a downlink, such as those of one office."""

    name: str
    hosts: frozenset[str]
    uplink: Link = PERFECT
    downlink: Link = PERFECT


@dataclass(frozen=True, slots=True)
class Pipe:
    """A place that messages pass one after another."""

    name: str
    bandwidth: float
    """Bits a second."""


@dataclass(frozen=True, slots=True)
class Path:
    """The way from one role to another."""

    outgoing: tuple[Pipe, ...]
    """Places to pass before the latency."""
    incoming: tuple[Pipe, ...]
    """Places to pass after the latency."""
    link: Link
    """All stretches in series."""


@dataclass(frozen=True, kw_only=True)
class Stretches:
    """The links in series between two roles. They are alike for roles that are described alike."""

    uplink: Link
    leaving: tuple[Site, ...]
    """Sites whose uplink a message passes."""
    across: Link
    entering: tuple[Site, ...]
    """Sites whose downlink a message passes."""
    downlink: Link

    @cached_property
    def link(self) -> Link:
        """All stretches together."""
        leaving = [site.uplink for site in self.leaving]
        entering = [site.downlink for site in self.entering]
        return sum([self.uplink, *leaving, self.across, *entering, self.downlink], PERFECT)

    def path(self, sender: int, receiver: int) -> Path:
        """Give the way from one role to another, with the pipes of their hosts."""
        source, target = host_name(sender), host_name(receiver)
        outgoing = [
            (f"uplink of {source}", self.uplink),
            *((f"uplink of {site.name}", site.uplink) for site in self.leaving),
            (f"{source} -> {target}", self.across),
        ]
        incoming = [
            *((f"downlink of {site.name}", site.downlink) for site in self.entering),
            (f"downlink of {target}", self.downlink),
        ]
        return Path(_narrow(outgoing), _narrow(incoming), self.link)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network between the hosts of all roles."""

    name: str
    between: Link = PERFECT
    """The link across, between any two hosts; its bandwidth is of each pair by itself."""
    host: Host = field(default_factory=Host)
    """The links of hosts that are not described by themselves."""
    hosts: Mapping[str, Host] = field(default_factory=dict)
    edges: Mapping[tuple[str, str], Link] = field(default_factory=dict)
    """Links across by sender and receiver, in place of `between`."""
    sites: tuple[Site, ...] = ()
    stack: Stack = field(default_factory=Stack)
    speed: float = 1.0
    """Factor by which the roles compute faster than here; infinite where they take no time."""
    cores: int | None = None
    """Cores that all roles share, as on one machine; `None` where each has a core of its own."""
    seed: int = 0
    """Seed of jitter and losses."""

    def with_host(self, name: str, host: Host) -> Network:
        """Give a copy with the links of one host, or of all `parties`."""
        return replace(self, hosts={**self.hosts, name: host})

    def with_edge(self, sender: str, receiver: str, link: Link) -> Network:
        """Give a copy with another link across from one host to another."""
        return replace(self, edges={**self.edges, (sender, receiver): link})

    def with_site(self, site: Site) -> Network:
        """Give a copy in which some hosts share an uplink and a downlink."""
        return replace(self, sites=(*self.sites, site))

    def with_stack(self, stack: Stack) -> Network:
        """Give a copy with other settings of MPI and TCP."""
        return replace(self, stack=stack)

    def with_speed(self, speed: float) -> Network:
        """Give a copy on which roles compute so many times as fast."""
        return replace(self, speed=speed)

    def with_cores(self, cores: int | None) -> Network:
        """Give a copy on which all roles share so many cores; `None` for a core each."""
        return replace(self, cores=cores)

    def host_of(self, rank: int) -> Host:
        """Give the links of a role's host."""
        return _of(rank, self.hosts, self.host)

    def path(self, sender: int, receiver: int) -> Path:
        """Give the way of messages from one role to another."""
        return self.stretches(sender, receiver).path(sender, receiver)

    def stretches(self, sender: int, receiver: int) -> Stretches:
        """Give the links in series from one role to another."""
        leaving, entering = self._sites(sender, receiver)
        return Stretches(
            uplink=self.host_of(sender).uplink,
            leaving=leaving,
            across=self._across(sender, receiver),
            entering=entering,
            downlink=self.host_of(receiver).downlink,
        )

    def draws(self, sender: int, receiver: int, number: int) -> tuple[float, float]:
        """Draw the jitter and the loss of a message: two numbers from 0 to 1.

        They depend on the seed, the edge and the number of the message alone, so a change elsewhere
        leaves them.
        """
        key = struct.pack("<qqqq", self.seed, sender, receiver, number)
        digest = hashlib.blake2b(key, digest_size=16).digest()
        jitter, loss = struct.unpack("<QQ", digest)
        return jitter / _SCALE, loss / _SCALE

    def _across(self, sender: int, receiver: int) -> Link:
        names = _names(sender), _names(receiver)
        keys = [(source, target) for source in names[0] for target in names[1]]
        return next((self.edges[key] for key in keys if key in self.edges), self.between)

    def _sites(self, sender: int, receiver: int) -> tuple[tuple[Site, ...], tuple[Site, ...]]:
        """List the sites that a message leaves, and those that it enters."""
        leaving = [site for site in self.sites if _is_in(sender, site.hosts)]
        entering = [site for site in self.sites if _is_in(receiver, site.hosts)]
        return (
            tuple(site for site in leaving if site not in entering),
            tuple(site for site in entering if site not in leaving),
        )


def network_text(network: Network) -> str:
    """Describe a network in a line, by what holds for most hosts.

    >>> network_text(Network(name="clinics", between=Link(latency=0.02, loss=0.001)))
    'clinics (20 ms one way, loss 0.1 %)'
    """
    between, uplink = network.between, network.host.uplink.bandwidth
    downlink = network.host.downlink.bandwidth
    parts = [f"{time_text(between.latency)} one way"]
    if between.jitter:
        parts.append(f"jitter up to {time_text(between.jitter)}")
    if between.loss:
        parts.append(f"loss {100 * between.loss:g} %")
    if uplink == downlink < math.inf:
        parts.append(f"{bandwidth_text(uplink)} for each host")
    elif min(uplink, downlink) < math.inf:
        parts.append(f"{bandwidth_text(uplink)} up and {bandwidth_text(downlink)} down")
    if network.speed != 1:
        parts.append(f"roles compute {network.speed:g} times as fast")
    if network.cores is not None:
        parts.append(f"all roles on {network.cores} core{'' if network.cores == 1 else 's'}")
    special = len(network.hosts) + len(network.edges) + len(network.sites)
    if special:
        parts.append("some hosts or edges otherwise")
    return f"{network.name} ({', '.join(parts)})"


def _of(rank: int, hosts: Mapping[str, Host], default: Host) -> Host:
    return next((hosts[name] for name in _names(rank) if name in hosts), default)


def _is_in(rank: int, hosts: frozenset[str]) -> bool:
    return any(name in hosts for name in _names(rank))


def _names(rank: int) -> tuple[str, ...]:
    """List the names under which a host may be described, the most precise one first."""
    return (host_name(rank),) if rank == CURATOR else (host_name(rank), PARTIES)


def _narrow(stretches: Iterable[tuple[str, Link]]) -> tuple[Pipe, ...]:
    """Give the pipes of some stretches, but for those in which nothing waits."""
    return tuple(
        Pipe(name, link.bandwidth) for name, link in stretches if link.bandwidth < math.inf
    )
