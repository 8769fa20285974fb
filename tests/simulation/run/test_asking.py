from __future__ import annotations

import pytest

from tests.simulation.run.played import found, play

APIS = [
    "Produce",
    "Fetch",
    "ListOffsets",
    "OffsetForLeaderEpoch",
    "DeleteRecords",
    "DescribeProducers",
    "Metadata",
]
OF_ANYBODY = ("Fetch", "DescribeProducers", "Metadata")


@pytest.mark.parametrize("api", APIS)
def test_a_leader_answers_and_a_follower_refuses(api: str) -> None:
    refusal = "NONE" if api in OF_ANYBODY else "NOT_LEADER_OR_FOLLOWER"
    verdict = play(
        f"""
        - ask: {{api: {api}, of: a-0, broker: leader of a-0}}
        - {{ask: {{api: {api}, of: a-0, broker: follower of a-0}}, answers: {refusal}}}
        """,
        brokers=2,
    )

    assert found(verdict) == []


@pytest.mark.scenario(61, 63)
def test_a_replica_on_a_failed_log_dir_answers_with_a_storage_error() -> None:
    verdict = play(
        """
        - fault: {id: dead, broker: 1, log_dir: d1, mode: eio}
        - {ask: {api: Produce, of: a-0, broker: 1}, answers: KAFKA_STORAGE_ERROR}
        - {ask: {api: Fetch, version: 5, of: a-0, broker: 1}, answers: NOT_LEADER_OR_FOLLOWER}
        - {ask: {api: Fetch, version: 6, of: a-0, broker: 1}, answers: KAFKA_STORAGE_ERROR}
        - {ask: {api: ListOffsets, of: a-0, broker: 1}, answers: KAFKA_STORAGE_ERROR}
        - {ask: {api: OffsetForLeaderEpoch, of: a-0, broker: 1}, answers: KAFKA_STORAGE_ERROR}
        - {ask: {api: DescribeProducers, of: a-0, broker: 1}, answers: KAFKA_STORAGE_ERROR}
        - {delete_records: {of: a-0, before: 0}, answers: LEADER_NOT_AVAILABLE}
        """
    )

    assert found(verdict) == []


def test_an_offset_is_fetched_that_may_not_be_there_and_a_topic_asked_for_that_is_not() -> None:
    verdict = play(
        """
        - {ask: {api: Fetch, of: a-0, broker: 1, offset: 1}, answers: OFFSET_OUT_OF_RANGE}
        - ask: {api: Produce, of: a-0, broker: 1}
        - ask: {api: Fetch, of: a-0, broker: 1, offset: 1}
        - ask: {api: Metadata, of: no-such-topic-0, broker: 1}
          answers: UNKNOWN_TOPIC_OR_PARTITION
        """
    )

    assert found(verdict) == []


def test_the_first_record_from_a_time_on_is_asked_for() -> None:
    verdict = play(
        """
        - ask: {api: Produce, of: a-0, broker: 1}
        - ask: {api: ListOffsets, of: a-0, broker: 1, time: 0s}
        """
    )

    assert found(verdict) == []


def test_what_was_written_is_not_taken_by_its_age() -> None:
    verdict = play(
        """
        - ask: {api: Produce, of: a-0, broker: 1}
        - wait: 2min
        - expect: {offsets: {of: a-0, earliest: 0, latest: 1}}
        """
    )

    assert found(verdict) == []
