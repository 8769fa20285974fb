"""Who may ask the HTTP API: the rule of ``protocol.http_access``, a token, and a bound on bodies.

An ASGI application around the one that answers.
"""

from __future__ import annotations

import hmac
from typing import Final

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jbodlab.http_api.core.bodies import Mistake
from protocol.http_access import LOOPBACK_NAMES, refusal

BODY_BYTES_MAX: Final = 64 * 1024
_LATIN: Final = "latin-1"
_WHAT_TO_DO: Final = {
    400: "send the header once",
    401: "send `Authorization: Bearer TOKEN` with the token of --token-file",
    403: "ask from a program, or from the page that this server itself serves",
    413: f"send at most {BODY_BYTES_MAX} bytes",
    415: "send `Content-Type: application/json`, as `curl --json '{}'` does",
}


def mistake(status: int, error: str, what_to_do: str) -> Response:
    """Return the answer to a request that is refused."""
    body = msgspec.json.encode(Mistake(error=error, what_to_do=what_to_do))
    return Response(body, status, media_type="application/json")


class Access:
    """Lets requests through that may be answered.

    Args:
        app: what answers them.
        token: what all but pages must carry; None: no token, and only names of loopback will do.
        pages: paths of what holds no secrets, so that a browser can get it without a token.
    """

    def __init__(self, app: ASGIApp, token: str | None, pages: frozenset[str]) -> None:
        self._app = app
        self._token = token
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused is not None:
            status, error = refused
            await mistake(status, error, _WHAT_TO_DO[status])(scope, receive, send)
            return
        body = await _body(receive) if scope["method"] in ("POST", "PUT", "PATCH") else b""
        if body is None:
            words = f"the body is longer than {BODY_BYTES_MAX} bytes"
            await mistake(413, words, _WHAT_TO_DO[413])(scope, receive, send)
            return
        await self._app(scope, _given(body, receive), send)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        headers = [(name.decode(_LATIN), value.decode(_LATIN)) for name, value in scope["headers"]]
        names = LOOPBACK_NAMES if self._token is None else None
        refused = refusal(scope["method"], headers, serves_pages=True, host_names=names)
        if refused is not None:
            return refused.status, refused.text
        if self._token is None or (scope["method"] == "GET" and scope["path"] in self._pages):
            return None
        given = dict(headers).get("authorization", "")
        if hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            return None
        return 401, "the token is wrong" if given else "the token is missing"


async def _body(receive: Receive) -> bytes | None:
    """Read a body; None when it is too long."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body)  # The client has left.
        body += message.get("body", b"")
        if len(body) > BODY_BYTES_MAX:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def _given(body: bytes, receive: Receive) -> Receive:
    """Return what gives the body that was read, and then what comes after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message
