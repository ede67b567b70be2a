"""What a network describes by itself: hosts have to be there, and sites may not overlap."""

from __future__ import annotations

import pytest

from sottovoce.messages import UsageError
from sottovoce.network import NETWORKS, Host, Link, Network, Site, check_hosts
from sottovoce.network.described import check_site

SLOW = Host(uplink=Link(latency=1.0))
WAN = NETWORKS["wan"]


def _site(*hosts: str) -> Site:
    name = "+".join(hosts).replace(" ", "-")
    return Site(name=name, hosts=frozenset(hosts), uplink=Link(bandwidth=1e6))


@pytest.mark.parametrize(
    "network",
    [
        WAN.with_host("party 4", SLOW),
        WAN.with_edge("party 4", "curator", Link()),
        WAN.with_edge("curator", "party 4", Link()),
        WAN.with_site(_site("party 1", "party 4")),
    ],
)
def test_a_party_that_is_not_there_is_refused(network: Network) -> None:
    check_hosts(network, parties=4)
    with pytest.raises(UsageError, match=r"expected hosts of party 1 to 3 in network wan, .* 4$"):
        check_hosts(network, parties=3)


def test_roles_that_every_run_has_are_there() -> None:
    network = WAN.with_host("curator", SLOW).with_host("parties", SLOW)
    check_hosts(network.with_edge("parties", "parties", Link()), parties=1)


@pytest.mark.parametrize(
    ("site", "others"),
    [
        (_site("party 1"), [_site("party 1", "party 2")]),
        (_site("party 1", "party 2"), [_site("party 2")]),
        (_site("party 1", "party 2"), [_site("parties")]),
        (_site("curator"), [_site("parties")]),
        (_site("curator", "party 3"), [_site("party 1", "party 2")]),
    ],
)
def test_sites_may_be_apart_or_within_one_another(site: Site, others: list[Site]) -> None:
    check_site(site, others=others)


@pytest.mark.parametrize(
    ("site", "other"),
    [
        (_site("party 1", "party 2"), _site("party 2", "party 3")),
        (_site("curator", "party 2"), _site("parties")),
    ],
)
def test_a_host_in_two_sites_is_refused(site: Site, other: Site) -> None:
    for first, second in ((site, other), (other, site)):
        with pytest.raises(UsageError, match=r"found part.* in sites\.\S+ and in sites\.\S+$"):
            check_site(first, others=[second])
