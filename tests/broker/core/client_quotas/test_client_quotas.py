"""Clients held against their quotas: who shares a rate, what is no limit, what is forgotten."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import math

from broker.core.client_quotas.client_quotas import ClientQuotas
from broker.core.client_quotas.limits import Asker
from protocol.client_quotas.entities import (
    CONSUMER_BYTE_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Quotas,
    quota_entity,
)
from protocol.configs.parsing import broker_config

ALICE, ALICE_ELSEWHERE, BOB = Asker("alice", "a"), Asker("alice", "b"), Asker("bob", "a")


def made(*, known_max: int = 100, **limits: float) -> ClientQuotas:
    """Quotas of every user."""
    quotas: Quotas = {quota_entity([("user", None)]): dict(limits)}
    found = ClientQuotas(broker_config({}), known_max=known_max)
    found.replace(quotas)
    return found


def test_without_quotas_nothing_is_limited() -> None:
    quotas = ClientQuotas(broker_config({}))
    assert not quotas.is_limiting
    assert quotas.record(PRODUCER_BYTE_RATE, ALICE, 1e12, 0) == 0
    assert quotas.most_at_once(CONSUMER_BYTE_RATE, ALICE) == math.inf
    quotas.take_mutations(ALICE, 10**6, 0)
    assert quotas.mutation_wait_ms(ALICE, 0) == 0


def test_clients_of_one_user_share_its_rate_and_other_users_have_their_own() -> None:
    quotas = made(producer_byte_rate=100.0)
    assert quotas.record(PRODUCER_BYTE_RATE, ALICE, 1000.0, 0) == 0
    assert quotas.record(PRODUCER_BYTE_RATE, ALICE_ELSEWHERE, 1000.0, 0) == 10_000
    assert quotas.record(PRODUCER_BYTE_RATE, BOB, 1000.0, 0) == 0
    assert quotas.record(CONSUMER_BYTE_RATE, ALICE, 1e9, 0) == 0


def test_what_may_be_fetched_at_once_is_what_all_samples_but_one_let_through() -> None:
    assert made(consumer_byte_rate=100.0).most_at_once(CONSUMER_BYTE_RATE, ALICE) == 1000.0


def test_for_its_share_of_time_a_client_is_throttled_a_sample_at_most() -> None:
    assert made(request_percentage=1.0).record(REQUEST_PERCENTAGE, ALICE, 500.0, 0) == 1000


def test_mutations_are_overdrawn_once() -> None:
    quotas = made(controller_mutation_rate=1.0)
    quotas.take_mutations(ALICE, 12, 0)
    assert quotas.mutation_wait_ms(ALICE, 0) == 1000
    quotas.take_mutations(ALICE, -1, 0)
    assert quotas.mutation_wait_ms(ALICE, 0) == 0


def test_a_changed_limit_holds_for_what_was_counted_before() -> None:
    quotas = made(producer_byte_rate=1e6)
    assert quotas.record(PRODUCER_BYTE_RATE, ALICE, 2000.0, 0) == 0
    quotas.replace({quota_entity([("user", "alice")]): {PRODUCER_BYTE_RATE: 100.0}})
    assert quotas.record(PRODUCER_BYTE_RATE, ALICE, 0.0, 0) == 10_000


def test_rates_that_no_longer_matter_are_forgotten() -> None:
    quotas = made(known_max=2, producer_byte_rate=1.0)
    quotas.record(PRODUCER_BYTE_RATE, ALICE, 100.0, 0)
    quotas.record(PRODUCER_BYTE_RATE, BOB, 100.0, 10_000)
    quotas.record(PRODUCER_BYTE_RATE, Asker("carol", ""), 100.0, 12_000)
    assert len(quotas._rates) == 2
    assert quotas.record(PRODUCER_BYTE_RATE, ALICE, 0.0, 12_000) == 0
    assert quotas.record(PRODUCER_BYTE_RATE, BOB, 0.0, 12_000) > 0


def test_a_budget_that_is_full_again_is_forgotten_and_others_are_not() -> None:
    quotas = made(known_max=2, controller_mutation_rate=1.0)
    carol = Asker("carol", "")
    quotas.take_mutations(ALICE, 20, 0)
    quotas.take_mutations(BOB, 10, 0)
    quotas.take_mutations(carol, 20, 10_000)
    assert quotas.mutation_wait_ms(carol, 10_000) == 9_000
    assert quotas.mutation_wait_ms(ALICE, 10_000) == 0, "ten of its twenty came back"
    quotas.take_mutations(ALICE, 2, 10_000)
    assert quotas.mutation_wait_ms(ALICE, 10_000) == 1_000
    quotas.take_mutations(BOB, 12, 10_000)
    assert quotas.mutation_wait_ms(BOB, 10_000) == 1_000, "it had all eleven again"


def test_each_kind_of_quota_makes_a_broker_limit() -> None:
    for quotas in (
        made(producer_byte_rate=1.0),
        made(consumer_byte_rate=1.0),
        made(request_percentage=1.0),
        made(controller_mutation_rate=1.0),
    ):
        assert quotas.is_limiting
    assert not made(connection_creation_rate=1.0).is_limiting
