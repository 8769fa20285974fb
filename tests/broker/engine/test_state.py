"""Questions to the shared state."""

from __future__ import annotations

import asyncio

import pytest

from broker.coordinators.groups import CoordinatorRelay
from protocol.configs.parsing import broker_config
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.control import LeaderAndIsrLiveLeader
from protocol.topic_names import CONSUMER_OFFSETS
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, Led, leader_and_isr
from tests.broker.engine.moved import abandoned, begin, stopped


async def test_absence_has_three_reasons(lab: Lab) -> None:
    await lab.create(replicas=[1, 2])
    state = lab[3].state
    assert state.absence(ORDERS) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert state.absence(TopicPartition("nothing", 0)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    lab[1].log_dirs[await lab[1].dir_of() or ""].fail("test", OSError("broken"))
    assert lab[1].state.absence(ORDERS) is ErrorCode.KAFKA_STORAGE_ERROR
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert state.absence(ORDERS, of_marker=True) is unknown, "a coordinator knows who leads"


async def test_the_newer_of_role_and_metadata_names_the_leader(lab: Lab) -> None:
    await lab.create()
    assert lab[2].state.leader_hint(ORDERS) == (1, 0)
    lab.led[ORDERS].leader, lab.led[ORDERS].leader_epoch = 3, 1
    lab.tell_metadata()
    assert lab[2].state.leader_hint(ORDERS) == (3, 1)
    lab.led[ORDERS].leader, lab.led[ORDERS].leader_epoch = 2, 2
    await lab.tell(ORDERS, to=[2])
    assert lab[2].state.leader_hint(ORDERS) == (2, 2)


async def test_addresses_come_from_the_metadata_or_from_leader_and_isr(alone: Lab) -> None:
    alone.tell_metadata()
    assert alone[1].state.address_of(1) == ("lab", 1)
    assert alone[1].state.address_of(8) is None
    request = leader_and_isr({ORDERS: Led([1, 8], 8, [8])})
    request.live_leaders = [LeaderAndIsrLiveLeader(broker_id=8, host_name="host", port=99)]
    await alone[1].engine.leadership.leader_and_isr(request)
    assert alone[1].state.address_of(8) == ("host", 99)


async def test_another_configuration_holds_at_once(alone: Lab) -> None:
    state = alone[1].state
    config = broker_config(
        {
            "cordoned.log.dirs": alone[1].paths[1],
            "replica.lag.time.max.ms": "7",
            "leader.replication.throttled.rate": "1",
            "follower.replication.throttled.rate": "2",
            "replica.alter.log.dirs.io.max.bytes.per.second": "3",
        }
    )
    state.configure(config)
    assert state.log_dir_states.is_cordoned(alone[1].paths[1])
    assert (state.config, state.lag_time_max_ms) == (config, 7)
    assert [quota.limit_bytes_per_second for quota in state.quotas] == [1, 2, 3]


async def test_a_cordon_of_what_is_no_log_dir_changes_nothing(alone: Lab) -> None:
    before = alone[1].state.config
    with pytest.raises(KafkaError):
        alone[1].state.configure(broker_config({"cordoned.log.dirs": "/nowhere"}))
    assert alone[1].state.config is before


async def test_the_end_of_all_moves_is_told_and_not_that_of_the_first(alone: Lab) -> None:
    node = alone[1]
    await alone.create(replicas=[1])
    told = node.events.moves_ended_count
    tps = [ORDERS, TopicPartition("other", 0)]
    for tp in tps:
        node.state.cleaning_pauses.pause(tp)
    node.state.move_ended(tps[0])
    assert node.events.moves_ended_count == told
    node.state.move_ended(tps[1])
    assert node.events.moves_ended_count == told + 1


async def test_all_logs_are_gone_through_whatever_their_replicas_are(lab: Lab) -> None:
    node = await abandoned(lab)
    tps = [TopicPartition("moving", 0), TopicPartition("idle", 0)]
    for tp in tps:
        await lab.create(tp, replicas=[2])
    node = await lab.restart(2)
    await lab.tell(tps[0], to=[2])
    stopped(node)
    replica = node.replica(tps[0])
    await begin(node, next(path for path in node.paths if path != replica.log_dir), tps[0])
    assert replica.future is not None
    assert [tuple(here) for here in node.state.iterate_logs()] == [
        (tps[0], replica.log, replica),
        (tps[0], replica.future.log, replica),
        (tps[1], node.state.hosted.idle_replica(tps[1]), None),
        (ORDERS, node.state.orphan_future_logs[ORDERS], None),
    ]


async def test_a_coordinator_ends_where_its_partition_is_led_no_more(lab: Lab) -> None:
    offsets = TopicPartition(CONSUMER_OFFSETS, 0)
    await lab.create(offsets, cleanup_policy="compact")
    for leader, others in ((1, (2, 3)), (2, (1, 3))):
        await lab.elect(offsets, leader, [1, 2, 3])
        assert [host.tp for host in lab[leader].groups.hosts()] == [offsets]
        assert [list(lab[other].groups.hosts()) for other in others] == [[], []]


async def test_unique_names_are_32_hex_digits(alone: Lab) -> None:
    first, second = alone[1].state.unique(), alone[1].state.unique()
    assert first != second
    assert len(first) == 32
    assert int(first, 16) >= 0


async def test_work_goes_to_its_end_when_the_caller_gives_up(alone: Lab) -> None:
    done = asyncio.Event()

    async def work() -> int:
        await asyncio.sleep(1)
        done.set()
        return 5

    assert await alone[1].state.shielded(work) == 5
    done.clear()
    caller = alone.begin(alone[1].state.shielded(work))
    await asyncio.sleep(0.5)
    caller.cancel()
    await asyncio.sleep(1)
    assert done.is_set()


async def test_an_error_of_the_work_is_the_callers(alone: Lab) -> None:
    async def work() -> None:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await alone[1].state.shielded(work)


async def test_an_error_that_nobody_waits_for_any_more_is_the_engines(alone: Lab) -> None:
    async def work() -> None:
        await asyncio.sleep(1)
        raise ValueError("wrong")

    async def runs() -> None:
        async with asyncio.TaskGroup() as group:
            alone[1].state.group = group
            caller = alone.begin(alone[1].state.shielded(work))
            await asyncio.sleep(0.5)
            caller.cancel()
            await asyncio.sleep(1)

    with pytest.raises(ExceptionGroup) as ended:
        await runs()
    assert [type(error) for error in ended.value.exceptions] == [ValueError]


async def test_who_wants_a_replica_waits_until_its_logs_have_changed_places(alone: Lab) -> None:
    await alone.create(replicas=[1])
    state, replica = alone[1].state, alone[1].replica()
    assert await state.until_swapped(TopicPartition("nothing", 0)) is None
    assert await state.until_swapped(ORDERS) is replica
    replica.log.swapping.begin()
    waiting = alone.begin(state.until_swapped(ORDERS))
    given_up = alone.begin(state.until_swapped(ORDERS))
    await asyncio.sleep(1)
    given_up.cancel()
    await asyncio.sleep(1)
    assert not waiting.done()
    replica.log.swapping.end()
    assert await waiting is replica


async def test_coordinators_are_told_of_no_partition_but_their_own(alone: Lab) -> None:
    told: list[TopicPartition] = []

    class Told(CoordinatorRelay):
        def leads_internal(self, tp: TopicPartition, leader_epoch: int) -> None:
            told.append(tp)

        def leads_internal_no_more(self, tp: TopicPartition) -> None:
            told.append(tp)

    node = alone[1]
    node.events.coordinators = Told(lambda: node.groups, lambda: node.transactions.shards)
    await alone.create(replicas=[1])
    await alone.stop_replica(1, ORDERS, delete=True)
    assert told == []
    offsets = TopicPartition(CONSUMER_OFFSETS, 0)
    await alone.create(offsets, replicas=[1], cleanup_policy="compact")
    assert told == [offsets]


async def test_its_time_is_the_loops_in_milliseconds(alone: Lab) -> None:
    loop = asyncio.get_running_loop()
    await asyncio.sleep(2_000 - loop.time())
    assert alone[1].state.now_ms() == 2_000_000


async def test_no_work_is_begun_when_the_engine_has_ended(alone: Lab) -> None:
    """A request of the controller may arrive while the broker already stops."""
    begun: list[str] = []

    async def work() -> None:
        begun.append("work")

    async with asyncio.TaskGroup() as ended:
        pass
    alone[1].state.group = ended

    with pytest.raises(KafkaError, match="BROKER_NOT_AVAILABLE"):
        await alone[1].state.shielded(work)
    assert begun == []
