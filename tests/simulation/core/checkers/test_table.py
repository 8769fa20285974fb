from __future__ import annotations

import importlib
import pkgutil
import re

from protocol.ids import TopicPartition
from simulation.core import checkers
from simulation.core.checkers.evidence import ServiceLevel, Violation
from simulation.core.checkers.table import CHECKERS, check_all
from simulation.core.history import Function, Order
from simulation.core.samples import (
    FaultSample,
    LogDirSample,
    NodeSample,
    Role,
    SampleSource,
    TopicView,
)
from tests.simulation.core.checkers.build import SECOND_US, Story


def test_every_checker_of_this_room_is_asked_once() -> None:
    modules = [
        importlib.import_module(f"{checkers.__name__}.{found.name}")
        for found in pkgutil.iter_modules(checkers.__path__)
        if found.name != "table"
    ]
    written = [
        vars(module)[name]
        for module in modules
        for name in vars(module)
        if name.startswith("check_") and vars(module)[name].__module__ == module.__name__
    ]
    assert sorted(map(str, CHECKERS)) == sorted(map(str, written))


_TIME = re.compile(r"(\d+\.\d{6}) s")


def _times_told(began_us: int) -> list[list[float]]:
    """Return the times in the texts about answers of a failed log dir, orders and denials."""
    story = Story()
    story.samples.sources = tuple(SampleSource)
    story.service_level = ServiceLevel(answer_us_max=SECOND_US, settle_us=0)
    story.samples.nodes.append(NodeSample(2 * SECOND_US, "broker-1", is_up=True, boot=1))
    for number, log_dir in ((0, "d1"), (1, "d2")):
        tp = TopicPartition("orders", number)
        story.at(1).partition(tp=tp, replicas=(1,), isr=(1,), topic_id=b"orders")
        story.replica(1, Role.LEADER, tp=tp, log_dir=log_dir)
    story.samples.log_dirs += [
        LogDirSample(0, 1, "d1", is_online=True),
        LogDirSample(3 * SECOND_US, 1, "d1", is_online=False),
    ]
    story.samples.faults.append(FaultSample(3 * SECOND_US, None, "broker-1", "d1", "EIO"))
    sending = story.at(4).begin_send(2, tp=TopicPartition("orders", 1), client="other")
    story.send(1, offset=5)
    sent = story.at(7)
    sending.ok(sending.value)
    story.samples.views.append(TopicView(8 * SECOND_US, 8 * SECOND_US, 1, ("orders",), {}, {}))
    sent.at(9).order(Function.CREATE_TOPIC, Order("payments", assignment=((1,),)))
    story.at(20)
    story.samples.began_us = began_us
    return [list(map(float, _TIME.findall(each.text))) for each in check_all(story.evidence)]


def test_all_times_in_texts_count_from_when_the_story_began() -> None:
    told = _times_told(0)

    assert sum(map(bool, told)) >= 4
    assert _times_told(SECOND_US) == [[time - 1 for time in times] for times in told]


def test_an_empty_run_violates_nothing() -> None:
    assert check_all(Story().evidence) == []


def test_what_checkers_find_is_told_together_and_reads_as_a_sentence() -> None:
    story = Story().at(2.5)
    story.partition(leader=1, offline=(1,), isr=(1,), replicas=(1,))
    story.begin_send(1)

    found = check_all(story.evidence)

    assert [violation.checker for violation in found] == [
        "offline replicas",
        "offline replicas",
        "answers",
    ]
    assert str(found[2]) == "2.500000 s: answers: send of writer (entry 0) never ended"
    assert isinstance(found[0], Violation)
