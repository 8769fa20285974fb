"""How many connections single addresses may have: the text of ``max.connections.per.ip.overrides``.

Source: CoreUtils.parseCsvMap; an address is not looked up by its name here.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from protocol.client_address import java_address


def counts_by_address(text: str) -> dict[str, int]:
    """Return the number by address, as Java writes it; of one that comes twice the last counts.

    Raises:
        ValueError: an entry is no ``address:number``; its text is the entry.
    """
    found: dict[str, int] = {}
    for entry in filter(None, (each.strip() for each in text.split(","))):
        address, _, number = entry.rpartition(":")
        try:
            found[java_address(str(ipaddress.ip_address(address.strip())))] = int(number)
        except ValueError:
            raise ValueError(entry) from None
        if int(number) < 0:
            raise ValueError(entry)
    return found


def counts_of_addresses(text: Any) -> str | None:
    """Return what is wrong with a text; None for one that ``counts_by_address`` reads."""
    try:
        counts_by_address(text)
    except ValueError as error:
        return f"must be address:number, separated by commas, which {error} is not"
    return None
