"""``python -m tests.conformance record|judge|teeth``: what starts Apache Kafka for ``conform``."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from benchmarks.peer.kafka import PeerMissingError
from conformance.cluster_access import find_cluster
from conformance.core.catalogue import PLAIN, PROFILES, SECURED
from conformance.core.expectations import Expectations, pack
from conformance.core.verdicts import Outcome, Verdict
from conformance.trial import Trial, file_of, judged, load_expectations, recorded
from protocol.security.client import OPEN
from tests.conformance.apache import RELEASES, apache_cluster
from tests.conformance.mutations import KINDS, Mutation, drawn
from tests.conformance.secured import security
from tests.conformance.teeth import Bite, bites

FOLDER: Final = Path(__file__).parents[2] / "conformance" / "expectations"
TIMEOUT_MS: Final = 60_000
BITE_TIMEOUT_MS: Final = 10_000
"""An answer that was taken away is waited for that long."""
REPORTED_MIN: Final = 0.95
"""Of all changes."""


@click.group()
def main() -> None:
    """Record what brokers are judged by, and judge the judge."""


_profile = click.option("--profile", default=PLAIN, type=click.Choice(PROFILES))
_releases = click.option("--release", "releases", multiple=True, type=click.Choice(list(RELEASES)))


@main.command()
@_profile
@_releases
def record(profile: str, releases: tuple[str, ...]) -> None:
    """Record Apache Kafka, each release from a fresh cluster."""
    for release in releases or tuple(RELEASES):
        with tempfile.TemporaryDirectory() as folder:
            with apache_cluster(release, Path(folder) / "kafka", profile) as server:
                made = asyncio.run(recording(server, RELEASES[release], profile))
            (FOLDER / file_of(release, profile)).write_bytes(pack(made))
            click.echo(f"{release}: {len(made.seen)} cases recorded")


@main.command()
@click.option("--runs", default=10, show_default=True, type=click.IntRange(1))
@click.option("--only", default="*", help="A case or group; * and ?.")
@_profile
@_releases
@click.pass_context
def judge(
    context: click.Context, runs: int, only: str, profile: str, releases: tuple[str, ...]
) -> None:
    """Judge Apache Kafka itself, each time on a fresh cluster: each violation is a false alarm."""
    alarms = 0
    for release in releases or tuple(RELEASES):
        for number in range(1, runs + 1):
            with (
                tempfile.TemporaryDirectory() as folder,
                apache_cluster(release, Path(folder) / "kafka", profile) as server,
            ):
                found = asyncio.run(violations(server, release, profile, only))
            alarms += len(found)
            click.echo(f"{release} run {number}: {len(found)} false alarm(s)")
            for each in found:
                for difference in each.differences:
                    click.echo(f"  {each.name}: {difference}")
    context.exit(alarms > 0)


@main.command()
@click.option("--count", default=200, show_default=True, type=click.IntRange(1))
@click.option("--seed", default=1, show_default=True)
@click.option("--release", default="kafka-3.9", type=click.Choice(list(RELEASES)))
@_profile
@click.pass_context
def teeth(context: click.Context, count: int, seed: int, release: str, profile: str) -> None:
    """Change answers before an Apache Kafka, one at a time; tell how many are reported."""
    with (
        tempfile.TemporaryDirectory() as folder,
        apache_cluster(release, Path(folder) / "kafka", profile) as server,
    ):
        found = asyncio.run(biting(server, release, profile, drawn(count, seed)))
    for kind in KINDS:
        of_kind = [each for each in found if each.kind == kind]
        click.echo(f"{kind}: {sum(each.is_reported for each in of_kind)} of {len(of_kind)}")
    for each in found:
        if not each.is_reported:
            click.echo(f"not reported: {each.what} in {each.case}")
    reported = sum(each.is_reported for each in found)
    click.echo(f"{reported} of {count} changes reported, seed {seed}")
    context.exit(reported < count * REPORTED_MIN)


async def biting(
    server: str, release: str, profile: str, mutations: Sequence[Mutation]
) -> list[Bite]:
    """Carry mutations out before a cluster of that release."""
    trial = await new_trial(server, profile, BITE_TIMEOUT_MS)
    try:
        return await bites(trial, load_expectations(release, profile), mutations)
    finally:
        trial.access.close()


async def recording(server: str, version: str, profile: str = PLAIN) -> Expectations:
    """Record a cluster."""
    trial = await new_trial(server, profile)
    try:
        return await recorded(trial, version)
    finally:
        trial.access.close()


async def new_trial(server: str, profile: str = PLAIN, timeout_ms: int = TIMEOUT_MS) -> Trial:
    """Return a run against a cluster, with a drawn suffix."""
    login = security() if profile == SECURED else OPEN
    access = await find_cluster(server, timeout_ms, login)
    return Trial(access, secrets.token_hex(4), profile=profile)


async def violations(
    server: str, release: str, profile: str = PLAIN, only: str = "*"
) -> list[Verdict]:
    """Judge a cluster by its own release, clean up, and return what it is said to do wrong."""
    trial = await new_trial(server, profile)
    try:
        verdicts = await judged(trial, load_expectations(release, profile), pattern=only)
    finally:
        assert await trial.clean_up() == []
        trial.access.close()
    return [each for each in verdicts if each.outcome is Outcome.VIOLATION]


if __name__ == "__main__":
    try:
        main()
    except PeerMissingError as error:
        click.echo(f"tests.conformance: nothing was judged, as Apache Kafka cannot be had: {error}")
