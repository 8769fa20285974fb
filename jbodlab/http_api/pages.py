"""The console: one static page with its modules and its style, which holds no secrets."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
_FOLDER: Final = "page"
_INDEX: Final = "index.html"
_HEADERS: Final = {
    # Another site's page can neither show this one in a frame nor bring scripts into it.
    "Content-Security-Policy": "default-src 'self'; img-src data:; "
    "frame-ancestors 'none'; form-action 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def page_routes() -> list[BaseRoute]:
    """Return what serves the page at ``/`` and its files below ``/page/``."""
    folder = files(__package__ or "") / _FOLDER
    return [
        _route("/" if each.name == _INDEX else f"/{_FOLDER}/{each.name}", each.read_bytes())
        for each in sorted(folder.iterdir(), key=lambda each: each.name)
    ]


def page_paths(routes: Sequence[BaseRoute]) -> frozenset[str]:
    """Return the paths of these routes."""
    return frozenset(each.path for each in routes if isinstance(each, Route))


def _route(path: str, content: bytes) -> Route:
    kind = _TYPES[path.rpartition(".")[2] if path != "/" else "html"]

    async def give(_: Request) -> Response:
        return Response(content, media_type=kind, headers=_HEADERS)

    return Route(path, give, methods=["GET"])
