"""A job: what is to be run. It is public, the same for every role, and travels as JSON.

`Job` is the one list of a run's options. The command line, configuration files and `sottovoce.run`
take their names, types, bounds and defaults from it; `settings` reads what a person gave.
"""

from __future__ import annotations

import difflib
import importlib.util
import math
from typing import Annotated, Any, Final, Literal

import msgspec

from ..crypto.key_sizes import DEFAULT_KEY_BITS, MIN_KEY_BITS
from ..messages import SottovoceError, UsageError
from ..messages.role import DEFAULT_TIMEOUT
from ..parties import ColumnChoice, CsvForm, Schema, SchemaPlan, read_split
from ..protocols import AnyProtocol, find
from ..protocols.protocol import Mode, Options
from .choices import choices_of
from .faults import read_faults

__all__ = [
    "DEFAULT_SCHEMA_SHARE",
    "Computation",
    "Job",
    "OnLoss",
    "Placement",
    "Transport",
    "instantiate",
    "is_built_in",
    "is_own_module",
]

DEFAULT_SCHEMA_SHARE: Final = 0.1
Transport = Literal["threads", "mpi", "virtual"]
Computation = Literal["measured", "calibrated"]
"""Where the seconds of computation on a virtual network come from."""
OnLoss = Literal["stop", "continue"]


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be run. Every field but `protocol` and `parameters` is an option of a run."""

    protocol: str
    parameters: dict[str, Any] = {}
    """The protocol's own; its class `Parameters` has their types."""
    data: Annotated[
        tuple[str, ...],
        msgspec.Meta(description="a table to split among the parties, or one for each; or demo"),
    ] = ("demo",)
    parties: Annotated[
        int, msgspec.Meta(ge=1, le=65_535, description="number of parties (default 3)")
    ] = 3
    seed: Annotated[
        Annotated[int, msgspec.Meta(ge=0)] | None,
        msgspec.Meta(description="reproducible to the byte, and not private"),
    ] = None
    """Also decides, publicly, which rows of a shared table belong to which party."""
    mode: Annotated[
        Mode, msgspec.Meta(description="rigorous (default), or paper: as the paper prints it")
    ] = "rigorous"
    schema: Annotated[
        Schema | None,
        msgspec.Meta(
            description="JSON: categories and bins, or private (default: inferred from the data)"
        ),
    ] = None
    """Public. Without it the parties infer one, if the protocol needs a schema."""
    schema_plan: SchemaPlan | None = None
    """What of the schema is learnt privately, instead of `schema`."""
    schema_share: Annotated[
        float,
        msgspec.Meta(
            gt=0, lt=1, description="part of the budget for a private schema (default 0.1)"
        ),
    ] = DEFAULT_SCHEMA_SHARE
    identities: Annotated[
        str | None, msgspec.Meta(description="folder of `sottovoce identity`")
    ] = None
    """Each role's own key and everybody's public ones. Without it they are made for the run."""
    key_bits: Annotated[
        int,
        msgspec.Meta(ge=64, description=f"bits of the Paillier key (default {DEFAULT_KEY_BITS})"),
    ] = DEFAULT_KEY_BITS
    insecure_test_keys: Annotated[
        bool, msgspec.Meta(description=f"allow keys below {MIN_KEY_BITS} bits")
    ] = False
    rows: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None,
        msgspec.Meta(description="take only so many rows"),
    ] = None
    drop: Annotated[
        tuple[str, ...], msgspec.Meta(description="columns to leave out: name address")
    ] = ()
    columns: Annotated[
        tuple[str, ...], msgspec.Meta(description="columns to take, and no others: age,sex,income")
    ] = ()
    """With a schema, it has these attributes alone."""
    split: Annotated[
        str,
        msgspec.Meta(
            description="of one table: even, sizes:3,1,1, by:ATTRIBUTE,...@STRENGTH or labels:..."
        ),
    ] = "even"
    separator: Annotated[
        str,
        msgspec.Meta(description="between columns of CSV files: , (default), ';', tab, bar, space"),
    ] = ","
    encoding: Annotated[
        str, msgspec.Meta(description="of CSV files: utf-8 (default), latin-1, cp1252, utf-16")
    ] = "utf-8"
    labels: Annotated[
        bool,
        msgspec.Meta(description="publish bins by their labels, not values drawn within them"),
    ] = False
    midpoints: Annotated[
        bool,
        msgspec.Meta(description="publish the middle of a bin, not a value drawn within it"),
    ] = False
    parquet: Annotated[
        bool,
        msgspec.Meta(description="write synthetic.parquet, too, which keeps the types of columns"),
    ] = False
    fault: Annotated[
        tuple[str, ...],
        msgspec.Meta(
            description="for experiments: 'party 2 dies in PHASE' 'a tenth of parties lie'"
        ),
    ] = ()
    """What goes wrong on purpose (`runs.faults`)."""
    on_loss: Annotated[
        OnLoss,
        msgspec.Meta(
            description="when a party's process is lost: stop (default), or continue without it"
        ),
    ] = "stop"
    min_parties: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None,
        msgspec.Meta(
            description="with --on-loss continue: fewest parties to go on with (default: over half)"
        ),
    ] = None
    timeout: Annotated[
        float, msgspec.Meta(gt=0, description="seconds that any wait may last (default 3600)")
    ] = DEFAULT_TIMEOUT
    transcript: Annotated[bool, msgspec.Meta(description="digest every message, edge by edge")] = (
        False
    )

    def __post_init__(self) -> None:
        tables = len(self.data)
        if tables not in (1, self.parties):
            raise UsageError(
                f"expected one --data to split, or one for each of {self.parties} parties, "
                f"found {tables}"
            )
        if self.min_parties is not None and self.on_loss != "continue":
            raise UsageError(
                f"expected --min-parties beside --on-loss continue, found --on-loss {self.on_loss}"
            )
        if self.drop and self.columns:
            raise UsageError("expected --drop or --columns, found both")
        _ = self.form
        if self.labels and self.midpoints:
            raise UsageError("expected --labels or --midpoints, found both")
        if self.parquet and importlib.util.find_spec("pyarrow") is None:
            raise UsageError(
                "expected pyarrow for --parquet, found none: pip install 'sottovoce[parquet]'"
            )
        read_split(self.split, parties=self.parties)
        read_faults(self.fault, parties=self.parties, seed=self.public_seed)
        if tables > 1 and self.split != "even":
            raise UsageError(f"expected one --data for --split {self.split}, found {tables}")
        if self.key_bits % 2:
            raise UsageError(f"expected an even number for --key-bits, found {self.key_bits}")
        if self.key_bits < MIN_KEY_BITS and not self.insecure_test_keys:
            raise UsageError(
                f"expected --key-bits of at least {MIN_KEY_BITS}, found {self.key_bits}: "
                "less needs --insecure-test-keys"
            )

    @property
    def fewest_parties(self) -> int | None:
        """Fewest parties with which the run goes on after a loss; `None` where a loss ends it."""
        if self.on_loss != "continue":
            return None
        return self.parties // 2 + 1 if self.min_parties is None else self.min_parties

    @property
    def choice(self) -> ColumnChoice:
        """The columns of the data that are used; a schema has no others already."""
        if self.schema is not None:
            return ColumnChoice()
        if self.schema_plan is not None and self.schema_plan.rest is None:
            return ColumnChoice(columns=tuple(self.schema_plan.attributes))
        return ColumnChoice(columns=self.columns, drop=self.drop)

    @property
    def form(self) -> CsvForm:
        """How CSV files are to be read."""
        return CsvForm.of(separator=self.separator, encoding=self.encoding)

    @property
    def public_seed(self) -> int:
        """Seed of the partition and of the demo table; 0 where none is given."""
        return 0 if self.seed is None else self.seed


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
        bool,
        msgspec.Meta(
            description="each role keeps a log, so that `sottovoce resume` can go on after a loss"
        ),
    ] = False
    """The logs are removed when the run has succeeded."""

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
                f"found {self.transport or 'another one'}"
            )
        if self.computation != "measured" and self.transport != "virtual":
            raise UsageError(
                f"expected --transport virtual beside --computation {self.computation}, "
                f"found {self.transport or 'another one'}"
            )
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

    @property
    def several_hosts(self) -> bool:
        """Whether roles may run on other hosts than this one."""
        return bool(self.hosts or self.hostfile or self.mpi_arg)


