from __future__ import annotations

from tests.simulation.run.played import found, play


def test_topics_are_created_grown_and_deleted() -> None:
    verdict = play(
        """
        - create_topic: {name: b, partitions: 2, configs: {retention.ms: 1000}}
        - add_partitions: {topic: b, to: 3, assignment: [[1]]}
        - until: {led: b-2}
        - {add_partitions: {topic: b, to: 3}, answers: INVALID_PARTITIONS}
        - delete_topic: b
        - until: {not: {topic_exists: b}}
        - {delete_topic: no-such-topic, answers: UNKNOWN_TOPIC_OR_PARTITION}
        """
    )

    assert found(verdict) == []


def test_a_topic_is_created_in_the_log_dir_that_is_asked_for() -> None:
    verdict = play(
        """
        - create_topic: {name: b, partitions: 3, log_dir: d2}
        - until: {replica_in: {of: b, broker: 1, log_dir: d2}}
        """
    )

    assert found(verdict) == []


def test_a_replica_moves_and_a_wrong_log_dir_is_refused() -> None:
    verdict = play(
        """
        - {move_replica: {of: a-0, broker: 1, to: /no/such/dir}, answers: LOG_DIR_NOT_FOUND}
        - move_replica: {of: a-0, broker: 1, to: d2}
        - until:
            all:
              - replica_in: {of: a-0, broker: 1, log_dir: d2}
              - not: {future_replica: {of: a-0, broker: 1}}
        """
    )

    assert found(verdict) == []


def test_partitions_are_reassigned_and_wishes_taken_back() -> None:
    verdict = play(
        """
        - reassign: {of: a-0, to: [2, 1]}
        - until: {not: {reassigning: "*"}}
        - expect: {replicas: {of: a-0, are: [2, 1]}}
        - elect_leaders: a-0
        - until: {leader: {of: a-0, is: 2}}
        - {elect_leaders: {of: a-0, kind: unclean}, answers: ELECTION_NOT_NEEDED}
        - {cancel_reassignment: a-0, answers: NO_REASSIGNMENT_IN_PROGRESS}
        """,
        brokers=2,
    )

    assert found(verdict) == []


def test_configurations_of_topics_brokers_and_all_brokers_are_set() -> None:
    verdict = play(
        """
        - alter_configs: {topic: a, set: {retention.ms: 60000}}
        - alter_configs: {broker: 1, set: {log.cleaner.threads: 2}}
        - alter_configs: {set: {log.cleaner.threads: null}}
        - alter_configs: {topic: a, set: {retention.bytes: 9000}, alone: true}
        - {alter_configs: {topic: a, set: {retention.ms: soon}}, answers: INVALID_CONFIG}
        """
    )

    assert found(verdict) == []


def test_log_dirs_are_cordoned_and_freed_again() -> None:
    verdict = play(
        """
        - cordon: {broker: 1, log_dirs: [d1]}
        - until: {log_dir: {broker: 1, log_dir: d1, state: cordoned}}
        - create_topic: {name: b, partitions: 2}
        - until: {replica_in: {of: b, broker: 1, log_dir: d2}}
        - cordon: {broker: 1, log_dirs: ["*"]}
        - {create_topic: c, answers: INVALID_REPLICATION_FACTOR}
        - cordon: {broker: 1, log_dirs: []}
        - create_topic: c
        """
    )

    assert found(verdict) == []


def test_records_are_deleted() -> None:
    verdict = play(
        """
        - until: {count: {workload: load, at_least: 10}}
        - stop_workload: load
        - delete_records: {of: a-0, before: 3}
        - expect: {offsets: {of: a-0, earliest: 3, latest: 10}}
        - {delete_records: {of: a-0, before: 99}, answers: OFFSET_OUT_OF_RANGE}
        """,
        rest="workloads: [{name: load, topic: a, records_max: 10}]",
    )

    assert found(verdict) == []


def test_a_topic_that_is_not_there_has_no_partitions() -> None:
    assert found(play("- reassign: {of: no-such-topic, to: [1]}")) == [
        "steps: reassign: {of: no-such-topic, to: [1]}: there is no partition of no-such-topic now"
    ]


def test_nobody_to_ask_is_wrong() -> None:
    (told,) = found(play("- kill: 1\n- create_topic: b"))

    assert told == "steps: create_topic: b: no answer: no broker answers"
