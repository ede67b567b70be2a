"""A job: what is to be run. It is public, the same for every role, and travels as JSON.

`Job` is the one list of a run's options. The command line, configuration files and `sottovoce.run`
take their names, types, bounds and defaults from it; `settings` reads what a person gave.
"""

from __future__ import annotations

import importlib.util
from typing import Annotated, Any, Final, Literal

import msgspec

from ..crypto.key_sizes import DEFAULT_KEY_BITS, MIN_KEY_BITS
from ..messages import UsageError
from ..messages.role_state import DEFAULT_TIMEOUT
from ..parties import ColumnChoice, CsvForm, Schema, SchemaPlan, read_split
from ..parties.csv_form import Encoding, Separator
from ..protocols.options import Mode
from .faults import read_faults

__all__ = ["DEFAULT_SCHEMA_SHARE", "Job", "OnLoss"]

DEFAULT_SCHEMA_SHARE: Final = 0.1
OnLoss = Literal["stop", "wait", "continue"]
DEFAULT_MAX_WAIT: Final = 600.0


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
    separator: Separator = ","
    encoding: Encoding = "utf-8"
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
            description="when a role's process is lost: stop (default), wait until it is started "
            "again, or continue without the party"
        ),
    ] = "stop"
    min_parties: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None,
        msgspec.Meta(
            description="with --on-loss continue: fewest parties to go on with (default: over half)"
        ),
    ] = None
    max_wait: Annotated[
        Annotated[float, msgspec.Meta(gt=0)] | None,
        msgspec.Meta(
            description="with --on-loss wait: seconds in which all roles must be back (default 600)"
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
        if tables == 1 and self.rows is not None and self.rows < self.parties:
            raise UsageError(
                f"expected at least one row for each of {self.parties:,} parties, found "
                f"--rows {self.rows:,}"
            )
        if self.min_parties is not None and self.on_loss != "continue":
            raise UsageError(
                f"expected --min-parties beside --on-loss continue, found --on-loss {self.on_loss}"
            )
        if self.max_wait is not None and self.on_loss != "wait":
            raise UsageError(
                f"expected --max-wait beside --on-loss wait, found --on-loss {self.on_loss}"
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
