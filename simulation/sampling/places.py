"""Where a fault is."""

from __future__ import annotations

from protocol.faults.model import ANY_NODE, BrokerFault, DiskFault, NetworkFault


def place_of(fault: BrokerFault) -> tuple[str, str]:
    """Return node and log dir of a fault; "" where it is more than one."""
    if isinstance(fault, NetworkFault) or fault.node == ANY_NODE:
        return "", ""
    return fault.node, (fault.log_dir or "") if isinstance(fault, DiskFault) else ""


def link_of(fault: BrokerFault) -> tuple[str, ...]:
    """Return between which nodes a fault stands; () for none of the network."""
    return (fault.source, fault.target) if isinstance(fault, NetworkFault) else ()
