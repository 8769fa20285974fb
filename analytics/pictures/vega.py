"""The library that draws the pictures, as text to be put into a page: no network is asked.

Vega-Lite, from the package vl-convert-python, which brings it. Making the text takes two seconds,
so it is kept in the user's folder for caches.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final
from uuid import uuid4

from analytics.cache import cache_folder


class DrawingMissing(Exception):  # noqa: N818 - named for what is the matter
    """The package is not installed."""


PACKAGE: Final = "vl-convert-python"


def vega_script() -> str:
    """Return JavaScript that defines ``vegaEmbed``; from the cache if it is there.

    Raises:
        DrawingMissing: there is no such package.
    """
    try:
        kept = cache_folder() / f"vega-{version(PACKAGE)}.js"
    except PackageNotFoundError as error:
        raise DrawingMissing from error
    try:
        return kept.read_text(encoding="utf-8")
    except OSError:
        script = _made()
    _keep(kept, script)
    return script


def _made() -> str:
    import vl_convert  # noqa: PLC0415 - 85 MB, most often not needed

    # Nothing in a script may end the element that it stands in.
    script: str = vl_convert.javascript_bundle(None)  # pyright: ignore[reportArgumentType] - it is optional
    return script.replace("</script", "<\\/script")


def _keep(path: Path, script: str) -> None:
    """Write the script at once: somebody else may do the same now. A full disk is no matter."""
    beside = path.with_name(f"{path.name}.{uuid4().hex[:8]}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(script, encoding="utf-8")
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
