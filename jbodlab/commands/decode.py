"""``decode``: shows requests and responses from hex, a file or a capture as JSON.

It asks no cluster. Who sent what in a capture is told by ``jbodlab.decoding.capture``.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from jbodlab.decoding.frames import (
    ReadFrame,
    read_all,
    read_body,
    read_request,
    read_response,
)
from jbodlab.errors import ExitCode, LabError
from protocol.json_form import message_of

CAPTURE_MAGICS: Final = tuple(
    map(bytes.fromhex, ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "0a0d0d0a"))
)
"""How pcap files begin (in both byte orders, with micro- or nanoseconds), and pcapng ones."""
KINDS: Final = (
    *("request", "response", "header"),
    *("coordinator-key", "coordinator-value", "data"),
)
PATH_LENGTH_MAX: Final = 255
_HEX: Final = frozenset(b"0123456789abcdefABCDEF \t\r\n")


@dataclass(frozen=True, slots=True)
class Shown:
    """A frame and where it was seen; both empty but in captures."""

    frame: ReadFrame
    connection: str | None = None
    at_s: float | None = None

    def content(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        where = {"at": self.at_s, "connection": self.connection}
        return {
            **{name: value for name, value in where.items() if value is not None},
            **self.frame.content(),
        }

    def text(self) -> str:
        """Return what people read."""
        frame = self.frame
        header = frame.header or {}
        parts = [
            frame.kind,
            frame.api,
            None if frame.version is None else f"v{frame.version}",
            f"correlation {header['correlationId']}" if header else None,
            f"client {header['clientId']}" if header.get("clientId") else None,
            None if self.connection is None else f"on {self.connection} at {self.at_s:.6f}",
        ]
        lines = [" ".join(part for part in parts if part is not None)]
        if frame.note is not None:
            lines.append(f"  ({frame.note})")
        if frame.body is not None:
            lines.append(json.dumps(frame.body, indent=2, ensure_ascii=False))
        if frame.left_over:
            lines.append(f"  {len(frame.left_over)} bytes left over: {frame.left_over.hex()}")
        if frame.error is not None:
            lines.append(f"  broken: {frame.error}")
        return "\n".join(lines)


@click.command(short_help="Show requests and responses as JSON.")
@click.argument("source", required=False)
@click.option("--api", help="Its name or key: SOURCE is one body of this API, of --version.")
@click.option("--version", type=int, help="The version of the body, or of the responses.")
@click.option("--kind", type=click.Choice(KINDS), default="request", show_default=True)
@click.option("--with-header", is_flag=True, help="With --api: SOURCE is whole responses.")
@click.option("--port", type=int, help="Of a capture: only connections to this port.")
@click.option("--json", "is_json", is_flag=True, help="Write one line of JSON per frame.")
def decode(  # noqa: PLR0913 - click passes each option by name
    source: str | None,
    *,
    api: str | None,
    version: int | None,
    kind: str,
    with_header: bool,
    port: int | None,
    is_json: bool,
) -> None:
    """Show the requests and responses in SOURCE as JSON, and where a broken one breaks.

    SOURCE is hex, or a file: hex, raw frames back to back (with their sizes or without), a pcap or
    pcapng capture. Without SOURCE, or with -, it is read from stdin.

    \b
    jbodlab decode 0000001a0012000400000001...
    jbodlab decode --api Metadata --version 12 --kind response 0000...
    jbodlab decode --port 9092 kafka.pcap
    """  # noqa: D301 - click leaves the lines behind the backspace as they are
    content = _content(source)
    if (api is None) != (version is None):
        raise click.UsageError("--api and --version go together")
    if with_header and api is None:
        raise click.UsageError("--with-header needs --api and --version: responses do not tell")
    if api is not None and version is not None:
        name = (int(api) if api.isdecimal() else api, kind, version)
        shown = _of_one_api(content, name, with_header=with_header)
    elif content.startswith(CAPTURE_MAGICS):
        shown = _of_capture(content, port)
    elif kind == "request":
        shown = map(Shown, read_all(content, kind, read_request))
    else:
        raise click.UsageError(f"a {kind} does not tell what it is: add --api and --version")
    _show(shown, is_json=is_json)


def _content(source: str | None) -> bytes:
    """Return the bytes of hex, a file or stdin; hex in any of them is turned into bytes."""
    if source in (None, "-"):
        raw = sys.stdin.buffer.read()
    elif len(source) <= PATH_LENGTH_MAX and Path(source).is_file():
        raw = Path(source).read_bytes()
    else:
        raw = source.encode()
        if not _is_hex(raw):
            raise click.UsageError(f"{source} is neither hex nor a file")
    return bytes.fromhex(raw.decode()) if _is_hex(raw) else raw


def _is_hex(raw: bytes) -> bool:
    return _HEX.issuperset(raw) and sum(map(len, raw.split())) % 2 == 0


def _of_one_api(
    content: bytes, name: tuple[str | int, str, int], *, with_header: bool
) -> Iterator[Shown]:
    api, kind, version = name
    if with_header:
        read = partial(read_response, api=api, version=version)
        return map(Shown, read_all(content, kind, read))
    try:
        cls, at = message_of(api, kind, version)
    except KeyError as error:
        raise LabError(ExitCode.FAILED, str(error.args[0])) from error
    return map(Shown, [read_body(content, cls, at)])


def _of_capture(content: bytes, port: int | None) -> Iterator[Shown]:
    # dpkt takes as long to import as all else of a command.
    from jbodlab.decoding.capture import CaptureError  # noqa: PLC0415
    from jbodlab.decoding.transcript import Transcript  # noqa: PLC0415

    transcript = Transcript(content, port=port)
    try:
        for seen in transcript:
            yield Shown(seen.frame, str(seen.connection), seen.at_s)
    except CaptureError as error:
        raise LabError(ExitCode.MALFORMED, str(error)) from error
    for connection in transcript.left_out:
        hint = "it does not begin as Kafka's protocol does; --port takes it in"
        click.echo(f"jbodlab: left out {connection}: {hint}", err=True)


def _show(shown: Iterator[Shown], *, is_json: bool) -> None:
    counts: Counter[bool] = Counter()
    for one in shown:
        click.echo(json.dumps(one.content(), ensure_ascii=False) if is_json else one.text())
        counts[one.frame.error is not None] += 1
    if not counts:
        raise LabError(ExitCode.MALFORMED, "there is no frame of Kafka's protocol in it")
    if counts[True]:
        raise LabError(
            ExitCode.MALFORMED, f"{counts[True]} of {counts.total()} frame(s) cannot be read"
        )
