# confluent-kafka has types in part only.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportPrivateImportUsage=false
"""What security costs: ``python -m benchmarks.security [--peer kafka]`` prints three tables.

Rates of 1 KiB records at PLAINTEXT, and by SASL_SSL with an authorizer; connections a second that
log in with SCRAM-SHA-512 and ask for the API versions; the time of a decision with few and many
ACLs. Topics have one replica, so that it is about clients. Of each the best of ``--rounds`` counts.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
from confluent_kafka.admin import AdminClient, NewTopic
from rich.console import Console
from rich.table import Table

from benchmarks.authorizer import acls, decision_us
from benchmarks.jbodlab_target import JbodlabTarget
from benchmarks.load import consume, produce
from benchmarks.peer.kafka import BUILD_DIR, KafkaPeer, PeerMissingError, fetch
from benchmarks.secured_targets import MECHANISM, SecuredJbodlab, SecuredKafka
from benchmarks.targets import new_target
from protocol.acls.authorizer import Authorizer
from protocol.configs.broker import BrokerConfig
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.security.sasl_client import Login, authenticates
from protocol.security.tls import client_context
from protocol.transport.door import Key
from protocol.transport.rpc_client import RpcClient

_PARTITIONS: Final = 3
_RECORD_BYTES: Final = 1024
_AT_ONCE: Final = 8
"""Connections under way at a time."""
_DEADLINE_S: Final = 60
_ACL_COUNTS: Final = (10, 10_000)
_DECISIONS: Final = ("literal", "prefixed", "refused")
_JAVA: Final = Path(__file__).parent / "peer" / "AclDecision.java"
_MAKERS: Final[dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any]]]] = {
    "jbodlab": (JbodlabTarget, SecuredJbodlab),
    "kafka": (partial(KafkaPeer, build_dir=BUILD_DIR), SecuredKafka),
}
"""The plain and the secured cluster of each."""


class Plan(NamedTuple):
    """How much is measured."""

    records: int
    connections: int
    rounds: int


class Measured(NamedTuple):
    """What one cluster did."""

    produced_mb_per_s: float
    consumed_mb_per_s: float
    connections_per_s: float | None


@click.command()
@click.option("--peer", type=click.Choice(["kafka"]), help="Measure Apache Kafka 3.9.2 too.")
@click.option("--records", default=300_000, show_default=True, help="Of 1 KiB, in a round.")
@click.option("--connections", default=400, show_default=True, help="In a round.")
@click.option("--rounds", default=3, show_default=True)
def main(*, peer: str | None, records: int, connections: int, rounds: int) -> None:
    """Measure jbodlab, and the peer in the same run."""
    plan, console = Plan(records, connections, rounds), Console()
    names = ["jbodlab", *([peer] if peer else [])]
    try:
        found = {name: _measured(_MAKERS[name], plan) for name in names}
        decisions = {name: _DECIDERS[name]() for name in names}
    except PeerMissingError as error:
        raise click.ClickException(str(error)) from error
    console.print(_rates(found))
    console.print(_connections(found))
    console.print(_decisions(decisions))


def _rates(found: Mapping[str, list[Measured]]) -> Table:
    table = Table("target", "", "plaintext MB/s", "SASL_SSL MB/s", "share kept")
    for name, (plain, secured) in found.items():
        for what, before, after in (
            ("produce", plain.produced_mb_per_s, secured.produced_mb_per_s),
            ("consume", plain.consumed_mb_per_s, secured.consumed_mb_per_s),
        ):
            table.add_row(name, what, f"{before:.0f}", f"{after:.0f}", f"{after / before:.2f}")
    return table


def _connections(found: Mapping[str, list[Measured]]) -> Table:
    table = Table("target", f"connections/s by SASL_SSL, {MECHANISM}")
    for name, (_, secured) in found.items():
        table.add_row(name, f"{secured.connections_per_s or 0:.0f}")
    return table


def _decisions(found: Mapping[str, dict[int, list[float]]]) -> Table:
    table = Table("target", "ACLs", *(f"{each}, us" for each in _DECISIONS))
    for name, by_count in found.items():
        for count, times_us in by_count.items():
            table.add_row(name, f"{count:,}", *(f"{each:.2f}" for each in times_us))
    return table


def _measured(makers: Sequence[Callable[[Path], Any]], plan: Plan) -> list[Measured]:
    """Measure clusters that run at the same time, in turns: what else goes on meets them alike."""
    with ExitStack() as stack:
        clients: list[dict[str, str]] = []
        for maker in makers:
            target = stack.enter_context(new_target(maker, "security", Console(stderr=True)))
            target.launch()
            target.wait_until_up()
            plain = {"bootstrap.servers": target.bootstrap}
            clients.append(getattr(target, "client", plain))
        rounds = [
            [_rates_of(each, number, plan) for each in clients] for number in range(plan.rounds)
        ]
        found: list[Measured] = []
        for client, of_client in zip(clients, zip(*rounds, strict=True), strict=True):
            produced, consumed = (max(each) for each in zip(*of_client, strict=True))
            logins = _logins(client, plan) if "sasl.password" in client else None
            found.append(Measured(produced, consumed, logins))
        return found


def _rates_of(client: dict[str, str], number: int, plan: Plan) -> tuple[float, float]:
    """Return MB/s produced and consumed, of a topic of the round's own."""
    topic, admin = f"secured-{number}", AdminClient({**client})
    created: Any = admin.create_topics([NewTopic(topic, _PARTITIONS, 1)])
    created[topic].result(_DEADLINE_S)
    own, size = {"partitions": _PARTITIONS, "count": plan.records}, _RECORD_BYTES
    produced = produce(client, topic, size_bytes=size, acks="1", **own)
    return produced.megabytes_per_s, consume(client, topic, **own).megabytes_per_s


def _logins(client: Mapping[str, str], plan: Plan) -> float:
    """Return how many a second log in at one broker: the best round, after one that warms up."""
    host, _, port = client["bootstrap.servers"].split(",")[0].partition(":")
    trusted = BrokerConfig(ssl_truststore_location=client["ssl.ca.location"])
    login = Login(MECHANISM, client["sasl.username"], client["sasl.password"])
    key = Key(client_context(trusted), authenticates(login))

    async def some(count: int) -> None:
        for _ in range(count):
            connection = RpcClient(host=host, port=int(port), client_id="bench", key=key)
            await connection.request(ApiVersionsRequest(), 3)
            connection.close()

    async def all_of_them() -> float:
        begun = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(_AT_ONCE):
                tasks.create_task(some(plan.connections // _AT_ONCE))
        return plan.connections // _AT_ONCE * _AT_ONCE / (time.perf_counter() - begun)

    return max([asyncio.run(all_of_them()) for _ in range(plan.rounds + 1)][1:])


def _own_decisions() -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for count in _ACL_COUNTS:
        authorizer = Authorizer()
        authorizer.replace(acls(count))
        asked = (("topic-0-", True), ("topic-1-a", True), ("other", False))
        found[count] = [decision_us(authorizer, name, expected=is_told) for name, is_told in asked]
    return found


def _kafkas_decisions() -> dict[int, list[float]]:
    class_path = f"{fetch(BUILD_DIR)}/*"
    found: dict[int, list[float]] = {}
    for count in _ACL_COUNTS:
        command = ["java", "-cp", class_path, str(_JAVA), str(count)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found[count] = [float(line) for line in done.stdout.split()]
    return found


_DECIDERS: Final = {"jbodlab": _own_decisions, "kafka": _kafkas_decisions}

if __name__ == "__main__":
    main()
