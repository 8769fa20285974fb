"""One HTML page with all pictures of a dump's latest run: it opens without a network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import analytics
from analytics import columns as c
from analytics.findings import (
    RowDict,
    Rows,
    findings,
    latest_run,
    left_out_text,
    rows_of_run,
    shortened,
)
from analytics.pictures.failover_waterfalls import failover_waterfalls
from analytics.pictures.fill_map import fill_map
from analytics.pictures.latency_ribbons import api_ribbons, log_dir_ribbons
from analytics.pictures.move_bars import move_bars
from analytics.pictures.outage_bars import outage_bars
from analytics.pictures.picture import Picture
from analytics.pictures.reassignment_bars import reassignment_bars
from analytics.pictures.run_changes import run_changes
from analytics.pictures.slow_disks import slow_disks
from analytics.sizes import count_text
from analytics.times import utc_text

_PICTURES: Final[tuple[Callable[[Rows], Picture | None], ...]] = (
    fill_map,
    failover_waterfalls,
    outage_bars,
    api_ribbons,
    log_dir_ribbons,
    slow_disks,
    move_bars,
    reassignment_bars,
    run_changes,
)


class Section(NamedTuple):
    """A table without a picture, at a page's end."""

    title: str
    words: str
    rows: Sequence[Mapping[str, Any]]


class Page(NamedTuple):
    """What stands on a page."""

    title: str
    covers: str
    """What it is about, in a line below the title."""
    findings: Sequence[str]
    pictures: Sequence[Picture]
    last: Section | None


def page_text(
    tables: Mapping[str, Sequence[RowDict]],
    script: str,
    *,
    left_out: Mapping[str, int] = MappingProxyType({}),
    reload_s: int | None = None,
) -> str:
    """Return the page of the latest run.

    Args:
        tables: rows of result tables and facts, by name, of any runs.
        script: as ``vega.vega_script``.
        left_out: how many rows ``tables`` lack, by name.
        reload_s: so often the browser reads the page again; never without.
    """
    rows = rows_of_run(shortened(tables), latest_run(tables))
    page = Page(
        _title(rows),
        _covers(rows, left_out),
        findings(rows),
        [picture for picture in (make(rows) for make in _PICTURES) if picture is not None],
        _checks(tables),
    )
    return drawn(page, script, reload_s=reload_s)


def drawn(page: Page, script: str, *, reload_s: int | None = None) -> str:
    """Return a page as HTML; arguments as ``page_text``."""
    template = Template((files(analytics) / "page" / "report.html").read_text(encoding="utf-8"))
    refresh = "" if reload_s is None else f'<meta http-equiv="refresh" content="{reload_s}">'
    return template.substitute(
        refresh=refresh,
        title=escape(page.title),
        covers=escape(page.covers),
        findings="".join(f"<li>{escape(sentence)}</li>" for sentence in page.findings),
        contents=_contents(page),
        figures="".join(_figure(number, picture) for number, picture in enumerate(page.pictures)),
        last="" if page.last is None else _section(page.last),
        specs=_as_script([[panel.spec for panel in picture.panels] for picture in page.pictures]),
        vega=script,
    )


def _contents(page: Page) -> str:
    titles = {f"s{number}": picture.title for number, picture in enumerate(page.pictures)}
    if page.last is not None:
        titles["last"] = page.last.title
    return "".join(
        f'<li><a href="#{place}">{escape(title)}</a></li>' for place, title in titles.items()
    )


def _section(section: Section) -> str:
    return (
        f'<section id="last" aria-labelledby="h-last"><h2 id="h-last">{escape(section.title)}</h2>'
        f'<p class="covers">{escape(section.words)}</p>{_table(section.rows)}</section>'
    )


def _checks(tables: Mapping[str, Sequence[RowDict]]) -> Section | None:
    """Return what is the matter; None where nobody looked."""
    if "checks" not in tables:
        return None
    rows = [{name: row[name] for name in _CHECK_COLUMNS} for row in tables["checks"]]
    return Section("Data checks", _CHECKS_WORDS, rows)


_CHECKS_WORDS: Final = "What is the matter with the dump, so that no number is trusted too far."
_CHECK_COLUMNS: Final = (c.CHECK, c.TABLE, c.DETAIL, c.ROW_COUNT)


def _title(rows: Rows) -> str:
    if not rows["runs"]:
        return "jbodlab report"
    [run] = rows["runs"]
    seed = "" if run[c.SEED] < 0 else f", seed {run[c.SEED]}"
    return f"{run[c.CLUSTER_ID] or 'cluster'}, run {run[c.RUN_ID]}{seed}"


def _covers(rows: Rows, left_out: Mapping[str, int]) -> str:
    said = left_out_text(left_out)
    also = f"; too long for a page: {said} left out, all are in the tables" if said else ""
    if not rows["runs"]:
        return f"No samples of log dirs{also}."
    [run] = rows["runs"]
    times = f"{utc_text(run[c.FIRST_MS])} to {utc_text(run[c.LAST_MS])[11:]} UTC"
    return f"{times}, {count_text(run[c.BROKER_COUNT], 'broker')}{also}"


def _figure(number: int, picture: Picture) -> str:
    kind = "panels small" if picture.is_small else "panels"
    drawings = "".join(
        f'<div class="panel">{_heading(panel.title)}'
        f'<div class="drawing" role="img" aria-label="{escape(panel.description)}" '
        f'data-picture="{number}" data-panel="{index}"></div></div>'
        for index, panel in enumerate(picture.panels)
    )
    return (
        f'<section id="s{number}" aria-labelledby="h{number}"><h2 id="h{number}">'
        f"{escape(picture.title)}</h2><figure><figcaption>{escape(picture.caption)}</figcaption>"
        f'<div class="{kind}">{drawings}</div></figure>'
        f"<details><summary>The numbers</summary>{_table(picture.table)}</details></section>"
    )


def _heading(title: str) -> str:
    """Return none for a panel that its picture's title says enough of."""
    return f"<h3>{escape(title)}</h3>" if title else ""


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return "<p>None.</p>"
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in rows[0])
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_cell(value))}</td>' for value in row.values())}</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        "</div>"
    )


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.3g}"


_WHOLE_FROM: Final = 1000
"""From here on three digits would be written as a power of ten."""


def _as_script(specs: Any) -> str:
    """Return JSON that may stand in a script element, whatever names are in it."""
    return json.dumps(specs, separators=(",", ":")).replace("<", "\\u003c")
