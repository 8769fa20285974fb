"""Facts about the journal travel in tagged fields that Kafka skips."""

from __future__ import annotations

from protocol.messages.journal import (
    REPORT_TAG,
    JournalReport,
    JournalStamp,
    ReportedReplica,
    ReportedTopic,
    ask_for_replicas,
    asks_for_replicas,
    is_other_journal,
    put_report,
    put_stamp,
    report_of,
    stamp_of,
)
from protocol.messages.lifecycle import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from protocol.wire.fast import codec

ID = bytes([7]) * 16


def test_a_report_goes_over_the_wire_beside_kafkas_own_tagged_fields() -> None:
    request = BrokerHeartbeatRequest(broker_id=1, offline_log_dirs=[bytes([1]) * 16])
    replica = ReportedReplica(partition=2, leader=1, isr=[1, 3], log_end_offset=9)
    topic = ReportedTopic(name="orders", topic_id=ID, replicas=[replica])
    put_report(request, JournalReport(journal_id=ID, journal_number=41, topics=[topic]))

    data = codec(BrokerHeartbeatRequest, 2).encode(request)
    read = codec(BrokerHeartbeatRequest, 2).decode(bytes(data))

    report = report_of(read)
    assert report is not None
    assert (bytes(report.journal_id), report.journal_number) == (ID, 41)
    assert report.topics is not None
    assert list(report.topics[0].replicas[0].isr) == [1, 3]
    assert list(map(bytes, read.offline_log_dirs)) == [bytes([1]) * 16]


def test_a_stamp_and_a_question_go_together() -> None:
    answer = BrokerHeartbeatResponse()
    assert not asks_for_replicas(answer)
    ask_for_replicas(answer)
    put_stamp(answer, JournalStamp(journal_id=ID, controller_epoch=3, journal_number=41))
    put_stamp(answer, JournalStamp(journal_id=ID, controller_epoch=3, journal_number=42))

    read = codec(BrokerHeartbeatResponse, 2).decode(
        bytes(codec(BrokerHeartbeatResponse, 2).encode(answer))
    )

    stamp = stamp_of(read)
    assert stamp is not None
    assert stamp.journal_number == 42
    assert asks_for_replicas(read)


def test_somebody_elses_field_of_that_number_is_no_report() -> None:
    request = BrokerHeartbeatRequest()
    setattr(request, "unknown_tags", ((REPORT_TAG, b"x"),))  # noqa: B010 -- no field of the table
    assert report_of(request) is None
    assert report_of(BrokerHeartbeatRequest()) is None


def test_only_a_broker_that_heard_of_a_journal_can_have_heard_of_another() -> None:
    assert not is_other_journal(JournalReport(), ID)
    assert not is_other_journal(JournalReport(journal_id=ID), ID)
    assert is_other_journal(JournalReport(journal_id=bytes([8]) * 16), ID)
