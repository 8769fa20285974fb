"""One member of a group as a process of its own, which a test may kill: ``python -m`` it.

It prints what happens as JSON lines: ``assigned``, ``revoked``, ``read`` and ``committed``, each
with the time of the machine's monotonic clock. It ends when its standard input does.
"""

# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka import ConsumerRebalanceListener as AioListener
from aiokafka.errors import CommitFailedError as AioCommitFailedError
from aiokafka.errors import IllegalStateError as AioIllegalStateError
from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.errors import CommitFailedError, RebalanceInProgressError

SESSION_MS = 6_000
HEARTBEAT_MS = 500
POLL_MS = 200
METADATA_AGE_MS_MAX = 1_000
"""kafka-python asks the same broker until then, whoever leads by now."""


def tell(event: str, what: Any) -> None:
    """Print one line."""
    line = json.dumps({"event": event, "what": what, "at": time.monotonic()})
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def options(servers: str, group: str, instance: str | None) -> dict[str, Any]:
    """Return what both libraries call alike."""
    return {
        "bootstrap_servers": servers.split(","),
        "group_id": group,
        "group_instance_id": instance,
        "session_timeout_ms": SESSION_MS,
        "heartbeat_interval_ms": HEARTBEAT_MS,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "metadata_max_age_ms": METADATA_AGE_MS_MAX,
        "retry_backoff_ms": 100,
    }


class _Told(ConsumerRebalanceListener, AioListener):
    """Both libraries' listeners are called alike; aiokafka takes plain functions, too."""

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        tell("revoked", sorted(tp.partition for tp in revoked))

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        tell("assigned", sorted(tp.partition for tp in assigned))


def told_records(polled: Mapping[Any, Iterable[Any]]) -> dict[int, int]:
    """Print what was read; return the next offset of each partition."""
    positions: dict[int, int] = {}
    for tp, records in polled.items():
        rows = [[tp.partition, each.offset, int(each.value.split(b" ", 1)[0])] for each in records]
        if rows:
            tell("read", rows)
            positions[tp.partition] = rows[-1][1] + 1
    return positions


def run_kafka_python(topic: str, ended: threading.Event, **chosen: Any) -> None:
    """Read and commit until ``ended``."""
    consumer: Any = KafkaConsumer(**chosen)
    consumer.subscribe([topic], listener=_Told())
    while not ended.is_set():
        positions = told_records(consumer.poll(timeout_ms=POLL_MS))
        if not positions:
            continue
        try:
            consumer.commit()
        except (CommitFailedError, RebalanceInProgressError):
            continue  # Somebody else has its partitions by now.
        tell("committed", positions)
    consumer.close()


async def run_aiokafka(topic: str, ended: threading.Event, **chosen: Any) -> None:
    """Read and commit until ``ended``."""
    consumer: Any = AIOKafkaConsumer(**chosen)
    consumer.subscribe([topic], listener=_Told())
    await consumer.start()
    while not ended.is_set():
        positions = told_records(await consumer.getmany(timeout_ms=POLL_MS))
        if not positions:
            continue
        try:
            await consumer.commit()
        except (AioCommitFailedError, AioIllegalStateError):
            continue  # Somebody else has its partitions by now.
        tell("committed", positions)
    await consumer.stop()


def main(library: str, servers: str, group: str, topic: str, instance: str = "") -> None:
    """Be a member until standard input ends."""
    ended = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    chosen = options(servers, group, instance or None)
    if library == "aiokafka":
        asyncio.run(run_aiokafka(topic, ended, **chosen))
    else:
        run_kafka_python(topic, ended, **chosen)
    tell("left", [])


if __name__ == "__main__":
    main(*sys.argv[1:])
