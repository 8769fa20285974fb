"""What the contracts of markers on their way say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.coordinators.marker_channels import MarkerChannels, MarkerPorts, _Part
from broker.coordinators.transactions import Transactions
from broker.core.groups.group_offsets import Committed
from broker.core.transaction_state.marker_progress import MarkerProgress
from broker.core.transaction_state.shard import MarkersDue
from broker.handlers import write_txn_markers
from broker.handlers.write_txn_markers import _MarkerCode
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.transactions import WritableTxnMarker
from tests.broker.coordinators.marked_cluster import A0, A1, Cluster, due, written
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.simulation.contracts.coordinators.hosted_stories import OFFSETS, story
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
WAITS: Final = ("MarkerChannels._route_later", "MarkerChannels._route")
_route, _route_later = MarkerChannels._route, MarkerChannels._route_later


def until(story: Callable[[], Any]) -> Callable[[], None]:
    """Run a story of markers; with a wrong rule it may never come to its end."""

    async def run() -> None:
        async with asyncio.timeout(1):
            await story()

    return lambda: asyncio.run(run())


async def down() -> None:
    cluster = Cluster()
    cluster.tell({A0: 1})
    cluster.down.add(1)
    await written(cluster, due(7, A0), meanwhile=lambda: cluster.tell({A0: 2}))


async def not_led() -> None:
    cluster = Cluster()
    cluster.tell({A0: -1})
    await written(cluster, due(7, A0), meanwhile=lambda: cluster.tell({A0: 2}))


async def refused() -> None:
    cluster = Cluster()
    cluster.tell({A0: 1, A1: 1})
    cluster.verdict = lambda _broker, _tp: (
        ErrorCode.NONE if len(cluster.asked) > 1 else ErrorCode.NOT_LEADER_OR_FOLLOWER
    )
    await written(cluster, due(7, A0, A1))


async def two_ends_of_one() -> None:
    cluster = Cluster()
    cluster.tell({A0: 1, A1: 1})
    await written(cluster, due(7, A0), due(7, A1, commits=False))


def puts_off_twice(channels: MarkerChannels, part: _Part) -> None:
    _route_later(channels, part)
    if not getattr(channels, "is_second", False):
        vars(channels)["is_second"] = True
        channels._route_later(part)


def forgets_who_is_not_led(channels: MarkerChannels, part: _Part) -> None:
    if channels._ports.metadata.leader_of(part.tp)[0] < 0:
        part.progress.forget([part.tp])
    _route(channels, part)


def takes_one(_channels: MarkerChannels, parts: deque[_Part]) -> list[_Part]:
    taken = list(parts)[:1]
    parts.clear()
    return taken


def takes_all(_channels: MarkerChannels, parts: deque[_Part]) -> list[_Part]:
    taken = list(parts)
    parts.clear()
    return taken


def takes_what_nobody_wants(_channels: MarkerChannels, parts: deque[_Part]) -> list[_Part]:
    return [part._replace(tp=OFFSETS) for part in parts]


async def asks_in_vain(_channels: object, _client: object, _parts: Sequence[_Part]) -> None:
    """Forget what does not get through."""


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("MarkerChannels._route_later", puts_off_twice, until(down)),
    ("MarkerChannels._route", answers(None), until(down)),
    ("MarkerChannels._route", forgets_who_is_not_led, until(not_led)),
    ("MarkerChannels._taken", takes_one, until(refused)),
    ("MarkerChannels._taken", takes_all, until(two_ends_of_one)),
    ("MarkerChannels._taken", takes_what_nobody_wants, until(refused)),
    ("MarkerChannels._ask", asks_in_vain, until(down)),
    ("MarkerChannels._ask", asks_in_vain, until(refused)),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use, beside=WAITS) == []
    assert told_of(wrong, rule, use, beside=WAITS)


def ended(code: ErrorCode, *, is_commit: bool) -> Callable[[], object]:
    """Have the end of a transaction answered that has an offset pending here."""

    async def finish(lab: Lab) -> None:
        (host,) = lab[1].groups.hosts()
        host.shard.offsets.put("g", {ORDERS: Committed(5, 0, "", 0)}, producer_id=7)
        marker = WritableTxnMarker(
            producer_id=7, producer_epoch=3, transaction_result=is_commit, coordinator_epoch=5
        )
        context: Any = SimpleNamespace(groups=lab[1].groups)
        begun: Any = SimpleNamespace(results=lambda: [SimpleNamespace(error_code=code)])
        write_txn_markers._finish(context, [(marker, OFFSETS)], begun)

    return story(finish)


async def both(lab: Lab) -> None:
    """Have two transactions end in one request that have offsets of one place pending."""
    (host,) = lab[1].groups.hosts()
    made: list[tuple[WritableTxnMarker, TopicPartition]] = []
    for producer_id, is_commit in ((7, True), (8, False)):
        offset = Committed(producer_id, 0, "", 0)
        host.shard.offsets.put("g", {ORDERS: offset}, producer_id=producer_id)
        marker = WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=3,
            transaction_result=is_commit,
            coordinator_epoch=5,
        )
        made.append((marker, OFFSETS))
    context: Any = SimpleNamespace(groups=lab[1].groups)
    results = [SimpleNamespace(error_code=ErrorCode.NONE) for _ in made]
    begun: Any = SimpleNamespace(results=lambda: results)
    write_txn_markers._finish(context, made, begun)


def counts_whatever_came(
    context: Any, asked: Sequence[tuple[WritableTxnMarker, TopicPartition]], begun: Any
) -> list[_MarkerCode]:
    for (marker, tp), _ in zip(asked, begun.results(), strict=True):
        context.groups.transaction_ended(tp, marker.producer_id, is_commit=True)
    codes = zip(asked, begun.results(), strict=True)
    return [
        _MarkerCode(marker.producer_id, tp, result.error_code) for (marker, tp), result in codes
    ]


def counts_nothing(
    _context: Any, asked: Sequence[tuple[WritableTxnMarker, TopicPartition]], begun: Any
) -> list[_MarkerCode]:
    codes = zip(asked, begun.results(), strict=True)
    return [
        _MarkerCode(marker.producer_id, tp, result.error_code) for (marker, tp), result in codes
    ]


@pytest.mark.parametrize(
    ("wrong", "use"),
    [
        (counts_whatever_came, ended(ErrorCode.NOT_ENOUGH_REPLICAS, is_commit=True)),
        (counts_whatever_came, ended(ErrorCode.NONE, is_commit=False)),
        (counts_nothing, ended(ErrorCode.NONE, is_commit=True)),
        (counts_whatever_came, story(both)),
        (counts_nothing, story(both)),
    ],
)
def test_offsets_that_count_by_no_marker_are_told(wrong: Wrong, use: Callable[[], object]) -> None:
    rule = "write_txn_markers._finish"
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


async def loaded_anew() -> None:
    """Have markers under way when the shard that decided them is loaded anew."""
    cluster = Cluster()
    cluster.tell({A0: 1})
    channels = MarkerChannels(
        MarkerPorts(
            metadata=cluster.metadata,
            connect=cluster.connect,
            request_timeout_ms=lambda: 1_000,
        )
    )
    host: Any = SimpleNamespace(shard="first", leader_epoch=2)

    def holds(shard: object) -> bool:
        return bool(shard == host.shard)

    host.holds = holds
    transactions = object.__new__(Transactions)
    transactions._channels = channels
    async with asyncio.TaskGroup() as tasks:
        channels.run(tasks)
        transactions._on_effect(host, due(7, A0))
        host.shard = "second"
        await asyncio.sleep(0)
        channels.stop()
        raise asyncio.CancelledError


def sends_whoever_decided(transactions: Any, host: Any, ended: MarkersDue) -> None:
    progress = MarkerProgress(ended, host.leader_epoch)
    transactions._channels.send(progress, on_done=lambda: None, is_wanted=lambda: True)


def sends_in_another_epoch(transactions: Any, host: Any, ended: MarkersDue) -> None:
    shard, progress = host.shard, MarkerProgress(ended, host.leader_epoch - 1)
    transactions._channels.send(
        progress, on_done=lambda: None, is_wanted=lambda: bool(host.holds(shard))
    )


def given_up(story: Callable[[], Any]) -> Callable[[], None]:
    async def run() -> None:
        with suppress(asyncio.CancelledError):
            await story()

    return lambda: asyncio.run(run())


@pytest.mark.parametrize("wrong", [sends_whoever_decided, sends_in_another_epoch])
def test_markers_are_those_of_the_shard_that_decided_them(wrong: Wrong) -> None:
    rule, beside = "Transactions._on_effect", ("MarkerChannels._taken",)
    assert told_of(None, rule, given_up(loaded_anew), beside=beside) == []
    assert told_of(wrong, rule, given_up(loaded_anew), beside=beside)
