"""What nodes keep twice is compared: a real cluster at rest has nothing to say, until one fact is
another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from broker.engine.engine import Engine
from broker.engine.replica import Replica
from controller.app import Controller
from controller.core.phases import PartitionPhase, ReplicaPhase
from protocol.ids import BrokerId, TopicPartition
from simulation.world.contradictions import (
    contradictions_of_broker,
    contradictions_of_controller,
    leftovers_of_broker,
)
from tests.mutations.trial import TP, Trial


async def _at_rest(broker: int = 1) -> tuple[Engine, Controller]:
    """Return the inside of broker 1, which leads, or of 2, which follows, and of the controller."""
    trial = await Trial.begin(1, 2)
    await trial.until_isr(TP, 1, 2)
    await trial.producer().run()
    await trial.cluster.until(lambda: _is_quiet(trial), timeout_ms=60_000)
    controller = trial.cluster.controller.controller
    assert controller is not None
    return _engine(trial, broker), controller


def _is_quiet(trial: Trial) -> bool:
    controller = trial.cluster.controller.controller
    assert controller is not None
    engines = [_engine(trial, broker) for broker in (1, 2)]
    found = [text for one in engines for text in contradictions_of_broker(one, controller.state)]
    return [*found, *contradictions_of_controller(controller.state, controller.run_state)] == []


def _engine(trial: Trial, broker: int) -> Engine:
    running = trial.cluster.brokers[broker].broker
    assert running is not None
    assert running.broker_control.engine is not None
    return running.broker_control.engine


def _follow_itself_elsewhere(engine: Engine) -> None:
    engine.following.prune()
    _replica(engine).partition.leader_id = BrokerId(2)
    engine.following.follow(_replica(engine))
    _replica(engine).partition.leader_id = BrokerId(1)


def _miscount(engine: Engine) -> None:
    engine.state.log_dir_states.count_log(engine.state.log_dir_states.online_paths[0])


def _forget_followers(engine: Engine) -> None:
    _replica(engine).partition.followers = {}


def _take_another_epoch(engine: Engine) -> None:
    _replica(engine).partition.leader_epoch += 1


def _add_a_replica(engine: Engine) -> None:
    _replica(engine).partition.adding_replicas = (3,)


def _wait_for_an_isr(engine: Engine) -> None:
    partition = _replica(engine).partition
    partition.isr = partition.isr.shrink([BrokerId(2)])


def _hold_cleaning_up(engine: Engine) -> None:
    engine.state.cleaning_pauses.pause(TP)


def _lose_metadata(engine: Engine) -> None:
    engine.state.metadata._topics.clear()  # pyright: ignore[reportPrivateUsage] - no broker does


def _remove_segments_and_say_nothing(engine: Engine) -> None:
    _replica(engine).log.files.raise_log_start_offset(3)


def _replica(engine: Engine) -> Replica:
    replica = engine.state.hosted.online_replica(TP)
    assert replica is not None
    return replica


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_miscount, "broker 1 counts "),
        (_follow_itself_elsewhere, "broker 1 fetches from [2], and follows []"),
        (_forget_followers, "broker 1 leads orders-0 with followers [], and its replicas are"),
        (_take_another_epoch, "broker 1 has orders-0 with leader epoch 1, and the controller has"),
        (_add_a_replica, "broker 1 has orders-0 with adding replicas (3,), and the controller has"),
        (_wait_for_an_isr, "broker 1 leads orders-0 and still waits for an Isr of [1]"),
        (_hold_cleaning_up, "broker 1 keeps logs from being cleaned for moves, and moves none"),
        (_remove_segments_and_say_nothing, "broker 1 has orders-0 begin at 0, and its files at 3"),
        (_lose_metadata, "the topics of broker 1's metadata are [], and should be ['orders']"),
    ],
)
async def test_a_broker_that_keeps_something_wrong_is_told(
    change: Callable[[Engine], None], text: str
) -> None:
    engine, controller = await _at_rest()
    change(engine)

    found, *_ = contradictions_of_broker(engine, controller.state)
    assert found.startswith(text)


async def test_a_follower_that_has_no_session_is_told() -> None:
    engine, controller = await _at_rest(2)
    (source,) = engine.following._sources.values()  # pyright: ignore[reportPrivateUsage]
    source.fetcher._session.reset()  # pyright: ignore[reportPrivateUsage]

    assert list(contradictions_of_broker(engine, controller.state)) == [
        "broker 2 follows partitions of [1] that it does not fetch within a session"
    ]


async def test_a_follower_of_a_topic_that_the_journal_lost_is_told_nothing_more() -> None:
    engine, controller = await _at_rest(2)
    (source,) = engine.following._sources.values()  # pyright: ignore[reportPrivateUsage]
    source.fetcher._session.reset()  # pyright: ignore[reportPrivateUsage]
    lost = controller.state.topics[TP.topic].topic_id
    names = {b"made-anew-by-name": TP.topic}
    forgetful = replace(controller.state, topic_names=names)

    assert lost in controller.state.topic_names
    assert list(contradictions_of_broker(engine, forgetful)) == []


async def test_a_log_that_is_no_replica_and_is_not_deleted_is_told() -> None:
    engine, controller = await _at_rest(broker=2)
    assert list(leftovers_of_broker(engine, controller.state)) == []
    replica = engine.state.hosted.online_replica(TP)
    assert replica is not None
    gone = TopicPartition("gone", 0)
    engine.state.hosted.put_idle(gone, replica.log)

    assert list(leftovers_of_broker(engine, controller.state)) == [
        f"broker 2 has a log of gone-0 in {replica.log_dir}, which is no replica of its, and is "
        "not told to delete it"
    ]


async def test_who_has_a_failed_log_dir_deletes_what_was_taken_away_when_that_is_back() -> None:
    _, controller = await _at_rest()
    _take_away(controller)
    broker = controller.state.brokers[2]
    controller.state.brokers[2] = replace(broker, offline_log_dirs=broker.log_dirs[:1])
    assert list(contradictions_of_controller(controller.state, controller.run_state)) == []


def _lose_hosted(controller: Controller) -> None:
    del controller.state.hosted[2][TP]


def _reassign(controller: Controller) -> None:
    controller.state.reassigning[TP] = None


def _lose_a_heartbeat(controller: Controller) -> None:
    del controller.run_state.last_seen_ms[1]


def _lose_an_answer(controller: Controller) -> None:
    controller.run_state.channels[1].answered -= 1


def _take_away(controller: Controller) -> None:
    controller.state.removed[2] = {TP: None}


def _miss_a_partition(controller: Controller) -> None:
    controller.run_state.set_phase(TP, PartitionPhase.OFFLINE)


def _miss_a_replica(controller: Controller) -> None:
    controller.run_state.set_replica_phase(TP, 2, ReplicaPhase.OFFLINE)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_lose_hosted, "the partitions of broker 2 of the controller are [], and should be"),
        (_reassign, "the partitions being reassigned of the controller are"),
        (_lose_a_heartbeat, "the brokers that send heartbeats of the controller are"),
        (_lose_an_answer, "the controller waits for an answer of broker 1: it was sent request"),
        (_take_away, "the controller waits for broker 2 to delete orders-0, which reassignments"),
        (_miss_a_partition, "the controller has orders-0 with leader 1 in phase OFFLINE"),
        (_miss_a_replica, "the controller has the replica of orders-0 on broker 2 in phase"),
    ],
)
async def test_a_controller_that_keeps_something_wrong_is_told(
    change: Callable[[Controller], None], text: str
) -> None:
    _, controller = await _at_rest()
    change(controller)

    (found,) = contradictions_of_controller(controller.state, controller.run_state)
    assert found.startswith(text)
