"""A controller in this process, with fake brokers over real sockets and a journal on disk."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from controller.app import PortError, WrongClusterError, settings_of
from controller.core.decision import Decision, Durable
from controller.core.machine import HalfDoneError
from controller.journal import Journal, JournalFile, JournalInUseError
from protocol.cluster_file.spec import ClusterSpec
from protocol.configs.authorizer import STANDARD_AUTHORIZER
from protocol.configs.messages import SCRAM_CREDENTIALS
from protocol.configs.parsing import broker_config
from protocol.errors import ErrorCode
from protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.control import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from protocol.messages.topics import (
    DeleteTopicsRequest,
)
from protocol.metrics.rows import TABLE_VERSION, FailoverStep
from protocol.security.doors import key_of
from protocol.security.listeners import INTER_BROKER_PROTOCOL, SecurityProtocol
from protocol.transport.door import NO_KEY, Key
from protocol.transport.rpc_client import RpcClient
from tests.controller.core.cluster import tp
from tests.controller.core.reassigning import wish
from tests.controller.fake_broker import FakeBroker
from tests.controller.running import (
    CLUSTER,
    brokers,
    create,
    round_trips,
    run_once,
    running,
    spec_in,
    with_port,
)
from tests.deadlines import DEADLINE_S


async def asked_for_credentials(spec: ClusterSpec, key: Key = NO_KEY) -> ErrorCode:
    stored = DescribeConfigsResource(resource_type=SCRAM_CREDENTIALS, resource_name="")
    async with running(spec) as (_, port):
        client = RpcClient(host="127.0.0.1", port=port, client_id="somebody", key=key)
        answer = await client.request(DescribeConfigsRequest(resources=[stored]), 4)
        client.close()
    (result,) = answer.results
    return ErrorCode(result.error_code)


@pytest.mark.parametrize(
    "more", [{}, {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:broker"}]
)
@pytest.mark.parametrize(
    ("user", "code"),
    [("broker", ErrorCode.NONE), ("alice", ErrorCode.CLUSTER_AUTHORIZATION_FAILED)],
)
async def test_stored_credentials_are_told_to_nodes_only(
    tmp_path: Path, more: dict[str, str], user: str, code: ErrorCode
) -> None:
    protocol = SecurityProtocol.SASL_PLAINTEXT
    users = {
        "jbodlab.sasl.users": "broker:secret,alice:secret",
        INTER_BROKER_PROTOCOL: protocol.name,
    }
    key = key_of(protocol, broker_config({**users, "jbodlab.sasl.inter.broker.user": user}))
    spec = replace(spec_in(tmp_path), configs={**users, **more})
    assert await asked_for_credentials(spec, key) is code


@pytest.mark.parametrize("super_user", ["User:broker", "User:ANONYMOUS"])
async def test_at_plaintext_stored_credentials_are_told_to_nobody(
    tmp_path: Path, super_user: str
) -> None:
    refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    secured = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": super_user}
    for configs in ({}, secured):
        assert await asked_for_credentials(replace(spec_in(tmp_path), configs=configs)) is refused


async def test_a_topic_is_created_once_every_broker_has_been_told(tmp_path: Path) -> None:
    async with running(spec_in(tmp_path)) as (controller, port), brokers(port, 1, 2) as both:
        result = await create(both[0], "orders", 4)

        assert result.error_code == 0
        assert result.num_partitions == 4
        for broker in both:
            told = [r for r in broker.received if isinstance(r, UpdateMetadataRequest)]
            assert [t.topic_name for t in told[-1].topic_states] == ["orders"]
        assert controller.state.topics["orders"].topic_id == result.topic_id


async def test_nobody_hears_of_a_decision_before_its_journal_is_synced(tmp_path: Path) -> None:
    """The sync of the journal hangs: no request and no answer leaves, for as long as it takes."""
    may_sync, has_begun = Event(), asyncio.Event()
    may_sync.set()
    loop = asyncio.get_running_loop()

    class HangingFile(JournalFile):
        def append(self, data: bytes) -> None:
            loop.call_soon_threadsafe(has_begun.set)
            assert may_sync.wait(DEADLINE_S)
            super().append(data)

    async with (
        running(spec_in(tmp_path), file_class=HangingFile) as (controller, port),
        brokers(port, 1, 2) as both,
        asyncio.TaskGroup() as group,
    ):
        may_sync.clear()
        has_begun.clear()
        creating = group.create_task(create(both[0], "orders", 4))
        try:
            await has_begun.wait()
            assert "orders" in controller.state.topics
            beating = group.create_task(both[1].beat())
            await round_trips(port, 20)

            for broker in both:
                assert not [r for r in broker.received if isinstance(r, LeaderAndIsrRequest)]
            assert not creating.done()
            assert not beating.done(), "the answer to a heartbeat waits its turn too"
        finally:
            may_sync.set()
        assert (await creating).error_code == 0
        assert not (await beating).is_fenced
        assert await both[0].until(LeaderAndIsrRequest)


async def test_heartbeats_that_change_nothing_do_not_wait_for_the_journal(tmp_path: Path) -> None:
    appended: list[Sequence[Decision]] = []

    class NotedJournal(Journal):
        async def append(self, decisions: Sequence[Decision]) -> Durable:
            appended.append(decisions)
            return await super().append(decisions)

    async with (
        running(spec_in(tmp_path), journal_class=NotedJournal) as (_, port),
        brokers(port, 1) as (broker,),
    ):
        await broker.until(UpdateMetadataRequest)
        appended.clear()
        for _ in range(3):
            assert not (await broker.beat()).is_fenced
        assert appended == []


async def test_a_defect_half_way_ends_the_controller(tmp_path: Path) -> None:
    """The next start replays what was decided before it."""
    with pytest.RaisesGroup(HalfDoneError, flatten_subgroups=True):
        async with running(spec_in(tmp_path)) as (controller, port), brokers(port, 1, 2) as both:
            controller.run_state.channels.pop(2)
            with suppress(ConnectionError):
                await create(both[0], "orders", 4)
            await asyncio.get_running_loop().create_future()


async def test_a_failed_log_dir_moves_leaders_and_leaves_rows_as_does_a_reassignment(
    tmp_path: Path,
) -> None:
    async with running(spec_in(tmp_path)) as (controller, port), brokers(port, 1, 2) as both:
        await create(both[0], "orders", 4)
        state = controller.state
        led = [n for n in state.topics["orders"].keys if state.partition(n).leader == 1]
        both[0].model.bad = led
        await both[0].beat(offline=[1])
        await both[0].until(StopReplicaRequest)
        await both[1].until(LeaderAndIsrRequest, 3)
        assert [state.partition(name).leader for name in led] == [2] * len(led)
        assert led
        for broker in both:
            await broker.beat()
        await both[1].controller.request(wish(("orders-0", [2])), 1)
    states = [row["state"] for row in rows_of("reassignment_progress", tmp_path)]
    assert states == ["under_way", "completed"]
    rows = rows_of("failover_event", tmp_path)
    assert [row["step"] for row in rows] == [
        FailoverStep.CONTROLLER_NOTICED,
        FailoverStep.REPLICAS_OFFLINE,
        FailoverStep.LEADERS_ELECTED,
        FailoverStep.BROKERS_TOLD,
    ]
    assert rows[2]["partition_count"] == len(led)


def rows_of(table: str, folder: Path) -> list[dict[str, object]]:
    files = folder.rglob(f"{table}/v{TABLE_VERSION}/broker=*/*.jsonl")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


async def test_the_next_controller_knows_all_that_was_answered(tmp_path: Path) -> None:
    spec = spec_in(tmp_path)
    async with running(spec) as (_, port), brokers(port, 1, 2) as both:
        await create(both[0], "orders", 2)
        await create(both[0], "gone", 1)
        await both[0].controller.request(
            DeleteTopicsRequest(topic_names=["gone"], timeout_ms=5000), 5
        )

    async with running(spec) as (controller, port):
        assert [t.name for t in controller.state.topics.values() if not t.is_deleting] == ["orders"]
        assert controller.state.controller_epoch == 1, "the next one begins when brokers are heard"
        assert controller.state.partition(tp("orders-0")).leader_epoch == 0


async def test_a_journal_that_grows_is_compacted_and_forgets_nothing(tmp_path: Path) -> None:
    spec = spec_in(tmp_path)
    names = [f"topic-{number}" for number in range(20)]
    async with running(spec, compact_bytes_min=1) as (before, port), brokers(port, 1, 2) as both:
        for name in names:
            await create(both[0], name, 3)
        known = {tp: before.state.partition(tp) for tp in before.state.partitions()}

    async with running(spec) as (after, _):
        assert list(after.state.topics) == names
        assert {tp: after.state.partition(tp).isr for tp in known} == {
            tp: partition.isr for tp, partition in known.items()
        }
    assert journal_lines(spec) < len(names)


def journal_lines(spec: ClusterSpec) -> int:
    return Path(spec.controller.data_dir, "journal.jsonl").read_bytes().count(b"\n")


async def test_a_broker_that_was_away_is_asked_again_until_it_answers(tmp_path: Path) -> None:
    async with running(spec_in(tmp_path)) as (_, port):
        broker = FakeBroker(1, CLUSTER, port)
        await broker.start()
        listener = broker.port
        await broker.register()
        await broker.stop_listening()
        await broker.beat()

        await broker.start(listener)

        assert await broker.until(UpdateMetadataRequest)
        await broker.stop()


async def test_a_silent_broker_is_fenced(tmp_path: Path) -> None:
    spec = spec_in(tmp_path, session_ms=300)
    async with running(spec) as (_, port), brokers(port, 1, 2) as both:
        await both[0].until(UpdateMetadataRequest, 2)
        async with asyncio.timeout(DEADLINE_S):
            while True:
                await both[0].beat()
                last = both[0].received[-1]
                if [b.id for b in last.live_brokers] == [1]:
                    break

        assert (await both[1].beat()).is_fenced is False


async def test_topics_of_the_cluster_file_are_created_when_its_brokers_are_there(
    tmp_path: Path,
) -> None:
    topics = "[{ name: orders, partitions: 3, replication_factor: 2 }]"
    async with running(spec_in(tmp_path, topics=topics)) as (controller, port):
        async with brokers(port, 1):
            assert list(controller.state.topics) == []
            async with brokers(port, 2) as other:
                await other[0].until(LeaderAndIsrRequest)
        assert list(controller.state.topics) == ["orders"]


async def test_configs_of_a_topic_are_described_to_brokers(tmp_path: Path) -> None:
    async with running(spec_in(tmp_path)) as (_, port), brokers(port, 1, 2) as both:
        await create(both[0], "orders", 1)

        response = await both[0].controller.request(
            DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(
                        resource_type=2, resource_name="orders", configuration_keys=None
                    )
                ]
            ),
            4,
        )

        assert response.results[0].error_code == ErrorCode.NONE
        assert "min.insync.replicas" in [c.name for c in response.results[0].configs]


async def test_a_port_in_use_is_said_so(tmp_path: Path) -> None:
    async with running(spec_in(tmp_path / "a")) as (_, port):
        with pytest.raises(PortError, match=f"cannot listen on 127.0.0.1:{port}"):
            await run_once(with_port(spec_in(tmp_path / "b"), port))


async def test_two_controllers_do_not_share_a_journal(tmp_path: Path) -> None:
    async with running(spec_in(tmp_path)):
        with pytest.raises(JournalInUseError, match="belongs to a running controller"):
            await run_once(with_port(spec_in(tmp_path), 0))


async def test_a_journal_of_another_cluster_is_refused(tmp_path: Path) -> None:
    async with running(spec_in(tmp_path)):
        pass
    with pytest.raises(WrongClusterError, match="app-under-test-cluster"):
        await run_once(with_port(spec_in(tmp_path, cluster_id="another-cluster"), 0))


def test_settings_come_from_the_cluster_file(tmp_path: Path) -> None:
    settings = settings_of(spec_in(tmp_path))
    assert settings.cluster_id == CLUSTER
    assert settings.broker_ids == (1, 2)
    assert settings.session_timeout_ms == 60_000
