"""``dump-log``: shows segments, indexes, snapshots and checkpoints as Kafka's dump tool does.

It asks no cluster; the files may belong to a broker that runs, or to Apache Kafka.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jbodlab.errors import ExitCode, LabError

if TYPE_CHECKING:
    from jbodlab.decoding.dumps.row import DumpOptions, Row


@click.command("dump-log", short_help="Show what is in the files of a log dir.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--files", help="The same as PATHS, with commas between.")
@click.option("--deep-iteration", is_flag=True, help="Show records below their batch.")
@click.option("--print-data-log", is_flag=True, help="Show keys and values, too.")
@click.option("--skip-record-metadata", is_flag=True, help="Show nothing else of records.")
@click.option("--max-bytes", type=int, default=2**31 - 1, help="Read as much of each log.")
@click.option(
    "--max-message-size",
    type=int,
    default=5 * 1024 * 1024,
    show_default=True,
    help="The largest batch that an index may point to.",
)
@click.option("--verify-index-only", is_flag=True, help="Check indexes, do not show them.")
@click.option(
    "--index-sanity-check", is_flag=True, help="Check indexes as a broker does when it starts."
)
@click.option("--json", "is_json", is_flag=True, help="Write one line of JSON per row.")
def dump_log(  # noqa: PLR0913 - click passes each option by name
    paths: tuple[Path, ...],
    *,
    files: str | None,
    deep_iteration: bool,
    print_data_log: bool,
    skip_record_metadata: bool,
    max_bytes: int,
    max_message_size: int,
    verify_index_only: bool,
    index_sanity_check: bool,
    is_json: bool,
) -> None:
    """Show what is in the files of a log dir; a directory stands for all files below it.

    Options and lines are those of Kafka's DumpLogSegments, which knows segments, their indexes and
    producer snapshots; this knows the checkpoints, meta.properties and partition.metadata as well.

    \b
    jbodlab dump-log data/b1/d1/orders-0
    jbodlab dump-log --print-data-log --files data/b1/d1/orders-0/00000000000000000000.log
    """  # noqa: D301 - click leaves the lines behind the backspace as they are
    from jbodlab.decoding.dumps.row import DumpOptions  # noqa: PLC0415 - the storage room takes a while

    options = DumpOptions(
        is_deep=deep_iteration,
        shows_contents=print_data_log,
        skips_metadata=skip_record_metadata,
        bytes_max=max_bytes,
        message_bytes_max=max_message_size,
        verifies_only=verify_index_only,
        checks_sanity_only=index_sanity_check,
    )
    named = [*paths, *(Path(name.strip()) for name in (files or "").split(",") if name.strip())]
    if not named:
        raise click.UsageError("name the files to dump")
    _dump(named, options, is_json=is_json)


def _dump(named: Sequence[Path], options: DumpOptions, *, is_json: bool) -> None:
    from jbodlab.decoding.dumps.files import dump_file, files_below  # noqa: PLC0415
    from jbodlab.decoding.dumps.row import Findings  # noqa: PLC0415

    findings = Findings()
    for path in [file for one in named for file in files_below(one)]:
        if not is_json:
            click.echo(f"Dumping {path}")
        rows = dump_file(path, options, findings)
        if rows is None and not path.exists():
            findings.note(f"Cannot be read: {path.absolute()}", "  No such file or directory")
            continue
        if rows is None:
            click.echo(f"Ignoring unknown file {path}", err=True)
            continue
        try:
            for row in rows:
                click.echo(_json_line(path, row) if is_json else row.text)
        except OSError as error:
            findings.note(f"Cannot be read: {path.absolute()}", f"  {error.strerror or error}")
    for line in findings.lines():
        click.echo(line, err=True)
    if findings.faults_count:
        raise LabError(ExitCode.MALFORMED, f"{findings.faults_count} finding(s), see above")


def _json_line(path: Path, row: Row) -> str:
    return json.dumps({"file": str(path), **row.content}, ensure_ascii=False)
