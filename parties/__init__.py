"""The parties, who hold data. Raw records exist in this folder alone."""

from .arrow import frame_of_arrow, is_arrow
from .bins import Bins
from .categories import Categories
from .column_types import column_types
from .columns import ColumnChoice
from .csv_form import COMMAS, CsvForm
from .demo import DEMO_SCHEMA
from .digest import TableNote, digest_of
from .inference import infer, merge
from .loading import load, load_shares
from .partition import Split, read_split
from .parts import Part
from .party import Party
from .raw import RawTable, join_tables
from .records import Records, unite
from .schema import Schema
from .schema_file import SCHEMA_FILE, read_plan, read_schema, write_schema
from .schema_plan import LEARN_ALL, Learnt, SchemaPlan
from .sources import DEMO, blocks

__all__ = [
    "COMMAS",
    "DEMO",
    "DEMO_SCHEMA",
    "LEARN_ALL",
    "SCHEMA_FILE",
    "Bins",
    "Categories",
    "ColumnChoice",
    "CsvForm",
    "Learnt",
    "Part",
    "Party",
    "RawTable",
    "Records",
    "Schema",
    "SchemaPlan",
    "Split",
    "TableNote",
    "blocks",
    "column_types",
    "digest_of",
    "frame_of_arrow",
    "infer",
    "is_arrow",
    "join_tables",
    "load",
    "load_shares",
    "merge",
    "read_plan",
    "read_schema",
    "read_split",
    "unite",
    "write_schema",
]