def instantiate(job: Job) -> AnyProtocol:
    """Find the protocol and check mode, number of parties and parameters before anything starts."""
    kind = find(job.protocol)
    if job.mode not in kind.modes:
        modes = " or ".join(kind.modes)
        raise UsageError(f"expected --mode {modes} for {kind.name}, found {job.mode}")
    if job.parties < kind.least_parties:
        raise UsageError(
            f"expected at least {kind.least_parties} parties for {kind.name}, found {job.parties}"
        )
    if kind.most_parties is not None and job.parties > kind.most_parties:
        raise UsageError(
            f"expected at most {kind.most_parties} parties for {kind.name}, "
            f"found {job.parties}: --parties {kind.most_parties}"
        )
    parameters = _convert_parameters(kind, job.parameters)
    variant = kind.variant(parameters, mode=job.mode)
    if is_built_in(variant) and not is_built_in(kind):
        raise UsageError(
            f"expected variant() of {kind.__name__} to pick a class of its own, "
            f"found that it picks {variant.__name__}, which does not have what {kind.__name__} "
            "overrides: define variant() in it, too"
        )
    protocol = variant(parameters, mode=job.mode)
    check_plan(job, protocol)
    if job.fewest_parties is not None:
        if job.schema_plan is not None or not is_built_in(variant):
            raise UsageError(
                "expected a protocol that is built in, and a schema that is not learnt, for "
                f"--on-loss continue, found {kind.name}: take --durable, with which a run that has "
                "stopped goes on with all its parties (sottovoce resume)"
            )
        protocol.require_going_on(parties=job.parties, min_parties=job.fewest_parties)
    _ = protocol.colluding  # A threshold that is not declared is an error before anything starts.
    return protocol


