"""What contracts say of wrong rules about brokers and log dirs that come and go."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from controller.core import failures, log_dir_reports, older_topics, startup
from controller.core.events import Tick
from controller.core.snapshot import snapshot
from controller.core.step import Step
from protocol.messages.control import LeaderAndIsrRequest
from protocol.messages.topics import DeleteTopicsRequest
from tests.controller.core.cluster import SESSION_MS, Cluster, tp
from tests.controller.core.reassigning import wish
from tests.simulation.contracts.controller.controlled import Act, Case, led, mute, spoiled, tells
from tests.simulation.contracts.wrong_rules import answers, told_of


def a_broker_starts() -> Act:
    cluster = led()
    cluster.expire(3)
    cluster.call(wish(("t-0", [1, 2])), 1)
    return lambda: cluster.start_broker(3)


def a_broker_dies() -> Act:
    cluster = led()
    cluster.now_ms += SESSION_MS
    cluster.machine.run.last_seen_ms.update({1: cluster.now_ms, 2: cluster.now_ms})
    return lambda: cluster.feed(Tick(cluster.now_ms))


def a_disk_fails() -> Act:
    cluster = led()
    return lambda: cluster.fail_log_dir(2, 1, ["t-0"])


def a_disk_comes_back() -> Act:
    cluster = led()
    cluster.fail_log_dir(2, 1, ["t-0"])
    return lambda: cluster.return_log_dirs(2, [1, 2])


def one_that_was_stopped_comes_back() -> Act:
    cluster = led([1, 2])
    cluster.expire(2)
    cluster.held = [2]
    cluster.start_broker(2, bad=["t-0"])
    cluster.beat(2, offline=[1])
    while not cluster.state.offline.get(2):
        cluster.answer_next(2)
    cluster.brokers[2].bad = []
    cluster.held = []
    return cluster.settle


def a_controller_starts() -> Act:
    cluster = led()
    cluster.fail_log_dir(2, 1, ["t-0"])
    return lambda: Cluster(snapshot(cluster.state))


def a_replica_is_removed() -> Act:
    cluster = led()
    return lambda: cluster.call(wish(("t-0", [1, 2])), 1)


def one_with_an_older_log_comes_back() -> Act:
    cluster = led()
    cluster.brokers[3].older[tp("u-0")] = None
    cluster.held = [3]
    cluster.create_and_forget("u", [3])
    cluster.expire(3)
    cluster.held = []
    return lambda: cluster.start_broker(3)


def takes_all_for_new(step: Step) -> None:
    step.run.told_as_new[1, 1, tp("t-0")] = None


def knows_no_offline(step: Step) -> None:
    step.state.offline.clear()


def tells_broker_2_of_nothing(step: Step) -> None:
    for effect in step.effects:
        request = getattr(effect, "request", None)
        if isinstance(request, LeaderAndIsrRequest) and getattr(effect, "broker_id", 0) == 2:
            request.topic_states = []


def takes_all_for_asked_before(step: Step) -> None:
    for broker_id, progress in step.run.channels.items():
        step.run.asked_before_return[broker_id] = progress.sent


def brings_them_back(step: Step) -> None:
    one = step.state.topics["t"].partitions[0]
    step.state.topics["t"].partitions[0] = replace(one, isr=one.replicas)


ANSWERED = "failures.leader_and_isr_answered"
RETURNED = "log_dir_reports.log_dirs_registered"
CASES: Final[list[Case]] = [
    ("failures.broker_started", answers(None), a_broker_starts),
    ("failures.broker_started", spoiled(failures.broker_started, mute), a_broker_starts),
    ("startup.controller_started", answers(None), a_controller_starts),
    (
        "startup.controller_started",
        spoiled(startup.controller_started, tells_broker_2_of_nothing),
        a_controller_starts,
    ),
    ("failures.brokers_failed", answers(None), a_broker_dies),
    ("failures.brokers_failed", spoiled(failures.brokers_failed, brings_them_back), a_broker_dies),
    ("failures.log_dirs_failed", answers(None), a_disk_fails),
    ("failures.log_dirs_failed", spoiled(failures.log_dirs_failed, mute), a_disk_fails),
    ("failures.ask_offline_replicas", answers(None), a_disk_comes_back),
    ("failures.ask_online_replicas", answers(None), a_disk_comes_back),
    (RETURNED, answers(None), a_disk_comes_back),
    (
        RETURNED,
        spoiled(log_dir_reports.log_dirs_registered, takes_all_for_asked_before),
        a_disk_comes_back,
    ),
    (ANSWERED, answers(None), a_disk_fails),
    (ANSWERED, answers(None), a_disk_comes_back),
    (ANSWERED, spoiled(failures.leader_and_isr_answered, mute), one_that_was_stopped_comes_back),
    (ANSWERED, spoiled(failures.leader_and_isr_answered, knows_no_offline), a_disk_fails),
    (ANSWERED, spoiled(failures.leader_and_isr_answered, brings_them_back), a_disk_fails),
    ("older_topics.tell_as_new", answers(None), one_with_an_older_log_comes_back),
    (
        "older_topics.tell_as_new",
        spoiled(older_topics.tell_as_new, takes_all_for_new),
        one_with_an_older_log_comes_back,
    ),
    ("removals.tell_again", answers(None), a_broker_starts),
    ("removals.stop_replica_answered", answers(None), a_replica_is_removed),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_wrong_rule_is_told_and_the_right_one_is_not(case: Case) -> None:
    tells(case)


def test_what_is_being_deleted_is_not_asked_for_when_disks_come_back() -> None:
    """Seed 982451: another disk was replaced unheard, of which all replicas are told."""
    cluster = led()
    cluster.fail_log_dir(2, 1, ["t-0"])
    cluster.held = [1, 3]
    cluster.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=60_000), 5)
    cluster.held = [1, 2, 3]
    assert told_of(None, RETURNED, lambda: cluster.return_log_dirs(2, [1, 3])) == []
