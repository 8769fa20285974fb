"""What is worth doing so that a fault meets something."""

from __future__ import annotations

from protocol.faults.model import DiskFault, DiskMode, NetworkFault, NetworkMode
from simulation.core.actions import Ask, CreateTopic, DeleteTopic, Kill, Stop
from simulation.core.fault_triggers import fault_triggers


def test_a_disk_gets_a_log_and_its_broker_ends_in_two_ways() -> None:
    rule = DiskFault(mode=DiskMode.BIT_FLIP, node="broker-2", log_dir="/b2/d1")
    actions = fault_triggers(rule, "extra")
    (created,) = [each for each in actions if isinstance(each, CreateTopic)]
    assert (created.assignment, created.log_dir) == (((2,),), "/b2/d1")
    assert Kill("broker-2") in actions
    assert Stop("broker-2") in actions
    asked = [each.api for each in actions if isinstance(each, Ask)]
    assert asked[:4] == ["Produce", "Produce", "Produce", "Fetch"]


def test_two_brokers_follow_each_other() -> None:
    rule = NetworkFault(mode=NetworkMode.LOSS, source="broker-3", target="broker-1")
    (created,) = [each for each in fault_triggers(rule, "extra") if isinstance(each, CreateTopic)]
    assert created.assignment == ((3, 1), (1, 3))


def test_with_controller_and_everybody_nodes_speak_anyhow() -> None:
    for source, target in (("broker-3", "*"), ("controller", "broker-1"), ("*", "controller")):
        rule = NetworkFault(mode=NetworkMode.CUT, source=source, target=target)
        assert fault_triggers(rule, "extra") == ()


def test_the_disk_of_the_journal_is_met_by_a_decision_and_by_a_controller_that_starts() -> None:
    rule = DiskFault(mode=DiskMode.EIO, node="controller")
    assert fault_triggers(rule, "provoked") == (
        CreateTopic(name="provoked"),
        DeleteTopic("provoked"),
        Kill("controller"),
    )
