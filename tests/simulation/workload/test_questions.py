from __future__ import annotations

import pytest

from protocol.admin.offsets import EpochEnd
from protocol.admin.reassignments import ReassignmentView
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.faults.model import DiskMode
from protocol.ids import TopicPartition
from protocol.messages.offsets import EARLIEST, LATEST
from simulation.workload import questions
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from tests.simulation.workload.lab import TP, Lab


async def _with_records(lab: Lab, count: int) -> int:
    """Write some records to a partition that broker 1 leads, and return its leader."""
    await lab.admin.create_topic("orders", assignment=[(1, 2)])
    await lab.until_led("orders")
    settings = ProducerSettings(topic="orders", records_max=count)
    await ProducerWorkload(0, lab.new_client("writer"), lab.history, settings, lab.clock).run()
    return 1


async def test_log_dirs_are_told_with_their_logs(lab: Lab) -> None:
    await _with_records(lab, 5)

    dirs = await questions.log_dirs(lab.client, 1)

    assert [each.path for each in dirs] == [lab.path(1, 1), lab.path(1, 2)]
    assert {(each.broker, each.error_code, each.is_cordoned) for each in dirs} == {
        (1, ErrorCode.NONE, False)
    }
    (log,) = [log for each in dirs for log in each.replicas]
    assert (log.tp, log.is_future, log.offset_lag) == (TP, False, 0)
    assert log.size_bytes > 5 * 100


async def test_a_failed_log_dir_is_told_with_its_error(lab: Lab) -> None:
    await _with_records(lab, 1)
    (path,) = [each.path for each in await questions.log_dirs(lab.client, 1) if each.replicas]
    lab.cluster.faults("broker-1", path).set_fault(DiskMode.EIO)
    settings = ProducerSettings(topic="orders", records_max=5)
    await ProducerWorkload(0, lab.new_client("writer"), lab.history, settings, lab.clock).run()

    dirs = await questions.log_dirs(lab.client, 1)

    assert [each.path for each in dirs if each.error_code == ErrorCode.KAFKA_STORAGE_ERROR] == [
        path
    ]


async def test_offsets_are_told_or_why_not(lab: Lab) -> None:
    await _with_records(lab, 5)

    assert await questions.list_offsets(lab.client, 1, [TP], LATEST) == {TP: 5}
    assert await questions.list_offsets(lab.client, 1, [TP], EARLIEST) == {TP: 0}
    other = TopicPartition("none", 0)
    assert await questions.list_offsets(lab.client, 1, [other], LATEST) == {
        other: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    }


async def test_the_end_of_an_epoch_is_told(lab: Lab) -> None:
    await _with_records(lab, 5)

    end = await questions.end_of_epoch(lab.client, 1, TP, 0, 0)

    assert end == EpochEnd(0, 5)
    with pytest.raises(KafkaError, match="UNKNOWN_LEADER_EPOCH"):
        await questions.end_of_epoch(lab.client, 1, TP, 0, 7)


async def test_configurations_of_what_is_not_there_are_an_error(lab: Lab) -> None:
    with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        await questions.configs(lab.client, ResourceType.TOPIC, "none")


async def test_reassignments_under_way_are_listed(lab: Lab) -> None:
    await _with_records(lab, 1)
    lab.cluster.brokers[3].kill()

    assert await lab.admin.reassign({TP: (3,)}) == {TP: ErrorCode.NONE}

    (found,) = await questions.reassignments(lab.client)
    assert found == ReassignmentView(
        topic=TP.topic, partition=TP.partition, replicas=(3, 1, 2), adding=(3,), removing=(1, 2)
    )
