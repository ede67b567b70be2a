"""PrivIncr, the same with everything asked at once, and the same without privacy (Wang et al.
2023).
"""

from .no_privacy import NoPrivJTree
from .protocol import NoIncremental, PrivIncr

__all__ = ["NoIncremental", "NoPrivJTree", "PrivIncr"]
