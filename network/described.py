"""Mistakes in what a network describes by itself: hosts that are not there, sites that overlap.

They change no figure, or change it in a way that nobody meant, so a forecast would not show them.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from ..messages import CURATOR, UsageError
from .model import PARTIES, Network, Site, host_name

__all__ = ["check_hosts", "check_site"]


def check_hosts(network: Network, *, parties: int) -> None:
    """Refuse a network that describes a party which a run does not have.

    Raises:
        UsageError: it does; the line names the party.
    """
    there = {PARTIES, *(host_name(rank) for rank in range(parties + 1))}
    described = [
        *network.hosts,
        *(host for edge in network.edges for host in edge),
        *(host for site in network.sites for host in sorted(site.hosts)),
    ]
    for host in described:
        if host not in there:
            last = f" to {parties}" if parties > 1 else ""
            raise UsageError(
                f"expected hosts of party 1{last} in network {network.name}, found {host}"
            )


def check_site(site: Site, *, others: Sequence[Site]) -> None:
    """Refuse a site that shares only a part of its hosts with another one.

    A site may stand within a larger one, such as an office in a town: messages pass both uplinks.

    Raises:
        UsageError: it does; the line names both and a host.
    """
    for other in others:
        inside, outside = _within(site.hosts, other.hosts), _within(other.hosts, site.hosts)
        shared = inside | outside
        if shared and inside != site.hosts and outside != other.hosts:
            raise UsageError(
                f"expected each host in a single site, or a site within another, found "
                f"{min(shared)} in sites.{other.name} and in sites.{site.name}"
            )


def _within(hosts: AbstractSet[str], others: AbstractSet[str]) -> AbstractSet[str]:
    """Give those hosts that are among others, by name or as one of all parties."""
    curator = host_name(CURATOR)
    return {host for host in hosts if host in others or (PARTIES in others and host != curator)}
