"""The commands, in the order in which `sottovoce --help` lists them: that of the imports."""

from . import running  # isort: skip
from . import looking  # isort: skip
from . import repeating  # isort: skip
from . import judging  # isort: skip
from . import preparing  # isort: skip
from .app import app

__all__ = ["app", "judging", "looking", "preparing", "repeating", "running"]
