"""Who may use an HTTP endpoint on loopback: programs of this machine, and no page of another site.

Listening on loopback keeps other machines out but not the pages that a browser on this machine has
open. A page can send requests anywhere (a simple POST asks nobody
before), and with a name of its own that points to 127.0.0.1 (DNS rebinding) it may read answers.
What a browser adds to such requests, and a page cannot take away, tells them from a program's.
Source: Fetch Standard (Origin, CORS-safelisted content types), W3C Fetch Metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
JSON_TYPE: Final = "application/json"
_OWN_SITES: Final = ("none", "same-origin")
"""Values of Sec-Fetch-Site: a person typed the address, or a page of this very endpoint asks."""


class Refusal(NamedTuple):
    """Why a request is not looked at."""

    status: int
    text: str


def refusal(
    method: str,
    headers: Sequence[tuple[str, str]],
    *,
    serves_pages: bool = False,
    host_names: Sequence[str] | None = LOOPBACK_NAMES,
) -> Refusal | None:
    """Return why a request with these headers is refused; None when it may pass.

    Args:
        method: of the request.
        headers: names in lower case.
        serves_pages: whether pages of this very endpoint, at this name and port, may ask it.
        host_names: what it may be called; None: anything, as a token keeps strangers out.
    """
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name, []).append(value.strip())
    repeated = [name for name in _LOOKED_AT if len(values.get(name, ())) > 1]
    if repeated:
        return Refusal(400, f"{repeated[0]} is sent twice")
    known = {name: found[0] for name, found in values.items()}
    return (
        _host(known, host_names)
        or _origin(known, serves_pages=serves_pages)
        or _content_type(method, known)
    )


def _host(headers: Mapping[str, str], names: Sequence[str] | None) -> Refusal | None:
    """Any port will do: a tunnel may have another one, a page has another name."""
    host = headers.get("host", "").lower()
    name, colon, port = host.rpartition(":")
    if names is None or host in names or (colon and name in names and port.isdecimal()):
        return None
    return Refusal(403, f"Host is {_shown(host)}; ask for one of {', '.join(names)}")


def _origin(headers: Mapping[str, str], *, serves_pages: bool) -> Refusal | None:
    own = f"http://{headers.get('host', '')}".lower() if serves_pages else None
    if "origin" in headers and headers["origin"].lower() != own:
        origin = _shown(headers["origin"])
        who = "pages of other sites" if serves_pages else "pages of a browser"
        return Refusal(403, f"Origin is {origin}; {who} may not ask, leave it out")
    site = headers.get("sec-fetch-site", "none").lower()
    if site not in _OWN_SITES:
        return Refusal(403, f"Sec-Fetch-Site is {_shown(site)}; other sites' pages may not ask")
    return None


def _content_type(method: str, headers: Mapping[str, str]) -> Refusal | None:
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if method != "POST" or content_type == JSON_TYPE:
        return None
    return Refusal(415, f"Content-Type is {_shown(content_type)}; a POST needs {JSON_TYPE}")


def _shown(value: str) -> str:
    return repr(value[:100]) if value else "missing"


_LOOKED_AT: Final = ("host", "origin", "sec-fetch-site", "content-type")
