"""``conform``: judges a cluster that speaks Kafka's protocol; records what it is judged by."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from conformance.card import card, content
from conformance.cluster_access import Access, find_cluster
from conformance.core.catalogue import PLAIN, PROFILES, matches, variants
from conformance.core.expectations import Expectations, pack
from conformance.core.verdicts import Outcome, Verdict
from conformance.errors import AddressError, ConformanceError, NoClusterError, NotInTimeError
from conformance.junit import junit
from conformance.known_differences import LISTS, known_differences
from conformance.trial import (
    CASES,
    JOBS,
    RELEASES,
    Trial,
    judged,
    likely_release,
    load_expectations,
    recorded,
)
from jbodlab.asking.client_settings import read_command_config
from jbodlab.commands.widths import PIPE_WIDTH
from jbodlab.errors import ExitCode, LabError
from protocol.security.client import OPEN, ClientSecurity

T = TypeVar("T")
BROKERS_MIN: Final = 3
"""Of a cluster that is recorded."""
_CODES: Final = (
    (AddressError, ExitCode.USAGE),
    (NoClusterError, ExitCode.NOT_RUNNING),
    (NotInTimeError, ExitCode.TIMED_OUT),
)
_command_config = click.option(
    "--command-config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Security, as a properties file of Kafka's clients.",
)
_profile = click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default=PLAIN,
    show_default=True,
    help="The cases: of a cluster without an authorizer, or of one with SASL, ACLs and tokens.",
)
_only = click.option(
    "--only", "pattern", default="*", metavar="PATTERN", help="A case or group; * and ?."
)
_jobs = click.option(
    "--jobs", default=JOBS, show_default=True, type=click.IntRange(1), help="Cases at a time."
)
_timeout = click.option(
    "--timeout-ms",
    default=30_000,
    show_default=True,
    type=click.IntRange(1),
    help="How long an answer may take.",
)


@click.group(
    "conform",
    short_help="Judge a broker by what Kafka answers.",
    invoke_without_command=True,
    subcommand_metavar="[record]",
)
@click.option("--bootstrap-server", metavar="HOST:PORT", help="A broker of the cluster to judge.")
@_command_config
@_profile
@click.option(
    "--against",
    type=click.Choice(RELEASES),
    help="The release to judge by; without it, what fits the versions that are announced.",
)
@_only
@click.option(
    "--known-differences", "known_list", type=click.Choice(LISTS), help="Excuse what a list names."
)
@click.option("--junit", "junit_file", type=click.Path(path_type=Path), help="Write JUnit XML.")
@_jobs
@_timeout
@click.option("--list", "is_list", is_flag=True, help="Name the cases and what each looks at.")
@click.option("--json", "is_json", is_flag=True, help="Write the result as JSON.")
@click.pass_context
def conform(  # noqa: PLR0913 - click passes each option by name
    context: click.Context,
    *,
    bootstrap_server: str | None,
    command_config: Path | None,
    profile: str,
    against: str | None,
    pattern: str,
    known_list: str | None,
    junit_file: Path | None,
    jobs: int,
    timeout_ms: int,
    is_list: bool,
    is_json: bool,
) -> None:
    """Ask a running cluster a thousand things and compare every field with what Kafka answers.

    The cluster may be of any make that speaks Kafka's protocol; a secured one is asked as
    --command-config says. What it is compared with was recorded from Apache Kafka 3.9.2 and 4.3.1
    (see docs/conform.md for what is recorded and what is not compared). Cases make topics and
    groups of their own, whose names begin with conform-, and delete them at the end; nobody else's
    are touched. Cases about replicas need three brokers. The exit code is 12 when anything differs.

    \b
    jbodlab conform --bootstrap-server localhost:9092
    jbodlab conform --bootstrap-server localhost:9092 --only idempotence
    jbodlab conform --bootstrap-server localhost:9092 --only 'typical/Fetch@v12' --json
    """  # noqa: D301 - click leaves the lines behind the backspace as they are
    if context.invoked_subcommand is not None:
        return
    if is_list:
        _list(against or RELEASES[0], profile, pattern, is_json=is_json)
        return
    if bootstrap_server is None:
        raise click.UsageError("--bootstrap-server HOST:PORT says which cluster to judge")

    async def judge() -> tuple[list[Verdict], str, list[str]]:
        access = await find_cluster(bootstrap_server, timeout_ms, _security(command_config))
        release = against or likely_release(access)
        expectations = load_expectations(release, profile)
        total = len(list(variants(CASES[profile], expectations.announced, pattern)))
        excused = [] if known_list is None else known_differences(known_list, release)
        async with _trial("judging", profile, access, jobs, total) as (trial, left):
            verdicts = await judged(trial, expectations, excused, pattern)
        return verdicts, release, left

    verdicts, release, left = _carried_out(judge())
    if junit_file is not None:
        junit_file.write_bytes(junit(verdicts, release))
    if is_json:
        click.echo(json.dumps(content(verdicts, release, left), indent=2, ensure_ascii=False))
    else:
        again = _again(bootstrap_server, release, command_config, profile)
        console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
        console.print(card(verdicts, release, again))
    if any(each.outcome is Outcome.VIOLATION for each in verdicts):
        context.exit(ExitCode.VIOLATION)


@conform.command()
@click.option("--bootstrap-server", metavar="HOST:PORT", required=True, help="An Apache Kafka.")
@_command_config
@_profile
@click.option("--release", required=True, help='Which release that is, such as "3.9.2".')
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file to write.")
@_only
@_jobs
@_timeout
@click.option("--json", "is_json", is_flag=True, help="Say as JSON what was recorded.")
def record(  # noqa: PLR0913 - click passes each option by name
    *,
    bootstrap_server: str,
    command_config: Path | None,
    profile: str,
    release: str,
    out: Path,
    pattern: str,
    jobs: int,
    timeout_ms: int,
    is_json: bool,
) -> None:
    """Record from a running Apache Kafka what others are judged by.

    The cluster needs three brokers. Record from Apache Kafka only: what a recorded broker does
    wrong becomes the measure.
    """

    async def ask() -> Expectations:
        access = await find_cluster(bootstrap_server, timeout_ms, _security(command_config))
        if len(access.brokers) < BROKERS_MIN:
            words = f"{bootstrap_server} has {len(access.brokers)} broker(s), recording needs three"
            raise ConformanceError(words)
        total = len(list(variants(CASES[profile], access.announced, pattern)))
        async with _trial("recording", profile, access, jobs, total) as (trial, _):
            return await recorded(trial, release, pattern)

    made = _carried_out(ask())
    out.write_bytes(pack(made))
    told = {"release": release, "cases": len(made.seen), "file": str(out)}
    click.echo(json.dumps(told) if is_json else f"{len(made.seen)} cases recorded in {out}")


def _again(server: str, release: str, command_config: Path | None, profile: str) -> str:
    """Return the command that judges the same cluster once more."""
    command = f"jbodlab conform --bootstrap-server {server} --against {release}"
    if command_config is not None:
        command += f" --command-config {command_config}"
    return command if profile == PLAIN else f"{command} --profile {profile}"


def _security(command_config: Path | None) -> ClientSecurity:
    return OPEN if command_config is None else read_command_config(command_config)


def _carried_out(asking: Coroutine[Any, Any, T]) -> T:
    """Run it to its end.

    Raises:
        LabError: the cluster cannot be judged; says why.
    """
    try:
        return asyncio.run(asking)
    except ConformanceError as error:
        code = next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.FAILED)
        raise LabError(code, str(error)) from error


@asynccontextmanager
async def _trial(
    doing: str, profile: str, access: Access, jobs: int, total: int
) -> AsyncGenerator[tuple[Trial, list[str]]]:
    """Give a run and the list of what it leaves behind, which is filled when it is over."""
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    left: list[str] = []
    with progress:
        task = progress.add_task(doing, total=total)
        suffix = secrets.token_hex(4)
        trial = Trial(access, suffix, jobs, lambda _: progress.advance(task), profile)
        try:
            yield trial, left
        finally:
            left += await trial.clean_up()
            access.close()
    if left:
        words = f"{len(left)} of what was made is left behind, such as {left[0]}"
        click.echo(f"jbodlab: {words}: delete topics and groups that begin with conform-", err=True)


def _list(release: str, profile: str, pattern: str, *, is_json: bool) -> None:
    seen = load_expectations(release, profile).seen
    names = [name for name in seen if matches(name, pattern)]
    cases = {each.name: each for each in CASES[profile]}
    versions: dict[str, list[str]] = {}
    for name in names:
        versions.setdefault(name.partition("@v")[0], []).append(name.partition("@v")[2])
    rows: list[dict[str, Any]] = [
        {"case": each, "versions": versions[each], "about": case.about, "brokers": case.brokers}
        for each, case in cases.items()
        if each in versions
    ]
    if is_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        click.echo(f"{row['case']} (v{', '.join(row['versions'])})\n    {row['about']}")
