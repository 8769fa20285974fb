"""A client's address as Java writes it, by which ACLs and answers of Kafka name hosts.

Nothing is resolved. Source: InetAddress.getHostAddress, Inet6Address.
"""

from __future__ import annotations

import ipaddress


def java_address(host: str) -> str:
    """Return the text of an address: of IPv6 all eight parts, ``0:0:0:0:0:0:0:1``.

    What is no address of IPv6 stays as it is; one that stands for an address of IPv4 is that.
    """
    if ":" not in host:
        return host
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    packed = address.packed
    parts = (packed[place] << 8 | packed[place + 1] for place in range(0, len(packed), 2))
    text = ":".join(f"{part:x}" for part in parts)
    return text if address.scope_id is None else f"{text}%{address.scope_id}"
