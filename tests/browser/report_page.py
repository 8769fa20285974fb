"""The page of a report in a real Chromium: every picture is drawn, on light and on dark ground."""

from __future__ import annotations

import base64
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.browser.chromium import Page
from tests.browser.story import write_dump_of_two_runs

TITLES: Final = (
    "Log dirs over time",
    "Failovers by stage",
    "Unavailable partitions",
    "Latency per API",
    "Latency per log dir",
    "Slow among its siblings",
    "Moves between log dirs",
    "Reassignments between brokers",
    "Against another run",
)
PICTURE_HEIGHT: Final = 1560
NARROW_PIXELS: Final = 400
NARROW: Final = Path(__file__).parents[2] / "build" / "report-narrow.png"
WIDER_THAN: Final = """[...document.querySelectorAll('body *')]
  .filter(each => each.getBoundingClientRect().right > {pixels}
    && !each.closest('.drawing, table'))
  .map(each => each.outerHTML.slice(0, 80))"""
"""What does not fit; tables and drawings have bars of their own to be moved by."""
ALL_DRAWN: Final = """document.querySelectorAll('.drawing').length > 0 &&
  [...document.querySelectorAll('.drawing')].every(each => each.dataset.drawn === '{ground}')"""


def a_report_is_drawn(page: Page, target: Path) -> None:
    """Run a story, report it, look at the page, and write a picture of it to ``target``."""
    with tempfile.TemporaryDirectory() as folder:
        dump, out = Path(folder, "dump"), Path(folder, "out")
        write_dump_of_two_runs(dump)
        command = [sys.executable, "-m", "analytics", "--dump", str(dump), "--out", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        look_at(page, out / "report.html", target)


def look_at(page: Page, report: Path, target: Path) -> None:
    """Check a report's page on both grounds and keep its picture."""
    for ground in ("light", "dark"):
        scheme = {"name": "prefers-color-scheme", "value": ground}
        page.send("Emulation.setEmulatedMedia", features=[scheme])
        page.send("Page.navigate", url=report.as_uri())
        page.until(ALL_DRAWN.format(ground=ground))
        shown = page.run("[...document.querySelectorAll('section h2')].map(e => e.textContent)")
        assert shown == [*TITLES, "Data checks"], shown
        assert page.run("document.querySelectorAll('.drawing svg').length") >= len(TITLES)
    place = {"x": 0, "y": 0, "width": 1280, "height": PICTURE_HEIGHT, "scale": 1}
    shot = page.send("Page.captureScreenshot", captureBeyondViewport=True, clip=place)
    target.write_bytes(base64.b64decode(shot["data"]))
    page.send("Emulation.setEmulatedMedia", features=[])
    a_narrow_window_shows_it_all(page, report)


def a_narrow_window_shows_it_all(page: Page, report: Path) -> None:
    """As on a phone; keep a picture of all of it in build/report-narrow.png."""
    size = {"width": NARROW_PIXELS, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.send("Emulation.setDeviceMetricsOverride", **size)
    page.send("Page.navigate", url=report.as_uri())
    page.until(ALL_DRAWN.format(ground="light"))
    assert page.run(WIDER_THAN.format(pixels=NARROW_PIXELS)) == []
    assert page.run("document.documentElement.scrollWidth") <= NARROW_PIXELS
    height = page.run("document.documentElement.scrollHeight")
    place = {"x": 0, "y": 0, "width": NARROW_PIXELS, "height": height, "scale": 1}
    shot = page.send("Page.captureScreenshot", captureBeyondViewport=True, clip=place)
    NARROW.parent.mkdir(exist_ok=True)
    NARROW.write_bytes(base64.b64decode(shot["data"]))
    page.send("Emulation.clearDeviceMetricsOverride")
