"""The placement of a job: where its roles run and at whose cost. It changes no result.

Like `runs.job.Job` it is the one list of its options.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from ..messages import UsageError

__all__ = ["Computation", "Placement", "Transport"]

Transport = Literal["threads", "mpi", "virtual"]
Computation = Literal["measured", "calibrated"]
"""Where the seconds of computation on a virtual network come from."""


class Placement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a job's roles run, in mpiexec's own words, and at whose cost. It changes no result."""

    transport: Annotated[
        Transport | None,
        msgspec.Meta(
            description="mpi: a process for each role; threads: all in this process; "
            "virtual: on a simulated network"
        ),
    ] = None
    """Default: mpi from the command line, threads from Python and in sweeps."""
    network: Annotated[
        str | None,
        msgspec.Meta(
            description="with --transport virtual: lan, datacentre, wan, mobile, LATENCY/BANDWIDTH "
            "or a TOML file"
        ),
    ] = None
    computation: Annotated[
        Computation,
        msgspec.Meta(
            description="with --transport virtual: measured; or calibrated: what "
            "`sottovoce calibrate` says, so that a run repeats itself"
        ),
    ] = "measured"
    hosts: Annotated[str | None, msgspec.Meta(description="hosts for mpiexec: a:2,b:1")] = None
    hostfile: Annotated[str | None, msgspec.Meta(description="host file for mpiexec")] = None
    mpiexec: Annotated[str | None, msgspec.Meta(description="which mpiexec")] = None
    mpi_arg: Annotated[
        tuple[str, ...], msgspec.Meta(description="a word to add to mpiexec's arguments")
    ] = ()
    tell_errors: Annotated[
        bool,
        msgspec.Meta(description="over MPI on one machine: show the whole text of errors"),
    ] = False
    """The text of an error may hold data. Without this it stays in a log on the rank's own host."""
    budget: Annotated[
        str | None,
        msgspec.Meta(description="file of `sottovoce budget`: refuse what would exceed it"),
    ] = None
    """What runs have spent on each dataset is added up in it."""
    no_rehearsal: Annotated[
        bool,
        msgspec.Meta(description="do not try a plug-in on made-up records before the run"),
    ] = False

    durable: Annotated[
        bool | None,
        msgspec.Meta(
            description="each role keeps a log, so that `sottovoce resume` can go on after a loss "
            "(default on real data and on several hosts)"
        ),
    ] = None
    """The logs are removed when the run has succeeded. Default: `runs.default_logs`, from the
    command line; no logs from Python and in sweeps.
    """

    def __post_init__(self) -> None:
        if self.durable and self.transport == "virtual":
            raise UsageError(
                "expected --durable with --transport mpi or threads, found virtual: a simulation "
                "can be repeated"
            )
        if self.transport == "virtual" and self.network is None:
            raise UsageError("expected --network beside --transport virtual, found none: say wan")
        if self.network is not None and self.transport != "virtual":
            raise UsageError(
                f"expected --transport virtual beside --network, "
                f"found {self.transport or 'no --transport'}"
            )
        if self.computation != "measured" and self.transport != "virtual":
            raise UsageError(
                f"expected --transport virtual beside --computation {self.computation}, "
                f"found {self.transport or 'no --transport'}"
            )
        if self.transport is not None:
            self.refuse_idle_options(self.transport)
        if self.tell_errors and (self.hosts or self.hostfile):
            raise UsageError(
                "expected --tell-errors on one machine, found --hosts or --hostfile: errors may "
                "hold data, and each party reads its own in the log on its host"
            )
        if self.budget is not None and (self.hosts or self.hostfile):
            raise UsageError(
                "expected --budget on one machine, found --hosts or --hostfile: the tables "
                "of other hosts cannot be read here; each party keeps the budget of its own"
            )

    def waiting(self) -> Placement:
        """Give this placement for a run that waits for lost roles, which needs logs.

        Raises:
            UsageError: roles cannot be started again here.
        """
        if self.transport == "virtual":
            raise UsageError(
                "expected --on-loss wait with --transport mpi or threads, found virtual: simulated "
                "roles are not lost one by one"
            )
        if self.durable is False:
            raise UsageError(
                "expected --on-loss wait or --no-durable, found both: a role that is started again "
                "needs its log"
            )
        return msgspec.structs.replace(self, durable=True)

    def refuse_idle_options(self, transport: Transport) -> None:
        """Refuse options that a transport would ignore.

        Args:
            transport: the one of this placement, or the default where it names none.

        Raises:
            UsageError: the text names the first of these options.
        """
        if transport != "mpi" and self.mpi_options:
            raise UsageError(
                f"expected --transport mpi beside {self.mpi_options[0]}, found {transport}, which "
                "starts no process for a role"
            )

    def require_hostfile(self) -> None:
        """Refuse a host file that does not exist, before a run begins.

        Raises:
            UsageError: the text names the file.
        """
        if self.hostfile is not None and not Path(self.hostfile).is_file():
            raise UsageError(f"expected a host file, found none at {self.hostfile}")

    @property
    def mpi_options(self) -> list[str]:
        """The options that were given and only mpiexec could follow."""
        options = {
            "--hosts": self.hosts,
            "--hostfile": self.hostfile,
            "--mpiexec": self.mpiexec,
            "--mpi-arg": self.mpi_arg,
        }
        return [name for name, value in options.items() if value]

    @property
    def several_hosts(self) -> bool:
        """Whether roles may run on other hosts than this one."""
        return bool(self.hosts or self.hostfile or self.mpi_arg)
