"""Which option would save a run minutes: a remark before it begins.

`sottovoce plan` compares options by forecasts, which take as long as a small run. A remark here
follows from public figures alone, by two facts that plans have shown:

- A ring passes every secure sum from party to party, so on a network it takes at least the number
  of parties times the latency. The corrected protocols take one round for a sum.
- Encryption takes most of the computation of runs with large tables or many parties. Masks protect
  tables from the same adversaries, and take next to none.
"""

from __future__ import annotations

import math
import os
from typing import Final

from ..network import network_text, read_network, time_text
from ..parties import DEMO
from ..protocols import Public
from ..protocols.secure_sum import SecureSums, SummingProtocol
from .calibration import Calibration
from .instance import instantiate
from .job import Job
from .made_up import with_schema
from .placement import Placement

__all__ = ["cheaper_option"]

MIN_RING_SECONDS: Final = 1.0
"""Seconds of latency for each sum from which on a ring is named."""
MIN_ENCRYPTION_SECONDS: Final = 20.0
"""Seconds of encryption on this host from which on they are named."""
USUAL_ROWS: Final = 50_000
"""Records where nobody says how many: they change the width of counts by bits."""


def cheaper_option(job: Job, placement: Placement, *, calibration: Calibration | None) -> str:
    """Say which option would save a run much time; empty where none is known.

    Args:
        job: the job.
        placement: where it runs.
        calibration: what computation costs on this machine; without it, encryption is not priced.
    """
    protocol = instantiate(job)
    if not isinstance(protocol, SummingProtocol):
        return ""
    if protocol.noise == "selected" and placement.network is not None:
        network = read_network(placement.network)
        seconds = job.parties * network.path(1, 2).link.latency
        if seconds < MIN_RING_SECONDS:
            return ""
        return (
            f"in mode paper every secure sum passes all {job.parties} parties, one after another: "
            f"at least {time_text(seconds)} for each on {network_text(network)}; --mode rigorous "
            "takes one round for a sum"
        )
    if protocol.noise == "shares" and protocol.parameters.aggregator == "paillier":
        return _encryption(job, placement, calibration=calibration)
    return ""


def _encryption(job: Job, placement: Placement, *, calibration: Calibration | None) -> str:
    """Name encryption that takes long, where all roles share this host's cores."""
    if calibration is None or not calibration.paillier or placement.hosts or placement.hostfile:
        return ""
    if job.schema is None and (set(job.data) != {DEMO} or job.schema_plan is not None):
        return ""  # Nobody knows the domain before parties have read their tables.
    with_domain = with_schema(job)
    schema = with_domain.schema
    public = Public(
        parties=job.parties,
        rows=job.rows or USUAL_ROWS,
        key_bits=job.key_bits,
        domain=None if schema is None else schema.domain,
        model=None,
    )
    lines = instantiate(with_domain).predict(public) or []
    kind = SecureSums.Encrypted.__name__
    # What a message has beside them is shorter than one.
    ciphertexts = sum(
        line.messages * (line.payload_bytes // line.messages // (2 * job.key_bits // 8))
        for line in lines
        if line.kind == kind and line.messages
    )
    price = min(calibration.paillier, key=lambda cost: abs(math.log(cost.bits / job.key_bits)))
    # On a virtual network one role computes at a time.
    cores = 1 if placement.transport == "virtual" else len(os.sched_getaffinity(0))
    seconds = ciphertexts * (price.encrypt + price.add) / min(cores, job.parties)
    if seconds < MIN_ENCRYPTION_SECONDS:
        return ""
    return (
        f"parties encrypt at least {ciphertexts:,} numbers, which takes about {time_text(seconds)} "
        "on this machine by its calibration; --set aggregator=masks needs none of it, and covers "
        "the same adversaries (docs/secure-sums.md)"
    )
