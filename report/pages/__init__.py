"""Pages for people: one file each, without network, scripts or fonts of its own; light and dark, on
a phone and on paper.
"""

from .comparison_page import comparison_page
from .models import FILES, pictures
from .run_page import run_page

__all__ = ["FILES", "comparison_page", "pictures", "run_page"]
