"""What an answer about quotas tells can be read back."""

from __future__ import annotations

from protocol.client_quotas.entities import Quotas, quota_entity
from protocol.client_quotas.filters import EVERY_QUOTA, asked_filter, described, told_quotas

QUOTAS: Quotas = {
    quota_entity([("user", "alice"), ("client-id", None)]): {"producer_byte_rate": 1000.0},
    quota_entity([("ip", "::1")]): {"connection_creation_rate": 10.0},
}


def test_whoever_asks_for_every_quota_can_read_every_quota() -> None:
    answer = described(QUOTAS, asked_filter(EVERY_QUOTA))
    assert told_quotas(answer.entries or ()) == QUOTAS
