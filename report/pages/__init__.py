"""Pages for people.

Each is one file without network, scripts or fonts of its own. It is light or dark as the reader's
system is, and can be read on a phone and on paper.
"""

from .comparison_page import comparison_page
from .models import FILES, pictures
from .run_page import run_page

__all__ = ["FILES", "comparison_page", "pictures", "run_page"]
