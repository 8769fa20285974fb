"""Strangers, pages of other sites and endless bodies are turned away before anything is read."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from jbodlab.http_api.access import BODY_BYTES_MAX, Access

TOKEN = "0123456789abcdef"
LOCAL = {"host": "127.0.0.1:8099"}
JSON = {"content-type": "application/json"}


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(body)(scope, receive, send)


async def asked(
    method: str,
    headers: dict[str, str],
    *,
    token: str | None = None,
    path: str = "/cluster",
    body: tuple[bytes, ...] = (b"",),
) -> tuple[int, str]:
    """Return status and body of an answer."""
    parts = [
        {"type": "http.request", "body": part, "more_body": number < len(body)}
        for number, part in enumerate(body, 1)
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return parts.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await Access(echo, token, frozenset({"/"}))(scope, receive, send)
    return sent[0]["status"], b"".join(each.get("body", b"") for each in sent[1:]).decode()


def test_a_program_of_this_machine_is_heard() -> None:
    assert asyncio.run(asked("POST", LOCAL | JSON, body=(b"{", b"}"))) == (200, "{}")


@pytest.mark.parametrize(
    ("headers", "status", "word"),
    [
        ({"host": "evil.example"}, 403, "Host is 'evil.example'"),
        (LOCAL | {"origin": "http://evil.example"}, 403, "Origin is 'http://evil.example'"),
        (LOCAL | {"sec-fetch-site": "cross-site"}, 403, "Sec-Fetch-Site"),
        (LOCAL | {"content-type": "text/plain"}, 415, "Content-Type"),
    ],
)
def test_a_page_of_another_site_is_refused_with_what_to_do(
    headers: dict[str, str], status: int, word: str
) -> None:
    found, body = asyncio.run(asked("POST", headers))
    told = json.loads(body)
    assert found == status
    assert word in told["error"]
    assert told["what_to_do"]


def test_the_page_that_the_server_itself_serves_may_give_orders() -> None:
    own = LOCAL | JSON | {"origin": "http://127.0.0.1:8099", "sec-fetch-site": "same-origin"}
    assert asyncio.run(asked("POST", own, body=(b"{}",))) == (200, "{}")


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({}, "missing"),
        ({"authorization": "Bearer wrong"}, "wrong"),
        ({"authorization": TOKEN}, "wrong"),
    ],
)
def test_with_a_token_nobody_is_heard_without_it(given: dict[str, str], word: str) -> None:
    status, body = asyncio.run(asked("GET", {"host": "lab.example"} | given, token=TOKEN))
    assert status == 401
    assert word in json.loads(body)["error"]


def test_with_the_token_any_machine_is_heard() -> None:
    headers = {"host": "lab.example", "authorization": f"Bearer {TOKEN}"}
    assert asyncio.run(asked("GET", headers, token=TOKEN))[0] == 200


def test_a_page_is_given_without_the_token_and_nothing_else() -> None:
    headers = {"host": "lab.example"}
    assert asyncio.run(asked("GET", headers, token=TOKEN, path="/"))[0] == 200
    assert asyncio.run(asked("POST", headers | JSON, token=TOKEN, path="/"))[0] == 401


def test_an_endless_body_is_cut_off() -> None:
    half = b"x" * (BODY_BYTES_MAX // 2 + 1)
    status, body = asyncio.run(asked("POST", LOCAL | JSON, body=(half, half, half)))
    assert status == 413
    assert str(BODY_BYTES_MAX) in json.loads(body)["error"]
