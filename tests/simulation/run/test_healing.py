from __future__ import annotations

from tests.simulation.run.played import found, play, story


def test_what_is_down_or_paused_or_broken_is_repaired_in_the_end() -> None:
    verdict = play(
        """
        - until: {count: {workload: load, at_least: 5}}
        - fault: {id: dead, broker: 1, log_dir: of a-0, mode: eio}
        - until: {leader: {of: a-0, is: 2}}
        - kill: 3
        - pause: 2
        """,
        brokers=3,
        rest="workloads: [{name: load, topic: a}]",
    )

    assert found(verdict) == []
    lines = story(verdict)
    for line in ("faults end", "broker-2 goes on", "broker-3 is started"):
        assert line in lines
    assert "d1 of broker-1 is brought back" in lines
    assert verdict.healed_after_ms is not None


def test_a_plan_may_leave_nodes_down_and_log_dirs_broken() -> None:
    verdict = play(
        """
        - until: {count: {workload: load, at_least: 5}}
        - fault: {id: dead, broker: 1, log_dir: of a-0, mode: eio}
        - until: {leader: {of: a-0, is: 2}}
        - kill: 3
        - until: {isr: {of: a-0, are: [2]}}
        """,
        brokers=3,
        rest="workloads: [{name: load, topic: a}]\n"
        "ending: {start_nodes: false, restart_log_dirs: false}",
    )

    assert "broker-3 is started" not in story(verdict)
    assert found(verdict) == []


def test_what_does_not_heal_in_time_is_told() -> None:
    verdict = play(
        """
        - reassign: {of: a-0, to: [1]}
        - until: {not: {reassigning: "*"}}
        - kill: controller
        """,
        brokers=2,
        rest="ending: {heals_within: 2s, start_nodes: false}",
    )

    (told,) = found(verdict)
    assert "ms after the faults ended: nobody tells of reassignments" in told
    assert verdict.healed_after_ms is None


def test_cpus_and_clocks_are_as_before_in_the_end() -> None:
    verdict = play("- slow_cpu: {node: 1, factor: 9}\n- skew_clock: {node: 1, by: 1min}")

    assert found(verdict) == []
