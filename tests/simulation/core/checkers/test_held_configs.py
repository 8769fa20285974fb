from __future__ import annotations

from simulation.core.checkers.evidence import Evidence
from simulation.core.checkers.held_configs import HeldConfigs
from simulation.core.samples import BrokerConfigsSample, Samples, TopicSample

_WEEK_MS = 7 * 24 * 3_600_000


def _held(samples: Samples, begin_us: int, end_us: int, broker: int | None = None) -> list[int]:
    evidence = Evidence(
        history=[],
        samples=samples,
        configs={"log.retention.ms": "700"},
        broker_configs={2: {"log.retention.ms": "800"}},
    )
    return [
        config.retention_ms
        for config in HeldConfigs(evidence).of("orders", begin_us, end_us, broker)
    ]


def test_without_any_configuration_kafkas_defaults_hold() -> None:
    (config,) = HeldConfigs(Evidence(history=[], samples=Samples())).of("orders", 0, 9)

    assert config.retention_ms == _WEEK_MS


def test_the_cluster_file_holds_where_nothing_was_set_a_brokers_own_part_first() -> None:
    assert _held(Samples(), 0, 9) == _held(Samples(), 0, 9, broker=1) == [700]
    assert _held(Samples(), 0, 9, broker=2) == [800]


def test_a_topics_own_comes_first_then_the_brokers_then_that_of_all_brokers() -> None:
    samples = Samples(broker_configs=[BrokerConfigsSample(1, "", {"log.retention.ms": "600"})])
    assert _held(samples, 2, 2, broker=2) == [600]

    samples.broker_configs.append(BrokerConfigsSample(1, "2", {"log.retention.ms": "500"}))
    assert _held(samples, 2, 2, broker=2) == [500]
    assert _held(samples, 2, 2, broker=1) == [600]

    samples.topics.append(TopicSample(1, "orders", {"retention.ms": "400"}))
    assert _held(samples, 2, 2, broker=2) == [400]


def test_everything_that_held_at_any_time_in_between_counts() -> None:
    topics = [TopicSample(at, "orders", {"retention.ms": str(at)}) for at in (10, 20, 30)]
    samples = Samples(topics=topics)

    assert _held(samples, 15, 30) == [10, 20, 30]
    assert _held(samples, 20, 29) == [20]
    assert _held(samples, 0, 5) == [10]
