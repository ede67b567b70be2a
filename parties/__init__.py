"""Who holds data. The only room in which raw records exist."""

from .inference import infer, merge
from .partition import Split, read_split
from .party import Party
from .records import Records, load, unite
from .schema import DEMO_SCHEMA, Bins, Categories, Schema, read_schema, write_schema
from .sources import DEMO, blocks

__all__ = [
    "DEMO",
    "DEMO_SCHEMA",
    "Bins",
    "Categories",
    "Party",
    "Records",
    "Schema",
    "Split",
    "blocks",
    "infer",
    "load",
    "merge",
    "read_schema",
    "read_split",
    "unite",
    "write_schema",
]
