"""Networks from names, short texts and files; every mistake is one line that says where."""

import math
from pathlib import Path

import pytest

from sottovoce.messages import UsageError
from sottovoce.network import NETWORKS, network_text, read_network

FILE = """
from = "wan"
latency = "40 ms"
jitter = "2 ms"
downlink = "100 Mbit/s"
seed = 7
speed = inf
eager = "1 MB"
concurrent_frames = true
congestion_control = "reno"

[hosts.curator]
bandwidth = "1 Gbit/s"
latency = "1 ms"

[hosts.parties]
uplink = "5 Mbit/s"

[edges."party 1 -> curator"]
latency = "120 ms"
loss = "0.1 %"

[sites.office]
hosts = ["party 2", "party 3"]
uplink = "10 Mbit/s"
"""


def test_a_file_says_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "clinics.toml"
    path.write_text(FILE)
    network = read_network(str(path))
    assert network.name == "clinics"
    assert network.seed == 7
    assert network.speed == math.inf
    assert network.stack.eager_bytes == 1_000_000
    assert network.stack.concurrent_frames
    assert network.stack.congestion_control == "reno"
    link = network.path(1, 0).link
    assert link.latency == pytest.approx(0.121)  # the edge's, and the curator's access
    assert link.jitter == pytest.approx(0.002)
    assert link.loss == pytest.approx(0.001)
    assert link.bandwidth == 5e6
    assert network.path(0, 2).link.latency == pytest.approx(0.041)
    # The site has no downlink of its own; that of every host is the narrowest.
    assert network.path(0, 2).link.bandwidth == 1e8
    assert [pipe.name for pipe in network.path(3, 1).outgoing] == [
        "uplink of party 3",
        "uplink of office",
    ]


def test_short_texts() -> None:
    network = read_network("120ms/5Mbit/s")
    assert network.path(1, 2).link.latency == 0.12
    assert network.path(1, 2).link.bandwidth == 5e6
    assert read_network("1 ms/unlimited").path(1, 2).link.bandwidth == math.inf


def test_networks_by_name_are_in_order_of_distance() -> None:
    latencies = [NETWORKS[name].path(1, 0).link.latency for name in ("datacentre", "lan", "wan")]
    assert latencies == sorted(latencies)
    assert NETWORKS["none"].path(1, 0).link.latency == 0


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('latency = "50"', "for latency, such as '50 ms', found '50'"),
        ("latency = 50", "for latency, such as '50 ms', found 50"),
        ('latency = "-1 ms"', "found '-1 ms'"),
        ('latency = "50 Mbit/s"', "(us, ms, s) for latency"),
        ('bandwidth = "0 Mbit/s"', "expected a bandwidth above 0 for bandwidth"),
        ('loss = "60 %"', "expected less than 50 % for loss"),
        ('latnecy = "50 ms"', "unknown key 'latnecy' in the file: did you mean latency?"),
        ('[hosts.curator]\ncolour = "red"', "unknown key 'colour' in hosts.curator: known are"),
        ('[hosts.curator]\nuplink = "9 m"', "for hosts.curator.uplink"),
        ('[hosts."party 0"]', "expected curator, parties or party NUMBER in hosts"),
        ('[edges.curator]\nlatency = "1 s"', 'expected an edge such as "party 1 -> curator"'),
        ('[edges."curator -> curator"]', "expected an edge between two hosts"),
        ('[edges."curator -> dog"]', "in edges, found 'dog'"),
        ('[edges."curator -> parties"]\nloss = "1"', 'for edges."curator -> parties".loss'),
        ("hosts = 3", "expected tables such as [hosts.NAME], found hosts = 3"),
        ("[hosts]\ncurator = 3", "expected a table [hosts.curator], found curator = 3"),
        ('latency = "1e400 ms"', "expected a smaller number for latency, found '1e400 ms'"),
        ("[hosts.curator]", "expected one or more of latency, jitter, loss, bandwidth, uplink"),
        ('[edges."party 1 -> curator"]', 'bandwidth in edges."party 1 -> curator", found none'),
        ('[sites.a]\nhosts = ["party 2"]', "uplink, downlink in sites.a, found none"),
        (
            (
                '[sites.a]\nhosts = ["party 1", "party 2"]\nuplink = "1 Mbit/s"\n'
                '[sites.b]\nhosts = ["party 2", "party 3"]\nuplink = "1 Mbit/s"'
            ),
            "or a site within another, found party 2 in sites.a and in sites.b",
        ),
        ("[sites.a]", "expected a list of hosts for sites.a.hosts, found None"),
        ("[sites.a]\nhosts = [3]", "in sites.a.hosts, found 3"),
        ("seed = -1", "for seed, found -1"),
        ("seed = true", "for seed, found True"),
        ("speed = 0", "expected a number above 0 for speed, found 0"),
        ('speed = "2"', "for speed, found '2'"),
        ('from = "moon"', "expected from = none or"),
        ('eager = "64"', "for eager, such as '64 KiB'"),
        ("concurrent_frames = 3", "expected true or false for concurrent_frames, found 3"),
        ('congestion_control = "cubic"', "expected bbr or reno for congestion_control"),
        ("= 3", "expected TOML in"),
    ],
)
def test_a_mistake_is_one_line(text: str, where: str, tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_network(str(path))
    assert where in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("wann", "did you mean wan?"),
        ("nowhere.toml", "expected a network's TOML file at nowhere.toml, found none"),
        ("50/20", "(bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s)"),
        ("50/20Mbit/s", "(us, ms, s)"),
    ],
)
def test_an_unknown_network_is_refused(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_network(text)
    assert hint in str(caught.value)


def test_the_page_describes_every_network() -> None:
    page = (Path(__file__).parents[2] / "docs" / "costs.md").read_text()
    for name, network in NETWORKS.items():
        (row,) = (line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        for part in network_text(network).partition("(")[2].rstrip(")").split(", "):
            words = part.replace(" one way", "").replace(" for each host", "")
            for quantity in words.removeprefix("0 s").split(" and "):
                assert quantity in row.replace(",", " and"), (name, quantity)
