"""What the contracts of what runs shards say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.coordinators import offset_commits
from broker.coordinators.coordinator_log import CoordinatorLog
from broker.coordinators.groups import CoordinatorRelay
from broker.coordinators.shard_host import (
    BATCH_BYTES_WANTED,
    BATCHES_IN_FLIGHT_MAX,
    HostPorts,
    ShardHost,
    _Write,
)
from broker.coordinators.transactions import Transactions
from broker.core import coordination
from broker.core.coordination import Answer, Decided, Record, TransactionProducer
from broker.core.groups.group_offsets import Committed, offset_records
from broker.core.groups.group_shard import Commit, GroupShard, NewOffset
from broker.core.groups.membership import Committer
from broker.core.transaction_state.metadata import TransactionMetadata, TransactionState
from broker.core.transaction_state.shard import MarkersDue, TransactionLimits, TransactionShard
from broker.core.transaction_state.stored import record_of
from broker.engine.serve.produce import BegunProduce
from protocol.errors import ErrorCode
from tests.broker.coordinators.asking import commit, fetch, ports_of
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.simulation.contracts.coordinators.hosted_stories import (
    OFFSETS,
    committed,
    led_by_another,
    pending,
    story,
)
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
NONE: Final = ErrorCode.NONE
_take = ShardHost[Any].take
_ask = ShardHost[Any].ask


async def asked_at_once(lab: Lab) -> None:
    await asyncio.gather(commit(lab[1], 5), fetch(lab[1]))


async def deleted(lab: Lab) -> None:
    await commit(lab[1], 5)
    CoordinatorRelay(lambda: lab[1].groups).partitions_deleted([ORDERS])


async def deleted_in_a_transaction(lab: Lab) -> None:
    (host,) = lab[1].groups.hosts()
    host.shard.offsets.put("g", {ORDERS: Committed(5, 0, "", 0)}, producer_id=7)
    CoordinatorRelay(lambda: lab[1].groups).partitions_deleted([ORDERS])


async def told_of_no_deletion(lab: Lab) -> None:
    CoordinatorRelay(lambda: lab[1].groups).partitions_deleted([])


async def led_again(lab: Lab) -> None:
    (host,) = lab[1].groups.hosts()
    host._failed = True
    async with asyncio.TaskGroup() as tasks:
        host.begin(tasks, host.leader_epoch + 1)


class _DroppedMeanwhile(CoordinatorLog):
    """A log during whose append the shard is dropped."""

    host: ShardHost[GroupShard]

    async def append(
        self, records: Sequence[Record], producer: TransactionProducer | None = None
    ) -> BegunProduce:
        self.host._shard = None
        return await super().append(records, producer)


async def dropped_while_writing(
    lab: Lab, kind: type[ShardHost[GroupShard]] = ShardHost[GroupShard]
) -> None:
    log, state = _DroppedMeanwhile(OFFSETS, ports_of(lab[1])), lab[1].engine.state
    ports = HostPorts(now_ms=state.now_ms, wall_ms=state.wall_ms, timeout_ms=5_000)
    host = log.host = kind(OFFSETS, log, pending, ports)
    host._shard = pending()
    host._unwritten.append(_Write(records=offset_records("g", {ORDERS: Committed(5, 0, "", 0)})))
    await host._write()


async def in_flight(lab: Lab) -> ShardHost[GroupShard]:
    """Let a commit be written that nobody replicates."""
    lab[2].is_reachable = lab[3].is_reachable = False
    lab.begin(commit(lab[1], 5))
    (host,) = lab[1].groups.hosts()
    while not host._in_flight:  # noqa: ASYNC110 -- no event tells it
        await asyncio.sleep(0.001)
    return host


async def settled_early(lab: Lab) -> None:
    (await in_flight(lab))._settle()


async def dropped(lab: Lab) -> None:
    (await in_flight(lab))._drop(ErrorCode.NOT_COORDINATOR)


async def resigned(lab: Lab) -> None:
    lab[1].groups.resign(OFFSETS)


PAID: Final = (b"paid", b"")
SENT: Final = (b"sent", b"")


async def two_transactions(lab: Lab) -> None:
    host = await in_flight(lab)
    host.take(Decided([PAID]))
    host.take(Decided([SENT], producer=TransactionProducer(7, 0)))


async def one_decision(lab: Lab) -> None:
    (await in_flight(lab)).take(Decided([PAID, SENT]))


async def asked_behind_two(lab: Lab) -> None:
    host = await in_flight(lab)
    host.take(Decided([PAID]))
    while len(host._in_flight) < 2:  # noqa: ASYNC110 -- no event tells it
        await asyncio.sleep(0.001)
    lab.begin(fetch(lab[1]))
    await asyncio.sleep(0.001)


def answered(code: ErrorCode) -> Any:
    """Return an append of which the log says ``code``."""
    ready = asyncio.get_running_loop().create_future()
    ready.set_result(None)
    return SimpleNamespace(
        ready=ready,
        delayed=SimpleNamespace(codes=[code]),
        results=lambda: [SimpleNamespace(error_code=code)],
        abandon=lambda: None,
    )


async def followed_by_effects(lab: Lab) -> None:
    (host,) = lab[1].groups.hosts()
    begun = answered(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    host._in_flight.append((begun, _Write(effects=["markers"])))
    host._settle()


async def answered_in_vain(lab: Lab) -> None:
    (host,) = lab[1].groups.hosts()
    waiting = host._waiting[7] = asyncio.get_running_loop().create_future()
    begun = answered(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    host._in_flight.append((begun, _Write(answers=[Answer(7, "done")])))
    host._settle()
    waiting.exception()


async def written_behind_a_refusal(lab: Lab) -> None:
    (host,) = lab[1].groups.hosts()
    host._in_flight.append((answered(ErrorCode.NOT_LEADER_OR_FOLLOWER), _Write()))
    host._unwritten.append(_Write(records=[PAID]))
    await host._write()


def mixes(host: ShardHost[Any], decided: Any) -> None:
    if host._unwritten:
        host._unwritten[-1].records += decided.records
    else:
        _take(host, decided)


def waits_without_end(host: ShardHost[Any], decided: Any) -> None:
    _take(host, decided)
    for waiter in list(host._timers):
        host._stop_timer(waiter)


def cuts(host: ShardHost[Any], decided: Any) -> None:
    host._unwritten += [_Write(records=[record]) for record in decided.records]


def joins_the_first(host: ShardHost[Any], decided: Any) -> None:
    if decided.records or not host._in_flight:
        _take(host, decided)
    else:
        host._join(host._in_flight[0][1], decided)


async def loads_and_waits_for_nobody(host: ShardHost[Any]) -> None:
    shard = host._new_shard()
    await host._log.load(shard)
    host._shard = shard


def gives_up_effects(host: ShardHost[Any]) -> None:
    host._in_flight.popleft()


def at_once(host: ShardHost[Any], decided: Any) -> None:
    host._give(decided.answers)


def keeps_what_is_unwritten(host: ShardHost[Any], code: Any) -> None:
    host._refuse(list(host._waiting), code)


def settles_all(host: ShardHost[Any]) -> None:
    while host._in_flight:
        _, write = host._in_flight.popleft()
        host._give(write.answers)


async def writes_on(host: ShardHost[Any]) -> None:
    write = host._unwritten.popleft()
    begun = await host._log.append(write.records, write.producer)
    host._in_flight.append((begun, write))


async def two_large_ones(lab: Lab) -> None:
    host = await in_flight(lab)
    for _ in range(2):
        host.take(Decided([(b"paid", bytes(BATCH_BYTES_WANTED))]))


async def tries_in_vain(_host: object, _decide: object, *, writes: bool = False) -> object:
    return writes


async def leaves_a_timer(host: ShardHost[Any], decide: Any, *, writes: bool = False) -> object:
    found = await _ask(host, decide, writes=writes)
    host._timers[99] = asyncio.get_running_loop().call_later(1, host._wake.set)
    return found


async def asked_in_vain(lab: Lab) -> None:
    await lab.elect(OFFSETS, 1, [1])
    lab[1].replica(OFFSETS).partition.min_insync_replicas = 2
    await commit(lab[1], 5)


async def led_here(lab: Lab) -> None:
    lab[1].groups.lead(OFFSETS._replace(partition=1), 3)


async def tells_nothing(*_: object, **__: object) -> list[ErrorCode]:
    return []


async def committed_with_others(lab: Lab) -> None:
    wanted = Commit("g", Committer(is_transactional=False), [NewOffset(ORDERS, 5)])
    codes = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NONE]
    await offset_commits.commit_offsets(lab[1].groups, wanted, codes)


WRONG_RULES: Final[list[tuple[str, Wrong | property, Callable[[], object]]]] = [
    ("ShardHost.take", at_once, story(committed)),
    ("ShardHost.take", answers(None), story(committed)),
    ("ShardHost.take", at_once, story(asked_at_once)),
    ("ShardHost.take", waits_without_end, story(committed)),
    ("ShardHost.take", mixes, story(two_transactions)),
    ("ShardHost.take", cuts, story(one_decision)),
    ("ShardHost.take", joins_the_first, story(asked_behind_two)),
    ("ShardHost._settle", answers(None), story(committed)),
    ("ShardHost._settle", settles_all, story(settled_early)),
    ("ShardHost._settle", settles_all, story(answered_in_vain)),
    ("ShardHost._settle", gives_up_effects, story(followed_by_effects)),
    ("ShardHost._drop", keeps_what_is_unwritten, story(dropped)),
    ("ShardHost._write", writes_on, story(dropped_while_writing)),
    ("ShardHost._load", loads_and_waits_for_nobody, story(led_by_another)),
    ("ShardHost.begin", answers(None), story(led_again)),
    ("ShardHost.take", mixes, story(two_large_ones)),
    ("ShardHost.ask", tries_in_vain, story(asked_in_vain)),
    ("ShardHost.ask", leaves_a_timer, story(committed)),
    ("ShardHost.shard", property(answers(None)), story(committed)),
    ("Shards.lead", answers(None), story(led_here)),
    ("Shards.resign", answers(None), story(resigned)),
    ("coordination.partition_for", answers(0), lambda: coordination.partition_for("a", 50)),
    ("offset_commits.commit_offsets", tells_nothing, story(committed_with_others)),
    ("CoordinatorRelay.partitions_deleted", answers(None), story(deleted)),
    ("CoordinatorRelay.partitions_deleted", answers(None), story(deleted_in_a_transaction)),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong | property, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_who_tells_of_deletions_of_which_there_are_none_is_told() -> None:
    assert told_of(None, "CoordinatorRelay.partitions_deleted", story(told_of_no_deletion))


class _WaitsOn(ShardHost[GroupShard]):
    """One that waits for what it has begun to write, whatever became of the shard."""

    async def _write(self) -> None:
        write = self._unwritten.popleft()
        self._begun(await self._log.append(write.records, write.producer), write)


def test_what_is_written_behind_a_refusal_is_told() -> None:
    assert told_of(None, "ShardHost._write", story(committed)) == []
    assert told_of(None, "ShardHost._write", story(written_behind_a_refusal))


def test_what_a_dropped_shard_had_written_is_waited_for_by_nobody() -> None:
    wrong = partial(dropped_while_writing, kind=_WaitsOn)
    assert told_of(None, "ShardHost._begun", story(dropped_while_writing)) == []
    assert told_of(None, "ShardHost._begun", story(committed)) == []
    assert told_of(None, "ShardHost._begun", story(wrong))


def test_more_batches_on_their_way_than_may_be_are_told() -> None:
    async def one_more(lab: Lab) -> None:
        (host,) = lab[1].groups.hosts()
        host._in_flight += [(answered(NONE), _Write())] * BATCHES_IN_FLIGHT_MAX
        host._unwritten.append(_Write(records=[PAID]))
        await host._write()

    assert told_of(None, "ShardHost._write", story(one_more))


LIMITS = TransactionLimits(
    timeout_ms_max=100, id_expiration_ms=1_000, abort_interval_ms=10, expiry_interval_ms=30
)
PREPARED = TransactionMetadata(
    transactional_id="pay",
    producer_id=7,
    producer_epoch=3,
    timeout_ms=50,
    updated_ms=10,
    state=TransactionState.PREPARE_COMMIT,
)


def completed_by_another() -> object:
    """Have the markers of an earlier shard come when another one decides."""

    async def run() -> None:
        any_host: Any = ShardHost
        host: ShardHost[TransactionShard] = any_host.__new__(any_host)
        shards = [TransactionShard(LIMITS, 2, lambda: 1_000_000) for _ in range(2)]
        host._shard = shards[1]
        shards[1].replay(*record_of(PREPARED, 2))
        due = MarkersDue("pay", 7, 3, True, (), 0)
        transactions = Transactions.__new__(Transactions)
        transactions._complete(host, shards[0], due)

    return asyncio.run(run())


def whoever_decides(_transactions: object, host: Any, _shard: object, due: MarkersDue) -> None:
    host._shard.markers_written(due, 20)


def test_a_transaction_that_another_shard_completes_is_told() -> None:
    rule = "Transactions._complete"
    assert told_of(None, rule, completed_by_another) == []
    assert told_of(whoever_decides, rule, completed_by_another)
