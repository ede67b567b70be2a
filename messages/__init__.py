"""Messages and how they travel: types, codec, verbs, transports, and the ledger of bytes.

This is the lowest room. Nothing in here knows of keys, noise, records or protocols, but that `work`
has the names of all that the rooms above count.
"""

from .errors import (
    ArgumentError,
    BudgetError,
    ConversationError,
    DeadlockError,
    LedgerError,
    MessageError,
    MisuseError,
    PeerFailedError,
    PeerFinishedError,
    PeerLostError,
    Private,
    SottovoceError,
    TimeoutExpired,
    UsageError,
    WaitError,
    Where,
    role_name,
)
from .ledger import Act, Entry, Totals, communication, reconcile, totals
from .message import (
    decode,
    encoded_size,
    has_encrypted_numbers,
    message,
    personal,
    to_bytes,
)
from .role import CURATOR, Position, Role
from .threads import ThreadWire, thread_wires
from .values import CIPHERTEXT, USER_BITS, BigInts, Shape
from .wire import Wire
from .work import (
    Unread,
    WorkKind,
    WorkMeter,
    count_work,
    is_only_counted,
    is_uncounted,
    is_unread,
    metered,
    scaled_work,
)

__all__ = [
    "message",
    "personal",
    "BigInts",
    "Shape",
    "CIPHERTEXT",
    "USER_BITS",
    "to_bytes",
    "decode",
    "encoded_size",
    "has_encrypted_numbers",
    "Role",
    "Position",
    "CURATOR",
    "role_name",
    "Wire",
    "ThreadWire",
    "thread_wires",
    "Unread",
    "WorkKind",
    "WorkMeter",
    "count_work",
    "is_only_counted",
    "is_uncounted",
    "is_unread",
    "metered",
    "scaled_work",
    "Act",
    "Entry",
    "Totals",
    "reconcile",
    "totals",
    "communication",
    "Private",
    "SottovoceError",
    "UsageError",
    "ArgumentError",
    "ConversationError",
    "MisuseError",
    "MessageError",
    "WaitError",
    "TimeoutExpired",
    "DeadlockError",
    "PeerFinishedError",
    "PeerLostError",
    "PeerFailedError",
    "LedgerError",
    "BudgetError",
    "Where",
]
