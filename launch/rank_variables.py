"""Variables by which a process knows that it is a rank, before MPI has started.

Nothing is imported here: the line for an interruption is printed while imports are incomplete.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

__all__ = ["RANK_VARIABLES", "this_rank"]

RANK_VARIABLES: Final = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", ""),
)
"""Variables with rank and size: Open MPI's, MPICH's (Hydra, Slurm's PMI-2), any PMIx server's."""


def this_rank(environment: Mapping[str, str] = os.environ) -> int:
    """Say which rank or task this process is before MPI has started; 0 when nothing tells."""
    for name in (*(rank for rank, _ in RANK_VARIABLES), "SLURM_PROCID"):
        if environment.get(name, "").isdigit():
            return int(environment[name])
    return 0
