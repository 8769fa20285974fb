"""Where a fault is."""

from __future__ import annotations

from protocol.faults.model import ANY_NODE, DiskFault, NetworkFault


def place_of(fault: DiskFault | NetworkFault) -> tuple[str, str]:
    """Return node and log dir of a fault; "" where it is more than one."""
    if isinstance(fault, NetworkFault) or fault.node == ANY_NODE:
        return "", ""
    return fault.node, fault.log_dir or ""
