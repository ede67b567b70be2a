"""Networks between roles, and the time that a conversation takes on them.

Nothing in here knows of protocols. A network is a value, and a conversation is a list of messages
with computation in between.
"""

from .described import check_hosts
from .link import PERFECT, Link
from .model import Host, Network, Path, Pipe, Site, host_name, network_text
from .moments import Moment, Reason, Stretch, critical_path
from .quantities import time_text
from .reading import NETWORKS, read_network
from .replay import PartStep, parts_of, replay
from .round_timing import time_rounds
from .rounds import Exchange, RoundSeconds, Route, parts_of_rounds
from .simulation import Ended, Frame, Send, Simulation, Wait
from .stack import Stack
from .timing import Timing, share_lines
from .virtual import Costs, VirtualWire, virtual_wires

__all__ = [
    "Link",
    "PERFECT",
    "Host",
    "Site",
    "Network",
    "Path",
    "Pipe",
    "host_name",
    "network_text",
    "time_text",
    "Stack",
    "NETWORKS",
    "check_hosts",
    "read_network",
    "Simulation",
    "Send",
    "Wait",
    "Ended",
    "Frame",
    "Moment",
    "Reason",
    "Stretch",
    "critical_path",
    "Timing",
    "share_lines",
    "PartStep",
    "parts_of",
    "replay",
    "Exchange",
    "RoundSeconds",
    "Route",
    "parts_of_rounds",
    "time_rounds",
    "Costs",
    "VirtualWire",
    "virtual_wires",
]
