"""``python -m tests.conversations``: jbodlab and Apache Kafka are told the same."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import click

from benchmarks.peer.kafka import PeerMissingError
from conformance.cluster_access import Access, find_cluster
from conformance.trial import Trial
from jbodlab.processes.lab_spec import LabShape
from tests.conformance.apache import CONFIGS, RELEASES, apache_cluster
from tests.conversations.twins import Heard, Twins, talked
from tests.integration.labs import running_lab

TIMEOUT_MS: Final = 20_000
AT_ONCE: Final = CONFIGS | {
    "auto.create.topics.enable": "false",
    "group.consumer.assignment.interval.ms": "0",
}
"""Without the last one what members are assigned hangs on how fast they speak."""
SHOWN_MAX: Final = 600
"""Characters of one request or answer."""


@click.command()
@click.option("--release", default="kafka-4.3", type=click.Choice(list(RELEASES)))
@click.option("--seeds", default="1..40", show_default=True, help="FIRST..LAST")
@click.option("--steps", default=60, show_default=True, type=click.IntRange(1))
@click.pass_context
def main(context: click.Context, release: str, seeds: str, steps: int) -> None:
    """Have drawn conversations with both, and show the shortest that they answer differently.

    The exit code is 1 when there is one. A seed is the same conversation for good.
    """
    wanted = re.fullmatch(r"(\d+)\.\.(\d+)", seeds)
    if wanted is None:
        raise click.BadParameter(f"{seeds} is not FIRST..LAST, as 1..40", param_hint="--seeds")
    chosen = range(int(wanted[1]), int(wanted[2]) + 1)
    emulate = dict.fromkeys(range(1, 4), release.removeprefix("kafka-"))
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        theirs = stack.enter_context(apache_cluster(release, root / "kafka", configs=AT_ONCE))
        shape = LabShape(configs=AT_ONCE, emulate=emulate)
        ours = stack.enter_context(running_lab(root / "lab", shape)).servers[0]
        differing, once = asyncio.run(conversations(ours, theirs, chosen, steps))
    told = f"{differing} answered differently, {once} only once of two times"
    click.echo(f"{len(chosen)} conversations of {steps} steps: {told}")
    context.exit(differing > 0)


async def conversations(ours: str, theirs: str, seeds: range, steps: int) -> tuple[int, int]:
    """Have one for each seed; return how many are answered differently, always or once."""
    differing = 0
    twins = Twins(await _ready(ours), await _ready(theirs), secrets.token_hex(4))
    try:
        for seed in seeds:
            found = await twins.shortest(seed, range(steps))
            if found is not None:
                differing += 1
                _show(seed, *found)
            else:
                click.echo(f"seed {seed}: alike")
    finally:
        twins.ours.close()
        twins.theirs.close()
    return differing, twins.now_and_then


async def _ready(server: str) -> Access:
    access = await find_cluster(server, TIMEOUT_MS)
    await Trial(access, secrets.token_hex(4)).prepare()
    return access


def _show(seed: int, steps: list[int], heard: Heard) -> None:
    click.echo(f"seed {seed}: {heard.difference} in steps {','.join(map(str, steps))}")
    for request in heard.asked:
        click.echo(_cut(f"  asked {request.api} v{request.version}", request.form))
    for theirs, ours in talked(heard):
        is_same = theirs == ours
        click.echo(_cut("  both" if is_same else "  theirs", theirs))
        if not is_same:
            click.echo(_cut("  ours", ours))


def _cut(word: str, form: Mapping[str, Any]) -> str:
    return f"{word}: {json.dumps(form)}"[:SHOWN_MAX]


if __name__ == "__main__":
    try:
        main()
    except PeerMissingError as error:
        click.echo(f"tests.conversations: nobody to compare with: {error}")