def check_plan(job: Job, protocol: AnyProtocol) -> None:
    """Refuse a private schema that the protocol has no use for, or cannot learn."""
    if protocol.learns_schema:
        if job.schema is not None:
            raise UsageError(
                f"expected a schema for {protocol.name} with something to learn, found rules for "
                'all attributes: write "private" for some, or leave out --schema'
            )
        return
    if job.schema_plan is None:
        return
    if not protocol.needs_schema:
        raise UsageError(
            f"expected no --schema private for {protocol.name}, which needs no schema: leave it out"
        )
    from ..protocols.secure_sum import SummingProtocol  # most runs learn no schema

    if not isinstance(protocol, SummingProtocol) or protocol.mode != "rigorous":
        raise UsageError(
            f"expected --schema private with secure sums in mode rigorous, found {protocol.name} "
            f"in mode {protocol.mode}: learn a schema by `sottovoce run private-schema`, and give "
            "it with --schema"
        )


def is_built_in(kind: type) -> bool:
    """Tell whether a class, of a protocol or a mechanism, is one of sottovoce's own."""
    return is_own_module(kind.__module__)


def is_own_module(name: str) -> bool:
    """Tell whether a module of this name is one of sottovoce's own."""
    return name.partition(".")[0] == __name__.partition(".")[0]


def _type_of(parameters: type[Options], name: str) -> Any:
    """Give the type of a parameter."""
    return next(field.type for field in msgspec.structs.fields(parameters) if field.name == name)


def _convert_parameters(kind: type[AnyProtocol], values: dict[str, Any]) -> Any:
    """Convert the protocol's parameters; an error names the parameter."""
    names = kind.Parameters.__struct_fields__
    for name in values:
        if name not in names:
            # In Python, options of the run and parameters are given side by side.
            close = difflib.get_close_matches(name, [*names, *Job.__struct_fields__], n=1)
            hint = f": did you mean {close[0]}?" if close else ""
            raise UsageError(
                f"expected a parameter of {kind.name} ({', '.join(names)}), found {name!r}{hint}"
            )
    for name, value in values.items():
        try:
            msgspec.convert({name: value}, kind.Parameters, strict=False)
        except msgspec.ValidationError as error:
            what = str(error).partition(" - at ")[0]
            words = choices_of(_type_of(kind.Parameters, name))
            if words and "enum value" in what:
                what = f"expected {' or '.join(words)}"
            if "missing required field" not in what:
                raise UsageError(
                    f"{what[0].lower()}{what[1:]} for parameter {name}, found {value!r}"
                ) from None
        except SottovoceError:
            pass  # a rule between parameters, which is checked below, on all of them
    try:
        parameters = msgspec.convert(values, kind.Parameters, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"parameters of {kind.name}: {error}") from None
    for name in parameters.__struct_fields__:
        # Bounds do not exclude NaN and infinity, and no report can say them.
        value = getattr(parameters, name)
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"expected a finite number for parameter {name}, found {value}")
    return parameters
