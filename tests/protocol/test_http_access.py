"""Who may use an HTTP endpoint on loopback: programs do, pages of other sites do not."""

from __future__ import annotations

import pytest

from protocol.http_access import Refusal, refusal

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


def test_a_page_of_an_endpoint_that_serves_pages_may_ask_it() -> None:
    own = {"Host": "127.0.0.1:8099", "Origin": "http://127.0.0.1:8099"}
    asked = sent(PAGE | own | {"Content-Type": "application/json"})
    assert refusal("POST", asked, serves_pages=True) is None
    assert refusal("POST", asked) is not None


@pytest.mark.parametrize(
    "origin", ["http://127.0.0.1:8100", "https://127.0.0.1:8099", "http://localhost:8099", "null"]
)
def test_a_page_of_another_port_scheme_or_name_may_not(origin: str) -> None:
    asked = sent(PAGE | {"Host": "127.0.0.1:8099", "Origin": origin})
    found = refusal("GET", asked, serves_pages=True)
    assert found is not None
    assert found.status == 403
    assert "Origin is" in found.text


def test_where_a_token_keeps_strangers_out_any_name_of_the_host_will_do() -> None:
    asked = sent({"Host": "lab.example:8099", "Origin": "http://lab.example:8099"})
    assert refusal("GET", asked, serves_pages=True, host_names=None) is None
    foreign = sent({"Host": "lab.example:8099", "Origin": "http://evil.example"})
    assert refusal("GET", foreign, serves_pages=True, host_names=None) is not None


@pytest.mark.parametrize("name", ["host", "origin", "content-type", "sec-fetch-site"])
def test_a_header_that_is_sent_twice_is_refused(name: str) -> None:
    twice = [("host", "localhost"), (name, "localhost"), (name, "localhost")]
    assert refusal("GET", twice) == Refusal(400, f"{name} is sent twice")


def sent(headers: dict[str, str]) -> list[tuple[str, str]]:
    return [(name.lower(), value) for name, value in headers.items()]
