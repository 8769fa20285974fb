"""Who may use the control endpoint: programs do, pages of a browser do not."""

from __future__ import annotations

import pytest

from broker.control_access import Refusal, refusal

PAGE = {
    "Connection": "keep-alive",
    "sec-ch-ua": '"Chromium";v="140", "Not=A?Brand";v="24"',
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0",
    "Accept": "*/*",
    "Sec-Fetch-Mode": "no-cors",
    "Sec-Fetch-Dest": "empty",
    "Accept-Encoding": "gzip, deflate, br, zstd",
}
"""What Chromium sends with every fetch() of a page."""
OF_ANOTHER_SITE = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}


@pytest.mark.parametrize(
    ("method", "headers", "status", "word"),
    [
        pytest.param(
            "POST",
            {"Host": "127.0.0.1:19093", "Content-Type": "text/plain;charset=UTF-8"}
            | OF_ANOTHER_SITE,
            403,
            "Origin is 'https://evil.example'",
            id="a simple POST of another site, for which a browser asks nobody before",
        ),
        pytest.param(
            "POST",
            {"Host": "127.0.0.1:19093", "Content-Type": "application/json", "Origin": "null"},
            403,
            "Origin is 'null'",
            id="a sandboxed frame or a file",
        ),
        pytest.param(
            "POST",
            {"Host": "evil.example:19093", "Content-Type": "application/json"}
            | {"Origin": "http://evil.example:19093", "Sec-Fetch-Site": "same-origin"},
            403,
            "Host is 'evil.example:19093'",
            id="a name that was bound anew to 127.0.0.1",
        ),
        pytest.param(
            "GET",
            {"Host": "evil.example:19093", "Sec-Fetch-Site": "same-origin"},
            403,
            "Host is 'evil.example:19093'",
            id="reading by such a name",
        ),
        pytest.param(
            "GET",
            {"Host": "localhost:19093", "Sec-Fetch-Site": "cross-site"},
            403,
            "Sec-Fetch-Site is 'cross-site'",
            id="an image of another site",
        ),
        pytest.param(
            "GET",
            {"Host": "localhost:19093", "Sec-Fetch-Site": "same-site"},
            403,
            "Sec-Fetch-Site is 'same-site'",
            id="a page of another port of localhost",
        ),
        pytest.param(
            "POST",
            {"Host": "localhost:19093", "Content-Type": "application/x-www-form-urlencoded"},
            415,
            "a POST needs application/json",
            id="a form",
        ),
        pytest.param("POST", {"Host": "[::1]:19093"}, 415, "Content-Type is missing", id="no type"),
        pytest.param("GET", {"Host": "127.0.0.1.evil.example"}, 403, "Host is", id="a long name"),
    ],
)
def test_what_a_page_of_a_browser_asks_is_refused(
    method: str, headers: dict[str, str], status: int, word: str
) -> None:
    found = refusal(method, sent(PAGE | headers))
    assert found is not None
    assert found.status == status
    assert word in found.text


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {"Host": "127.0.0.1:19093"}),
        ("GET", {"Host": "localhost", "Sec-Fetch-Site": "none"}),
        ("POST", {"Host": "[::1]:9", "Content-Type": "application/json"}),
        ("POST", {"Host": "LOCALHOST:9", "Content-Type": "Application/JSON; charset=utf-8"}),
    ],
)
def test_what_a_program_or_a_person_asks_may_pass(method: str, headers: dict[str, str]) -> None:
    assert refusal(method, sent(headers)) is None


@pytest.mark.parametrize("name", ["host", "origin", "content-type", "sec-fetch-site"])
def test_a_header_that_is_sent_twice_is_refused(name: str) -> None:
    twice = [("host", "localhost"), (name, "localhost"), (name, "localhost")]
    assert refusal("GET", twice) == Refusal(400, f"{name} is sent twice")


def sent(headers: dict[str, str]) -> list[tuple[str, str]]:
    return [(name.lower(), value) for name, value in headers.items()]
