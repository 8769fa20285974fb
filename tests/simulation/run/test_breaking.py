from __future__ import annotations

from tests.simulation.run.played import found, play


def test_nodes_are_killed_stopped_and_started() -> None:
    verdict = play(
        """
        - kill: 1
        - expect: {node: {node: 1, state: stopped}}
        - start: 1
        - until: {led: a-0}
        - stop: 1
        - expect: {node: {node: 1, state: stopped, exit_code: 0}}
        - stop: controller
        - {start: 1, may_fail: true}
        """
    )

    assert found(verdict) == []


def test_a_paused_node_stands_still_until_it_goes_on() -> None:
    verdict = play(
        """
        - pause: leader of a-0
        - expect: {node: {node: 1, state: paused}}
        - until: {leader: {of: a-0, is: 2}}
        - resume: 1
        - until: {full_isr: a}
        """,
        brokers=2,
    )

    assert found(verdict) == []


def test_a_paused_node_that_is_to_stop_does_not_end_later() -> None:
    verdict = play(
        """
        - pause: 1
        - {stop: 1, may_fail: true}
        - expect: {node: {node: 1, state: stopped}}
        """
    )

    assert found(verdict) == []


def test_power_is_cut_cpus_slow_down_and_clocks_go_wrong() -> None:
    verdict = play(
        """
        - slow_cpu: {node: controller, factor: 5}
        - skew_clock: {node: 1, by: -1min}
        - power_cut: 2
        - until: {isr: {of: a-0, are: [1]}}
        """,
        brokers=2,
    )

    assert found(verdict) == []


def test_a_fault_is_set_where_a_partition_is_and_cleared() -> None:
    verdict = play(
        """
        - fault: {id: dead, broker: leader of a-0, log_dir: of a-0, mode: eio}
        - until: {log_dir: {broker: 1, log_dir: of a-0, state: offline}}
          may_fail: true
          within: 1s
        - until: {not: {led: a-0}}
        - clear: dead
        - restart_log_dir: {broker: 1, log_dir: d1}
        - until: {led: a-0}
        - until: {fault_hits: {fault: dead}}
        """,
        rest="workloads: [{name: load, topic: a}]",
    )

    assert found(verdict) == []
    assert verdict.fault_hits["dead"] >= 1


def test_a_dead_disk_is_replaced_by_an_empty_one() -> None:
    verdict = play(
        """
        - until: {count: {workload: load, at_least: 10}}
        - fault: {id: dead, broker: 1, log_dir: of a-0, mode: eio}
        - until: {leader: {of: a-0, is: 2}}
        - clear: "*"
        - replace_log_dir: {broker: 1, log_dir: d1}
        - until: {full_isr: a}
        """,
        brokers=2,
        rest="workloads: [{name: load, topic: a}]",
    )

    assert found(verdict) == []


def test_a_broker_that_is_down_replaces_no_disk() -> None:
    verdict = play("- kill: 1\n- replace_log_dir: {broker: 1, log_dir: d1}")

    assert any("broker 1 does not run" in each for each in found(verdict))


def test_one_partition_is_brought_back() -> None:
    verdict = play(
        """
        - until: {count: {workload: load, at_least: 5}}
        - fault: {id: dead, broker: 1, log_dir: of a-0, mode: eio}
        - until: {not: {led: a-0}}
        - {restart_partition: {of: a-0, broker: 1}, may_fail: true}
        """,
        rest="workloads: [{name: load, topic: a}]",
    )

    assert found(verdict) == []


def test_what_a_stage_refuses_is_wrong() -> None:
    (told,) = found(play("- restart_log_dir: {broker: 1, log_dir: d1}"))

    assert told.startswith("steps: restart_log_dir: {broker: broker-1, log_dir: d1}: ")


def test_workloads_begin_and_end_by_steps() -> None:
    verdict = play(
        """
        - {holds: {count: {workload: load, is: 0}}, for: 1s}
        - start_workload: load
        - until: {count: {workload: load, at_least: 3}}
        - stop_workload: load
        - start_workload: load
        - until: {count: {workload: load, more: 3}}
        """,
        rest="workloads: [{name: load, topic: a, begins: false}]",
    )

    assert found(verdict) == []


def test_files_are_put_into_log_dirs_and_taken_away_by_hand() -> None:
    verdict = play(
        """
        - stop: 2
        - write_file: {broker: 2, log_dir: d2, file: some-9/notes.txt, text: remember}
        - expect: {file: {broker: 2, log_dir: d2, name: "*/notes.txt", text: member}}
        - expect: {not: {file: {broker: 2, log_dir: d1, name: "*/notes.txt"}}}
        - remove_file: {broker: 2, log_dir: d2, file: some-9}
        - expect: {not: {file: {broker: 2, log_dir: d2, name: "some-9*"}}}
        - start: 2
        - {remove_file: {broker: 2, log_dir: d2, file: some-9}, may_fail: true}
        """,
        brokers=2,
    )

    assert found(verdict) == []
    assert verdict.done["remove_file"] == 1
