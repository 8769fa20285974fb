"""What changed is written once, and of a gauge the most."""

from __future__ import annotations

from protocol.ids import TopicPartition
from simulation.core.samples import GaugeSample, LogDirSample, ReplicaSample, Role, Samples
from simulation.sampling.sample_writer import SampleWriter

TP = TopicPartition("orders", 0)


def test_a_log_dir_is_written_when_it_changes() -> None:
    samples = Samples()
    writer = SampleWriter(1, samples)
    for at_us, is_online in enumerate((True, True, False, False, True)):
        writer.log_dir(LogDirSample(at_us, 1, "/b1/d1", is_online=is_online))

    assert samples.log_dirs == [
        LogDirSample(0, 1, "/b1/d1", is_online=True),
        LogDirSample(2, 1, "/b1/d1", is_online=False),
        LogDirSample(4, 1, "/b1/d1", is_online=True),
    ]


def test_of_a_gauge_the_most_is_kept_where_it_was_first_written() -> None:
    samples = Samples()
    writer, another = SampleWriter(1, samples), SampleWriter(2, samples)
    for now_us, value in enumerate((3, 9, 5)):
        writer.gauge("bytes of tails", value, 10, now_us)
        another.gauge("bytes of tails", 1, 10, now_us)

    assert samples.gauges == [
        GaugeSample(1, "broker-1", "bytes of tails", 9, 10),
        GaugeSample(0, "broker-2", "bytes of tails", 1, 10),
    ]


def test_an_offline_replica_keeps_what_was_written_of_it() -> None:
    samples = Samples()
    writer = SampleWriter(1, samples)
    led = ReplicaSample(1, 1, 7, TP, Role.LEADER, b"id", "/b1/d1", 3, 0, 9, 9, (1, 2))
    writer.replica(led)

    offline = writer.offline_replica(TP, None, 8, 2)
    assert offline == led._replace(at_us=2, boot=8, role=Role.OFFLINE, isr=())
    assert writer.offline_replica(TP, "/b1/d2", 8, 2).log_dir == "/b1/d2"
    assert samples.replicas == [led]
    unknown = writer.offline_replica(TP._replace(partition=1), "/b1/d2", 8, 2)
    assert (unknown.role, unknown.log_dir, unknown.at_us) == (Role.OFFLINE, "/b1/d2", 2)


def test_a_replica_that_is_gone_is_written_once_and_known_no_more() -> None:
    samples = Samples()
    writer = SampleWriter(1, samples)
    led = ReplicaSample(1, 1, 7, TP, Role.LEADER, b"id", "/b1/d1", 3, 0, 9, 9, (1, 2))
    writer.replica(led)
    writer.replica_gone(TP, 5)

    assert writer.replicas == {}
    assert samples.replicas == [led, led._replace(at_us=5, role=Role.GONE, isr=())]
