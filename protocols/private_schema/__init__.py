"""Private schemas: bins and categories learnt under a part of the budget."""

from .protocol import PrivateSchema, PrivateSchemaParameters

__all__ = ["PrivateSchema", "PrivateSchemaParameters"]
