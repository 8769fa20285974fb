"""Whom quotas may be about, and which limits they have, as a broker of Apache Kafka 4.3.1 says."""

from __future__ import annotations

import pytest

from protocol.client_quotas.entities import check_quota, entity_text, quota_entity
from protocol.errors import ErrorCode, KafkaError


def test_names_are_ordered_by_type() -> None:
    assert quota_entity([("user", "alice"), ("client-id", None)]) == (
        ("client-id", None),
        ("user", "alice"),
    )


@pytest.mark.parametrize("address", ["10.0.0.1", "::1", None])
def test_an_address_or_the_default_of_addresses_has_a_quota(address: str | None) -> None:
    assert quota_entity([("ip", address)]) == (("ip", address),)


def test_a_connection_rate_is_an_int() -> None:
    entity = quota_entity([("ip", None)])
    check_quota(entity, "connection_creation_rate", 2.0**31 - 1)
    with pytest.raises(KafkaError, match=r"connection_creation_rate is too large for an INT\."):
        check_quota(entity, "connection_creation_rate", 2.0**31)


def test_not_a_number_is_no_limit() -> None:
    with pytest.raises(KafkaError, match="must be greater than 0") as caught:
        check_quota(quota_entity([("user", "a")]), "request_percentage", float("nan"))
    assert caught.value.code == ErrorCode.INVALID_REQUEST


def test_entities_are_named_as_kafka_does() -> None:
    entity = quota_entity([("user", "alice"), ("client-id", None)])
    assert entity_text(entity) == "ClientQuotaEntity(entries={client-id=null, user=alice})"
