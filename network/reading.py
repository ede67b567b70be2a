"""Networks by name, by a short text, and from TOML files.

A file describes what is the same everywhere at its top, and hosts, edges and sites in tables:

    from = "wan"                       # what the file does not say is as in this network
    latency = "40 ms"                  # one way, between any two hosts
    bandwidth = "20 Mbit/s"            # of every host's uplink and downlink
    seed = 7                           # of jitter and losses
    cores = 2                          # that all roles share, as on one machine

    [hosts.curator]
    bandwidth = "1 Gbit/s"

    [edges."party 1 -> curator"]
    latency = "120 ms"

    [sites.office]
    hosts = ["party 2", "party 3"]
    uplink = "10 Mbit/s"
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, get_args

from ..messages import UsageError
from .described import check_site
from .link import PERFECT, Link
from .model import PARTIES, Host, Network, Site
from .quantities import read_bandwidth, read_bytes, read_seconds, read_share
from .stack import CongestionControl, Stack

__all__ = ["NETWORKS", "parse_network", "read_network"]


def _symmetric(name: str, between: Link, *, uplink: float, downlink: float) -> Network:
    host = Host(uplink=Link(bandwidth=uplink), downlink=Link(bandwidth=downlink))
    return Network(name=name, between=between, host=host)


NETWORKS: Final[Mapping[str, Network]] = {
    network.name: network
    for network in (
        Network(name="none", stack=Stack(polling_seconds=0.0)),
        _symmetric("datacentre", Link(latency=50e-6), uplink=10e9, downlink=10e9),
        _symmetric("lan", Link(latency=250e-6), uplink=1e9, downlink=1e9),
        _symmetric("wan", Link(latency=0.05), uplink=20e6, downlink=20e6),
        _symmetric(
            "mobile", Link(latency=0.03, jitter=0.02, loss=0.002), uplink=10e6, downlink=50e6
        ),
    )
}
"""Networks by name: what they stand for is on the page of costs."""

LINK_KEYS: Final[Mapping[str, Callable[..., float]]] = {
    "latency": read_seconds,
    "jitter": read_seconds,
    "loss": read_share,
    "bandwidth": read_bandwidth,
}
HOST_KEYS: Final = (*LINK_KEYS, "uplink", "downlink")
STACK_KEYS: Final = ("eager", "concurrent_frames", "congestion_control", "polling")
TOP_KEYS: Final = (
    "from",
    "seed",
    "speed",
    "cores",
    *HOST_KEYS,
    *STACK_KEYS,
    "hosts",
    "edges",
    "sites",
)
_HOST: Final = re.compile(r"curator|parties|party [1-9]\d{0,4}")


def read_network(text: str) -> Network:
    """Find a network by its name, by LATENCY/BANDWIDTH, or in a TOML file.

    >>> read_network("50ms/20Mbit/s").host.uplink.bandwidth
    20000000.0

    Raises:
        UsageError: there is none, or the file is wrong; the line names the key.
    """
    if text in NETWORKS:
        return NETWORKS[text]
    if not text.endswith(".toml") and "/" in text and text[:1].isdigit():
        return _short(text)
    path = Path(text)
    if text.endswith(".toml") and not path.is_file():
        raise UsageError(f"expected a network's TOML file at {path}, found none")
    if not path.is_file():
        close = difflib.get_close_matches(text, NETWORKS, n=1)
        hint = f": did you mean {close[0]}?" if close else ""
        raise UsageError(
            f"expected a network ({', '.join(NETWORKS)}, LATENCY/BANDWIDTH such as "
            f"50ms/20Mbit/s, or a TOML file), found {text!r}{hint}"
        )
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"expected a network at {path}, found {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"expected TOML in {path}, found {error}") from None
    try:
        return parse_network(content, name=path.stem)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _short(text: str) -> Network:
    latency, _, bandwidth = text.partition("/")
    rate = read_bandwidth(bandwidth, where="--network LATENCY/BANDWIDTH")
    delay = read_seconds(latency, where="--network LATENCY/BANDWIDTH")
    return _symmetric(text, Link(latency=delay), uplink=rate, downlink=rate)


def parse_network(content: Mapping[str, Any], *, name: str) -> Network:
    """Make a network of what a TOML file holds.

    Raises:
        UsageError: a key or a value is wrong.
    """
    _check_keys(content, TOP_KEYS, where="the file")
    start = content.get("from", "none")
    if start not in NETWORKS:
        raise UsageError(f"expected from = {' or '.join(NETWORKS)}, found {start!r}")
    network = replace(NETWORKS[start], name=name)
    if "from" not in content:
        network = replace(network, stack=Stack())
    seed = content.get("seed", network.seed)
    if type(seed) is not int or not 0 <= seed < 1 << 63:
        raise UsageError(f"expected a whole number from 0 below 2^63 for seed, found {seed!r}")
    speed = content.get("speed", network.speed)
    if type(speed) not in (int, float) or not speed > 0:
        raise UsageError(f"expected a number above 0 for speed, found {speed!r}")
    cores = content.get("cores", network.cores)
    if cores is not None and (type(cores) is not int or not 1 <= cores < 1 << 31):
        raise UsageError(f"expected a whole number from 1 for cores, found {cores!r}")
    across = {key: value for key, value in content.items() if key in ("latency", "jitter", "loss")}
    access = {key: content[key] for key in ("bandwidth", "uplink", "downlink") if key in content}
    network = replace(
        network,
        seed=seed,
        speed=float(speed),
        cores=cores,
        between=_link(across, network.between, where=""),
        host=_host(access, network.host, where=""),
        stack=_stack(content, network.stack),
    )
    for host, table in _tables(content, "hosts"):
        _check_host(host, where="hosts")
        _check_described(table, HOST_KEYS, where=f"hosts.{host}")
        network = network.with_host(host, _host(table, network.host, where=f"hosts.{host}."))
    for edge, table in _tables(content, "edges"):
        sender, receiver = _edge(edge)
        _check_described(table, tuple(LINK_KEYS), where=f'edges."{edge}"')
        link = _link(table, network.between, where=f'edges."{edge}".')
        network = network.with_edge(sender, receiver, link)
    for site, table in _tables(content, "sites"):
        shared = _site(site, table)
        check_site(shared, others=network.sites)
        network = network.with_site(shared)
    return network


def _link(table: Mapping[str, Any], before: Link, *, where: str) -> Link:
    """Change what a table says of a link."""
    values = {key: LINK_KEYS[key](text, where=f"{where}{key}") for key, text in table.items()}
    return replace(before, **values)


def _host(table: Mapping[str, Any], before: Host, *, where: str) -> Host:
    """Change what a table says of a host; a delay is of its uplink and of its downlink."""
    both = {key: value for key, value in table.items() if key in LINK_KEYS}
    links = {}
    for direction, link in (("uplink", before.uplink), ("downlink", before.downlink)):
        changed = _link(both, link, where=where)
        if direction in table:
            bandwidth = read_bandwidth(table[direction], where=f"{where}{direction}")
            changed = replace(changed, bandwidth=bandwidth)
        links[direction] = changed
    return Host(**links)


def _site(name: str, table: Mapping[str, Any]) -> Site:
    where = f"sites.{name}"
    _check_keys(table, ("hosts", *HOST_KEYS), where=where)
    hosts = table.get("hosts")
    if not isinstance(hosts, list) or not hosts:
        raise UsageError(f"expected a list of hosts for {where}.hosts, found {hosts!r}")
    for host in hosts:
        _check_host(host, where=f"{where}.hosts")
    rest = {key: value for key, value in table.items() if key != "hosts"}
    _check_described(rest, HOST_KEYS, where=where)
    links = _host(rest, Host(uplink=PERFECT, downlink=PERFECT), where=f"{where}.")
    return Site(name=name, hosts=frozenset(hosts), uplink=links.uplink, downlink=links.downlink)


def _stack(content: Mapping[str, Any], before: Stack) -> Stack:
    changes: dict[str, Any] = {}
    if "eager" in content:
        changes["eager_bytes"] = read_bytes(content["eager"], where="eager")
    if "polling" in content:
        changes["polling_seconds"] = read_seconds(content["polling"], where="polling")
    if "concurrent_frames" in content:
        changes["concurrent_frames"] = content["concurrent_frames"]
        if not isinstance(changes["concurrent_frames"], bool):
            raise UsageError(
                f"expected true or false for concurrent_frames, "
                f"found {changes['concurrent_frames']!r}"
            )
    if "congestion_control" in content:
        control = changes["congestion_control"] = content["congestion_control"]
        if control not in get_args(CongestionControl):
            choices = " or ".join(get_args(CongestionControl))
            raise UsageError(f"expected {choices} for congestion_control, found {control!r}")
    return replace(before, **changes)


def _tables(content: Mapping[str, Any], key: str) -> list[tuple[str, Mapping[str, Any]]]:
    tables = content.get(key, {})
    if not isinstance(tables, dict):
        raise UsageError(f"expected tables such as [{key}.NAME], found {key} = {tables!r}")
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise UsageError(f"expected a table [{key}.{name}], found {name} = {table!r}")
    return [*tables.items()]


def _edge(text: str) -> tuple[str, str]:
    sender, arrow, receiver = (part.strip() for part in text.partition("->"))
    if not arrow:
        raise UsageError(f'expected an edge such as "party 1 -> curator", found {text!r}')
    for host in (sender, receiver):
        _check_host(host, where="edges")
    if sender == receiver and sender != PARTIES:
        raise UsageError(f"expected an edge between two hosts, found {text!r}")
    return sender, receiver


def _check_host(name: object, *, where: str) -> None:
    if not isinstance(name, str) or not _HOST.fullmatch(name):
        raise UsageError(f"expected curator, parties or party NUMBER in {where}, found {name!r}")


def _check_described(table: Mapping[str, Any], keys: tuple[str, ...], *, where: str) -> None:
    """Refuse wrong keys of a link, and a table that says nothing: it would change nothing."""
    _check_keys(table, keys, where=where)
    if not table:
        raise UsageError(f"expected one or more of {', '.join(keys)} in {where}, found none")


def _check_keys(table: Mapping[str, Any], keys: tuple[str, ...], *, where: str) -> None:
    for key in table:
        if key not in keys:
            close = difflib.get_close_matches(key, keys, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(keys)}"
            raise UsageError(f"unknown key {key!r} in {where}: {hint}")
