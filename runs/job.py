"""A job: all that a role must know to take its part. Public; the same for every role; travels as
JSON.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import msgspec

from ..messages import SottovoceError, UsageError
from ..messages.role import DEFAULT_TIMEOUT
from ..parties import Schema, read_split
from ..protocols import AnyProtocol, find
from ..protocols.protocol import Mode

__all__ = ["Job", "Transport", "instantiate"]

Transport = Literal["threads", "mpi"]


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be run."""

    protocol: str
    parameters: dict[str, Any] = {}
    data: tuple[str, ...] = ("demo",)
    """One source that is split among the parties, or one for each party."""
    parties: Annotated[int, msgspec.Meta(ge=1, le=65_535)] = 3
    rows: Annotated[int, msgspec.Meta(ge=1)] | None = None
    split: str = "even"
    """How one source is split: public, and drawn from the seed."""
    seed: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Also chooses, publicly, which rows of one file belong to which party; without it that choice
    is 0's.
    """
    mode: Mode = "rigorous"
    timeout: Annotated[float, msgspec.Meta(gt=0)] = DEFAULT_TIMEOUT
    schema: Schema | None = None
    """Public: how values become codes; without it the parties infer one, if the protocol needs
    it.
    """
    identities: str | None = None
    """A folder with each party's own key and everybody's public ones; without it identities are
    made for the run.
    """
    key_bits: int = 3072
    insecure_test_keys: bool = False
    transcript: bool = False

    def __post_init__(self) -> None:
        if len(self.data) not in (1, self.parties):
            raise UsageError(
                f"expected one --data to split, or one for each of {self.parties} parties, found {len(self.data)}"
            )
        read_split(self.split, parties=self.parties)
        if len(self.data) > 1 and self.split != "even":
            raise UsageError(
                f"expected one --data for --split {self.split}, found {len(self.data)}"
            )
        if self.key_bits < 64 or self.key_bits % 2:
            raise UsageError(
                f"expected --key-bits to be even and at least 64, found {self.key_bits}"
            )
        if self.key_bits < 2048 and not self.insecure_test_keys:
            raise UsageError(
                f"expected --key-bits of at least 2048, found {self.key_bits}: less needs --insecure-test-keys"
            )

    @property
    def public_seed(self) -> int:
        """What the partition and the demo table are drawn from."""
        return 0 if self.seed is None else self.seed


def instantiate(job: Job) -> AnyProtocol:
    """Find the protocol and check mode, number of parties and parameters, so that bad input ends
    before anything starts.
    """
    kind = find(job.protocol)
    if job.mode not in kind.modes:
        raise UsageError(
            f"expected --mode {' or '.join(kind.modes)} for {kind.name}, found {job.mode}"
        )
    if job.parties < kind.least_parties:
        raise UsageError(
            f"expected at least {kind.least_parties} parties for {kind.name}, found {job.parties}"
        )
    if kind.most_parties is not None and job.parties > kind.most_parties:
        raise UsageError(
            f"expected at most {kind.most_parties} parties for {kind.name}, found {job.parties}: --parties {kind.most_parties}"
        )
    names = kind.Parameters.__struct_fields__
    for name in job.parameters:
        if name not in names:
            raise UsageError(
                f"expected a parameter of {kind.name} ({', '.join(names)}), found {name!r}"
            )
    for name, value in job.parameters.items():
        try:
            msgspec.convert({name: value}, kind.Parameters, strict=False)
        except msgspec.ValidationError as error:
            what = str(error).partition(" - at ")[0]
            if "missing required field" not in what:
                raise UsageError(
                    f"{what[0].lower()}{what[1:]} for parameter {name}, found {value!r}"
                ) from None
        except SottovoceError:
            pass  # a rule between parameters: judged below, on all of them
    try:
        parameters = msgspec.convert(job.parameters, kind.Parameters, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"parameters of {kind.name}: {error}") from None
    _check_finite(parameters)
    return kind.variant(parameters, mode=job.mode)(parameters, mode=job.mode)


def _check_finite(parameters: msgspec.Struct) -> None:
    """Refuse what is no number, or endless: no bound does, and a report cannot say it."""
    for name in parameters.__struct_fields__:
        if isinstance(value := getattr(parameters, name), float) and not math.isfinite(value):
            raise UsageError(f"expected a finite number for parameter {name}, found {value}")
