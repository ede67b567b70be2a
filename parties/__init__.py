"""Who holds data. The only room in which raw records exist."""

from .party import Party
from .records import DEMO, Records, load, share
from .schema import DEMO_SCHEMA, Schema, infer, merge, read_schema

__all__ = ["DEMO", "DEMO_SCHEMA", "Party", "Records", "Schema", "infer", "load", "merge", "read_schema", "share"]
