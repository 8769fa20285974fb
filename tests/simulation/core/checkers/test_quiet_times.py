from __future__ import annotations

from simulation.core.checkers.quiet_times import QuietTimes
from simulation.core.samples import FaultSample, NodeSample, Samples

S = 1_000_000


def _node(at_s: int, node: str, *, is_up: bool = True, boot: int = 1) -> NodeSample:
    return NodeSample(at_s * S, node, is_up, boot)


def _lasts(samples: Samples, node: str, begin_s: float, end_s: float) -> bool:
    samples.ended_us = 100 * S
    return QuietTimes(samples).lasts((node,), int(begin_s * S), int(end_s * S))


def test_a_node_is_disturbed_while_it_is_down() -> None:
    nodes = [_node(0, "broker-1"), _node(5, "broker-1", is_up=False), _node(9, "broker-1", boot=2)]
    samples = Samples(nodes=nodes)
    assert _lasts(samples, "broker-1", 1, 4)
    assert not _lasts(samples, "broker-1", 4, 6)
    assert not _lasts(samples, "broker-1", 6, 7)
    assert not _lasts(samples, "broker-1", 8, 10)
    assert _lasts(samples, "broker-1", 10, 11)
    assert _lasts(samples, "broker-2", 6, 7)


def test_one_that_does_not_come_back_is_down_to_the_end() -> None:
    samples = Samples(nodes=[_node(0, "broker-1"), _node(5, "broker-1", is_up=False)])
    assert not _lasts(samples, "broker-1", 80, 90)


def test_a_controller_hears_brokers_first_when_it_starts_again() -> None:
    nodes = [_node(0, "controller"), _node(5, "controller", boot=2)]
    samples = Samples(nodes=nodes)
    assert _lasts(samples, "controller", 1, 2)
    assert not _lasts(samples, "controller", 6, 7)
    assert _lasts(samples, "controller", 16, 17)


def test_faults_of_the_network_disturb_all_and_leave_dead_connections() -> None:
    samples = Samples(faults=[FaultSample(5 * S, 6 * S, "", what="cut")])
    assert _lasts(samples, "broker-1", 1, 4)
    assert not _lasts(samples, "broker-1", 30, 31)
    assert _lasts(samples, "broker-1", 37, 38)


def test_a_fault_of_the_network_disturbs_who_is_at_both_of_its_ends() -> None:
    for ends, disturbed in (
        (("controller", "broker-1"), True),
        (("*", "controller"), True),
        (("broker-1", "*"), True),
        (("broker-2", "controller"), False),
        (("broker-2", "*"), False),
        (("broker-2", "broker-1"), False),
    ):
        samples = Samples(faults=[FaultSample(5 * S, 6 * S, "", what="cut", between=ends)])
        samples.ended_us = 100 * S
        quiet = QuietTimes(samples)
        assert quiet.lasts(("controller", "broker-1"), 5 * S, 6 * S) is not disturbed


def test_half_open_connections_are_found_when_they_are_used() -> None:
    samples = Samples(faults=[FaultSample(5 * S, 6 * S, "", what="half_open")])
    assert _lasts(samples, "broker-1", 1, 4)
    assert not _lasts(samples, "broker-1", 90, 91)


def test_disks_disturb_when_one_waits_for_them() -> None:
    faults = [FaultSample(5 * S, 6 * S, "broker-1", "d1", what) for what in ("hang", "eio")]
    assert not _lasts(Samples(faults=faults[:1]), "broker-1", 5, 6)
    assert _lasts(Samples(faults=faults[1:]), "broker-1", 5, 6)
    everywhere = Samples(faults=[FaultSample(5 * S, 6 * S, "", what="hang")])
    assert not _lasts(everywhere, "broker-2", 5, 6)


def test_when_a_process_ends() -> None:
    quiet = QuietTimes(Samples(nodes=[_node(5, "broker-1", is_up=False)]))
    assert quiet.ends("broker-1", 4 * S, 6 * S)
    assert not quiet.ends("broker-1", 6 * S, 9 * S)
    assert not quiet.ends("broker-2", 4 * S, 6 * S)


def test_a_process_may_end_and_the_next_one_begin_between_two_looks() -> None:
    nodes = [NodeSample(at * S, "broker-1", is_up=True, boot=boot) for at, boot in ((1, 1), (5, 2))]
    quiet = QuietTimes(Samples(nodes=nodes))
    assert quiet.ends("broker-1", 4 * S, 6 * S)
    assert not quiet.ends("broker-1", 0, 4 * S)


def test_when_a_process_begins() -> None:
    nodes = [_node(1, "broker-1"), _node(3, "broker-1", is_up=False), _node(5, "broker-1", boot=2)]
    quiet = QuietTimes(Samples(nodes=[*nodes, _node(7, "broker-1", boot=2)]))
    assert quiet.begins("broker-1", 0, 2 * S)
    assert not quiet.begins("broker-1", 2 * S, 4 * S)
    assert quiet.begins("broker-1", 4 * S, 6 * S)
    assert not quiet.begins("broker-1", 6 * S, 9 * S)
    assert not quiet.begins("broker-2", 0, 9 * S)


def test_a_process_that_stood_still_has_to_find_its_connections_dead() -> None:
    nodes = [_node(0, "broker-1"), _node(5, "broker-1", is_up=False), _node(9, "broker-1")]
    samples = Samples(nodes=nodes)
    assert _lasts(samples, "broker-1", 1, 4)
    assert not _lasts(samples, "broker-1", 10, 11)
    assert _lasts(samples, "broker-1", 20, 21)


def test_a_process_that_was_paused_before_anybody_saw_it_run_stood_still_too() -> None:
    for boot, is_quiet in ((2, False), (1, True)):
        samples = [_node(1, "broker-1"), _node(2, "broker-1", is_up=False, boot=boot)]
        samples.append(_node(9, "broker-1", boot=2))
        quiet = QuietTimes(Samples(nodes=samples, ended_us=40 * S))
        assert quiet.lasts(("broker-1",), 10 * S, 11 * S) is is_quiet


def test_a_node_acts_by_what_it_knows_whatever_befalls_the_network() -> None:
    samples = Samples(
        faults=[FaultSample(5 * S, 6 * S, "", what="cut")],
        nodes=[_node(0, "controller"), _node(20, "controller", is_up=False)],
        ended_us=100 * S,
    )
    quiet = QuietTimes(samples)
    assert quiet.acts("controller", 5 * S, 19 * S)
    assert not quiet.acts("controller", 19 * S, 21 * S)
