"""What the contracts of clients' quotas say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.client_quotas.client_quotas import ClientQuotas
from broker.core.client_quotas.connection_rates import ConnectionRates
from broker.core.client_quotas.limits import Asker, Limit, QuotaLimits
from broker.core.client_quotas.mutations import Admission, Mutations
from broker.core.client_quotas.sampled_rate import SampledRate, Sampling
from broker.core.client_quotas.token_bucket import TokenBucket
from broker.core.metadata_image import MetadataImage
from protocol.client_quotas.entities import (
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Quotas,
    quota_entity,
)
from protocol.configs.parsing import broker_config
from protocol.ids import BrokerId
from protocol.messages.topics import (
    CreatableTopic,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)
from protocol.transport.arrivals import SERVED_AT_ONCE, Arrival
from tests.broker.fakes import topic_state, update_metadata
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
SAMPLING = Sampling(11, 1000)
ALICE = Asker("alice", "app")
OF_USERS: Quotas = {
    quota_entity([("user", None)]): {
        PRODUCER_BYTE_RATE: 100.0,
        REQUEST_PERCENTAGE: 1.0,
        "controller_mutation_rate": 1.0,
    }
}
ORDER = CreateTopicsRequest(
    topics=[CreatableTopic(name=name, num_partitions=20) for name in ("a", "b")]
)


def spent(bytes_count: float) -> int:
    rate = SampledRate(SAMPLING)
    rate.record(bytes_count, 0)
    rate.record(0.0, 900)
    return rate.throttle_ms(100.0, 2_500)


def counts_twice(rate: SampledRate, value: float, now_ms: int) -> None:
    rate._samples.append([now_ms, 2 * value, now_ms])


def counts_in_an_old_sample(rate: SampledRate, value: float, now_ms: int) -> None:
    rate._samples.append([now_ms - 5_000, value, now_ms])


def budget(overdrawn: float) -> int:
    bucket = TokenBucket(SAMPLING, 2.0, 0)
    bucket.take(22 + overdrawn, 500)
    return bucket.wait_ms(2.0, 1_000)


def quotas() -> ClientQuotas:
    made = ClientQuotas(broker_config({}))
    made.replace(OF_USERS)
    return made


def admit(request: Any = ORDER, version: int = 7) -> Admission:
    image = MetadataImage(broker_id=BrokerId(1))
    image.update(update_metadata(topic_state()))
    return Mutations(quotas(), image, 1).admit(request, version, ALICE, 0)


def lets_all_through(*_: object) -> Admission:
    return Admission(ORDER, None, {"a": 20}, 0)


def arrive(**limits: float) -> Arrival:
    rates = ConnectionRates(broker_config({}))
    of_ip = {quota_entity([("ip", None)]): {"connection_creation_rate": 1.0}}
    rates.replace(of_ip if limits else {})
    return rates.arrive("10.0.0.1", 0)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("SampledRate.record", answers(None), lambda: spent(1.0)),
    ("SampledRate.record", counts_twice, lambda: spent(1.0)),
    ("SampledRate.record", counts_in_an_old_sample, lambda: spent(1.0)),
    ("SampledRate.throttle_ms", answers(0), lambda: spent(2_000.0)),
    ("SampledRate.throttle_ms", answers(20_000), lambda: spent(2_000.0)),
    ("SampledRate.throttle_ms", answers(5), lambda: SampledRate(SAMPLING).throttle_ms(1.0, 0)),
    ("SampledRate.throttle_ms", answers(-5), lambda: spent(10.0)),
    ("TokenBucket.take", answers(None), lambda: budget(4.0)),
    ("TokenBucket.wait_ms", answers(0), lambda: budget(4.0)),
    ("TokenBucket.wait_ms", answers(9_000), lambda: budget(-4.0)),
    ("QuotaLimits.of", answers(None), lambda: QuotaLimits(OF_USERS, PRODUCER_BYTE_RATE).of(ALICE)),
    (
        "QuotaLimits.of",
        answers(Limit(100.0, ("alice", "app"))),
        lambda: QuotaLimits(OF_USERS, PRODUCER_BYTE_RATE).of(ALICE),
    ),
    ("QuotaLimits.of", answers(Limit(1.0, ("", ""))), lambda: QuotaLimits({}, "x").of(ALICE)),
    (
        "ClientQuotas.record",
        answers(7),
        lambda: ClientQuotas(broker_config({})).record(PRODUCER_BYTE_RATE, ALICE, 1.0, 0),
    ),
    ("ClientQuotas.record", answers(0), lambda: quotas().record(PRODUCER_BYTE_RATE, ALICE, 1.0, 0)),
    ("Mutations.admit", lets_all_through, admit),
    ("Mutations.admit", answers(Admission(ORDER, ORDER, {"a": 40}, 5)), admit),
    ("Mutations.admit", answers(Admission(None, ORDER, {}, 0)), admit),
    ("Mutations.admit", answers(Admission(ORDER, None, {"a": 40}, 5)), admit),
    ("ConnectionRates.arrive", answers(Arrival(5)), arrive),
    ("ConnectionRates.arrive", answers(Arrival(5, is_refused=True)), arrive),
    ("ConnectionRates.arrive", answers(Arrival(5_000)), lambda: arrive(own=1.0)),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_nobody_waits_longer_than_a_sample_for_its_share_of_time() -> None:
    def waits_for_ever(quotas: ClientQuotas, *_: object) -> int:
        quotas._rates[REQUEST_PERCENTAGE, ("alice", "")] = SampledRate(SAMPLING)
        return 5_000

    def use() -> int:
        return quotas().record(REQUEST_PERCENTAGE, ALICE, 500.0, 0)

    assert told_of(None, "ClientQuotas.record", use) == []
    assert told_of(waits_for_ever, "ClientQuotas.record", use)


def test_old_clients_and_topics_that_go_are_judged_by_what_is_known_of_them() -> None:
    nameless = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="", count=2)])
    by_name = DeleteTopicsRequest(topic_names=["orders", "x"])
    for request, version in ((ORDER, 5), (by_name, 4), (nameless, 3)):
        assert told_of(None, "Mutations.admit", lambda: admit(request, version)) == []  # noqa: B023
    assert arrive() == SERVED_AT_ONCE
