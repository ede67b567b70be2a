"""Logs that were restored from an older copy: what roles know of each other's logs.

A role that goes on from an older copy of its log has forgotten what it has answered since. A
dishonest curator could ask it something else then, and the noise would be the same. Three things
see to it that such a log is refused:

- *Restarts.* Whenever a run goes on, each role notes in its log that it was opened once more, on
  the disk, and then all tell each other how often. What they hear they note, too. So of two copies
  of a role's folder that go on in turn, and of a copy from before a restart, the other roles know
  that it is older. A role notes its own restart before anybody can hear of it, so the newest log is
  never behind what others have noted, wherever processes are killed.
- *Messages that have left.* A party that lacks what it had received before it sent them is refused
  when it comes to that place (`crypto.durable`).
- *Digests.* Each role tells every other a digest of the messages that it has from it. What is made
  again must be the same.

The other roles are the witnesses. So a party whose log was restored is protected from a dishonest
curator by the other parties, as far as they are honest and have heard of what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..messages import UsageError, role_name

__all__ = ["refuse_older"]


def refuse_older(
    restarts: Mapping[int, int], *, heard: Mapping[int, Mapping[int, int]], run: str
) -> None:
    """Refuse a log that was opened less often than another role has noted.

    Args:
        restarts: how often each log that is there was opened once more, by rank.
        heard: by rank, how often each other role's log was, as far as the role has noted.
        run: name of the run.

    Raises:
        UsageError: a log is an older copy.
    """
    for rank, count in restarts.items():
        for witness, noted in heard.items():
            if noted.get(rank, 0) > count:
                raise UsageError(
                    f"expected the newest log of {role_name(rank)} in run {run}, found an older "
                    f"copy: it was opened {count} times to go on, and {role_name(witness)} has "
                    f"noted {noted[rank]}; restore the newest folder, or start a new run"
                )
