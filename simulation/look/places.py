"""Where a fault is, and which modes of faults lose or change what a disk was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from protocol.faults.model import ANY_NODE, DiskFault, DiskMode, NetworkFault

DAMAGING: Final[Mapping[DiskMode, bool]] = {
    DiskMode.BIT_FLIP: False,
    DiskMode.LOST_ENTRY: False,
    DiskMode.MISDIRECTED_WRITE: True,
    DiskMode.SHORT_READ: False,
    DiskMode.SYNC_FAILURE: False,
}
"""Modes that lose or change data, and whether that lasts when the end of a log is fetched again.

What was read wrongly counts: a broker that starts cuts its logs there. What a fault breaks and
tells of is no damage: the broker knows, and does not acknowledge.
"""


def place_of(fault: DiskFault | NetworkFault) -> tuple[str, str]:
    """Return node and log dir of a fault; "" where it is more than one."""
    if isinstance(fault, NetworkFault) or fault.node == ANY_NODE:
        return "", ""
    return fault.node, fault.log_dir or ""
