"""The most specific quota holds, users before client ids; who shares it follows from its place."""

from __future__ import annotations

import pytest

from broker.core.client_quotas.limits import Asker, Limit, QuotaLimits
from protocol.client_quotas.entities import Quotas, quota_entity

KEY = "producer_byte_rate"
ALICE = Asker("alice", "app")
# The most specific first; (entity, who shares the limit when that is the one).
ORDER = [
    ([("user", "alice"), ("client-id", "app")], ("alice", "app")),
    ([("user", "alice"), ("client-id", None)], ("alice", "app")),
    ([("user", "alice")], ("alice", "")),
    ([("user", None), ("client-id", "app")], ("alice", "app")),
    ([("user", None), ("client-id", None)], ("alice", "app")),
    ([("user", None)], ("alice", "")),
    ([("client-id", "app")], ("", "app")),
    ([("client-id", None)], ("", "app")),
]


def quotas(first: int) -> Quotas:
    """All quotas that could hold for ALICE from the ``first`` in order on, and others'."""
    others = [[("user", "bob")], [("user", "alice"), ("client-id", "other")], [("ip", "::1")]]
    rest = [names for names, _ in ORDER[first:]]
    return {quota_entity(names): {KEY: float(place)} for place, names in enumerate(rest + others)}


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_most_specific_quota_holds(first: int) -> None:
    assert QuotaLimits(quotas(first), KEY).of(ALICE) == Limit(0.0, ORDER[first][1])


def test_without_a_quota_of_its_own_kind_nothing_holds() -> None:
    limits = QuotaLimits(quotas(len(ORDER)), KEY)
    assert limits.of(ALICE) is None
    assert not QuotaLimits(quotas(0), "request_percentage")


def test_a_client_without_an_id_has_the_quota_of_its_user_alone() -> None:
    nameless = Asker("alice", "")
    assert QuotaLimits(quotas(0), KEY).of(nameless) == Limit(2.0, ("alice", ""))
    assert QuotaLimits(quotas(6), KEY).of(nameless) is None
