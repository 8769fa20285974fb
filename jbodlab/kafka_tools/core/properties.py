"""What the tools take from a properties file for their connections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jbodlab.kafka_tools.core.failures import whole_number


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """How a tool speaks to a cluster."""

    bootstrap: str
    """``host:port``, comma-separated."""
    client_id: str
    request_timeout_ms: int
    api_timeout_ms: int
    """For one question with all its retries."""


def client_settings(
    properties: Mapping[str, str], bootstrap: str, client_id: str, timeouts_ms: tuple[int, int]
) -> ClientSettings:
    """Return what a command line and a properties file say together.

    Args:
        properties: of the file; keys that mean nothing here are left out.
        bootstrap: of the command line; wins over the file.
        client_id: the tool's own; the file wins.
        timeouts_ms: of a request and of a question, unless the file has others.

    Raises:
        ToolFailure: a timeout is no number.
    """
    request_ms, api_ms = timeouts_ms
    return ClientSettings(
        bootstrap=bootstrap,
        client_id=properties.get("client.id", client_id),
        request_timeout_ms=whole_number(properties.get("request.timeout.ms", str(request_ms))),
        api_timeout_ms=whole_number(properties.get("default.api.timeout.ms", str(api_ms))),
    )
