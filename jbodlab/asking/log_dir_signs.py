"""What is wrong with a log dir, in words, from what its broker's control endpoint tells of it.

It asks nobody. Kafka's protocol tells only that a log dir is offline, neither why nor that it is
about to be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

SLOW_MS: Final = 100
"""From here on one round of a disk's work is worth a word."""
STILL_MS: Final = 1000
"""From here on silence of a disk is worth a word."""


# Any: JSON.
def signs_of(told: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with one of ``/log-dirs``; empty when nothing is.

    First the cause of a failure, then faults in force, then what the disk itself shows.
    """
    signs: list[str] = []
    if told["reason"]:
        signs.append(cause_of(told["reason"]))
    signs += _faults(told["faults"])
    if not told["online"]:
        return signs
    waiting = f", {told['queue_depth']} jobs wait" if told["queue_depth"] else ""
    if told["standing_ms"] >= STILL_MS:
        signs.append(
            f"no answer from its disk for {told['standing_ms'] / 1000:.1f} s{waiting}; "
            f"offline after {told['deadline_ms'] / 1000:.0f} s"
        )
    elif told["last_hop_ms"] >= SLOW_MS:
        signs.append(f"slow: the last work took {told['last_hop_ms']} ms{waiting}")
    return signs


def cause_of(reason: str) -> str:
    """Return what made a log dir offline, of the sentence that its broker has for it."""
    return reason.rpartition(" is offline: ")[2]


def _faults(faults: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"fault {each['mode']} in force, {each['hits']} hit{'s' * (each['hits'] != 1)}"
        for each in faults
    ]
