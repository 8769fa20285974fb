from __future__ import annotations

import asyncio
import random

import pytest

from simulation.core.history import History
from simulation.core.plan import Workload
from simulation.run.workloads import ENDS_WITHIN_MS, Workloads
from simulation.workload.clients import ClusterClient
from simulation.workload.progress import Progress
from simulation.world.clock import SimClock
from simulation.world.loop import SimLoop
from tests.simulation.run.played import found, play, story


@pytest.mark.parametrize(
    "settings",
    ["acks: all, idempotent: true", 'acks: "1", batch_records: 5', 'acks: "0", record_bytes: 1000'],
)
def test_producers_write_as_they_are_told(settings: str) -> None:
    verdict = play(
        "- until: {count: {workload: load, at_least: 10}}",
        rest=f"workloads: [{{name: load, topic: a, {settings}}}]",
    )

    assert found(verdict) == []


def test_a_producer_with_a_limit_ends_there() -> None:
    verdict = play(
        "- wait: 5s\n- expect: {count: {workload: load, is: 7}}",
        rest="workloads: [{name: load, topic: a, records_max: 7}]",
    )

    assert found(verdict) == []


def test_the_clients_of_a_library_take_part() -> None:
    verdict = play(
        """
        - until: {count: {workload: load, at_least: 10}}
        - until: {count: {workload: reader, what: read, at_least: 10}}
        - until: {count: {workload: member, what: read, at_least: 10}}
        """,
        rest="""
workloads:
  - {name: load, topic: a, client: aiokafka}
  - {name: reader, topic: a, client: aiokafka, kind: consume}
  - {name: member, topic: a, client: aiokafka, kind: consume, group: g}
""",
    )

    assert found(verdict) == []


def test_what_is_written_in_transactions_is_transformed_and_read_to_its_end() -> None:
    verdict = play(
        """
        - create_topic: b
        - start_workload: teller
        - start_workload: reader
        - until: {count: {workload: teller, at_least: 10}}
        - until: {count: {workload: reader, what: read, at_least: 10}}
        """,
        rest="""
workloads:
  - {name: load, topic: a, client: aiokafka, transactional: true, aborts_every: 2}
  - name: teller
    kind: transform
    topic: a
    into: b
    group: g
    client: aiokafka
    begins: false
  - name: reader
    kind: consume
    topic: b
    client: aiokafka
    read_committed: true
    begins: false
""",
    )

    assert found(verdict) == []
    counts = [line for line in story(verdict) if line.startswith("all is read")]
    assert len(counts) == 2


def test_a_mover_moves() -> None:
    verdict = play(
        "- until: {replica_in: {of: a-0, broker: 1, log_dir: d2}}",
        rest="workloads: [{name: mover, topic: a, kind: move, interval: 500ms}]",
    )

    assert found(verdict) == []


def test_offsets_of_a_group_are_administered_to_the_end() -> None:
    verdict = play(
        "- until: {count: {workload: offsets, at_least: 40}}",
        rest="workloads: [{name: offsets, topic: a, kind: administer, group: g}]",
    )

    assert found(verdict) == []


def test_errors_are_counted_by_their_code() -> None:
    verdict = play(
        """
        - until: {count: {workload: load, at_least: 5}}
        - kill: 1
        - until: {error_seen: {workload: load, code: NETWORK_EXCEPTION}}
        - start: 1
        - until: {count: {workload: load, more: 5}}
        - expect: {count: {workload: load, what: errors, at_least: 1}}
        """,
        rest="workloads: [{name: load, topic: a}]",
    )

    assert found(verdict) == []


class Endless:
    """A client that goes on whatever it is told."""

    def __init__(self) -> None:
        self.progress = Progress()

    async def run(self) -> None:
        await asyncio.Event().wait()

    def stop(self) -> None:
        pass


class EndlessWorkloads(Workloads):
    def _client(self, workload: Workload, connection: ClusterClient) -> Endless:
        del workload, connection
        return Endless()


def test_a_client_that_does_not_end_is_given_up() -> None:
    loop = SimLoop(1)

    async def ended() -> list[str]:
        async with asyncio.TaskGroup() as group:
            workloads = EndlessWorkloads(
                {"endless": Workload(name="endless", topic="a")},
                lambda name: ClusterClient({}, name),
                History(lambda: loop.now_us),
                random.Random(1),
                SimClock(lambda: loop.now_us),
                group,
            )
            workloads.begin("endless")
            endless = await workloads.end_writers()
            assert await workloads.end_writers() == endless, "asked again, it has ended"
            return endless

    try:
        assert loop.run_until_complete(ended()) == ["endless"]
        assert loop.now_us // 1000 == ENDS_WITHIN_MS
    finally:
        loop.close()
