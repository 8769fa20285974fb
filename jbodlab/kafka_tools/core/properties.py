"""Java's properties files, and what the tools take from one for their connections.

Unicode escapes are not read; neither is anything about security: connections are plaintext.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jbodlab.kafka_tools.core.failures import CONFIG, ToolFailure, whole_number


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """How a tool speaks to a cluster."""

    bootstrap: str
    """``host:port``, comma-separated."""
    client_id: str
    request_timeout_ms: int
    api_timeout_ms: int
    """For one question with all its retries."""


def parse_properties(text: str) -> dict[str, str]:
    """Return the keys and values of a properties file; the last of several wins.

    Source: java.util.Properties.load.
    """
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        key, value = _key_and_value(line)
        found[key] = value
    return found


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
        ToolFailure: the file asks for TLS or SASL, or a timeout is no number.
    """
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol != "PLAINTEXT":
        raise ToolFailure(
            CONFIG, f"security.protocol={protocol}: jbodlab's tools speak PLAINTEXT only"
        )
    request_ms, api_ms = timeouts_ms
    return ClientSettings(
        bootstrap=bootstrap,
        client_id=properties.get("client.id", client_id),
        request_timeout_ms=whole_number(properties.get("request.timeout.ms", str(request_ms))),
        api_timeout_ms=whole_number(properties.get("default.api.timeout.ms", str(api_ms))),
    )


def _logical_lines(text: str) -> list[str]:
    lines: list[str] = []
    is_continued = False
    for raw in text.splitlines():
        line = raw.lstrip()
        if not is_continued and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        part = line[:-1] if backslashes % 2 else line
        if is_continued:
            lines[-1] += part
        else:
            lines.append(part)
        is_continued = bool(backslashes % 2)
    return lines


def _key_and_value(line: str) -> tuple[str, str]:
    """Split at the first unescaped ``=``, ``:`` or blank."""
    end = 0
    while end < len(line) and line[end] not in "=: \t\f":
        end += 2 if line[end] == "\\" else 1
    rest = line[end:].lstrip(" \t\f")
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(" \t\f")
    return _unescaped(line[:end]), _unescaped(rest)


def _unescaped(text: str) -> str:
    parts: list[str] = []
    letters = iter(text)
    for letter in letters:
        if letter != "\\":
            parts.append(letter)
            continue
        escaped = next(letters, "")
        parts.append({"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(escaped, escaped))
    return "".join(parts)
