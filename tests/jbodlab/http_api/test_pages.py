"""The console is whole by itself: what it names is served, and nothing is from elsewhere."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.types import Scope

import jbodlab.http_api
from jbodlab.http_api.pages import page_paths, page_routes

FOLDER = files(jbodlab.http_api) / "page"
TEXTS = {each.name: each.read_text(encoding="utf-8") for each in FOLDER.iterdir()}
PATHS = page_paths(page_routes())


async def given(path: str) -> tuple[int, dict[str, str], str]:
    """Return status, headers and body of a page."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": b"",
        "headers": [],
    }
    await Starlette(routes=page_routes())(scope, receive, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, sent[1]["body"].decode()


@pytest.mark.parametrize("path", sorted(PATHS))
async def test_a_file_comes_with_its_type_and_may_not_be_framed(path: str) -> None:
    status, headers, body = await given(path)
    assert status == 200
    assert body == TEXTS[path.rpartition("/")[2] or "index.html"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["content-type"].startswith("text/")


def test_every_file_that_is_named_is_served() -> None:
    named = set(re.findall(r'(?:src|href)="(page/[^"]+)"', TEXTS["index.html"]))
    named |= {
        f"page/{name}" for text in TEXTS.values() for name in re.findall(r'from "\./(.+)"', text)
    }
    assert {f"/{each}" for each in named} | {"/"} == PATHS


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_nothing_comes_from_elsewhere_and_text_is_never_markup(name: str) -> None:
    found = re.findall(r"https?://|//cdn|innerHTML|outerHTML|insertAdjacent|eval\(", TEXTS[name])
    assert found == []
    assert name != "index.html" or not re.search(r"<script(?! type=\"module\" src=)", TEXTS[name])


def test_every_element_that_is_looked_up_is_there() -> None:
    ids = set(re.findall(r' id="([\w-]+)"', TEXTS["index.html"]))
    wanted = {one for text in TEXTS.values() for one in re.findall(r'\bat\("([\w-]+)"\)', text)}
    assert sorted(wanted - ids) == []


def test_what_is_labelled_by_an_element_has_one() -> None:
    ids = set(re.findall(r' id="([\w-]+)"', TEXTS["index.html"]))
    labels = set(re.findall(r'aria-labelledby="([\w-]+)"', TEXTS["index.html"]))
    assert labels
    assert sorted(labels - ids) == []
