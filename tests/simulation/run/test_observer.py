from __future__ import annotations

from tests.simulation.run.played import found, play


def test_everything_that_can_be_asked_for_is_seen() -> None:
    verdict = play(
        """
        - until: {count: {workload: load, at_least: 10}}
        - stop_workload: load
        - expect:
            all:
              - offsets: {of: "*", earliest: 0, latest: 10}
              - log_dir: {broker: 2, log_dir: d1, state: online}
              - replica_in: {of: a, broker: 1}
              - not: {reassigning: "*"}
              - metric: {broker: 1, name: kafka_server_replicamanager_leadercount, is: 1}
              - metric:
                  broker: 1
                  name: kafka_log_logmanager_logdirectoryoffline{logdirectory="d2"}
                  is: 0
              - node: {node: controller, state: running}
        """,
        brokers=2,
        rest="workloads: [{name: load, topic: a, records_max: 10}]",
    )

    assert found(verdict) == []


def test_who_does_not_run_is_not_asked() -> None:
    verdict = play(
        """
        - pause: 2
        - kill: 3
        - until: {isr: {of: a-0, are: [1]}}
        - expect: {not: {log_dir: {broker: 1, log_dir: d1, state: offline}}}
        """,
        brokers=3,
    )

    assert found(verdict) == []
