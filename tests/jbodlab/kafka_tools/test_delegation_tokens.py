"""kafka-delegation-tokens as it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from protocol.security.delegation_tokens import hmac_text
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.running import document, run

HMAC = b"known to its owner"
TEXT = hmac_text(HMAC)


class FakeTokens:
    """Brokers with one token, of alice, which bob may renew."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.asked: list[Any] = []
        self.code = ErrorCode.NONE
        cluster.replies |= {
            CreateDelegationTokenRequest: self._create,
            DescribeDelegationTokenRequest: self._describe,
            RenewDelegationTokenRequest: self._renew,
            ExpireDelegationTokenRequest: self._expire,
        }

    def _create(self, _broker: int, request: Any) -> Any:
        self.asked.append(request)
        return CreateDelegationTokenResponse(
            error_code=self.code,
            principal_type="User",
            principal_name="alice",
            token_requester_principal_type="User",
            token_requester_principal_name="admin",
            issue_timestamp_ms=1,
            expiry_timestamp_ms=2,
            max_timestamp_ms=3,
            token_id="id",
            hmac=HMAC,
        )

    def _describe(self, _broker: int, request: Any) -> Any:
        self.asked.append(request)
        bob = DescribedDelegationTokenRenewer(principal_type="User", principal_name="bob")
        token = DescribedDelegationToken(
            principal_type="User",
            principal_name="alice",
            token_requester_principal_type="User",
            token_requester_principal_name="alice",
            issue_timestamp=1,
            expiry_timestamp=2,
            max_timestamp=3,
            token_id="id",
            hmac=HMAC,
            renewers=[bob],
        )
        tokens = [token] if request.owners else []
        return DescribeDelegationTokenResponse(error_code=self.code, tokens=tokens)

    def _renew(self, _broker: int, request: Any) -> Any:
        self.asked.append(request)
        return RenewDelegationTokenResponse(error_code=self.code, expiry_timestamp_ms=90_000)

    def _expire(self, _broker: int, request: Any) -> Any:
        self.asked.append(request)
        return ExpireDelegationTokenResponse(error_code=self.code, expiry_timestamp_ms=90_000)


@pytest.fixture
def tokens(cluster: FakeCluster) -> FakeTokens:
    return FakeTokens(cluster)


@pytest.fixture
def tool(tmp_path: Path) -> str:
    file = tmp_path / "client.properties"
    file.write_text("")
    return f"kafka-delegation-tokens --command-config {file}"


def test_a_token_is_created_for_an_owner_with_renewers(
    cluster: FakeCluster, tokens: FakeTokens, tool: str
) -> None:
    options = "--renewer-principal User:bob --owner-principal User:alice"
    result = run(cluster, f"{tool} --create --max-life-time-period 5000 {options}")
    assert result.exit_code == 0
    first, second, *table = result.stdout.splitlines()
    assert first == (
        "Calling create token operation with renewers :[User:bob] , max-life-time-period :5000"
    )
    assert second == "Created delegation token with tokenId : id"
    assert table[-1].split()[:5] == ["id", TEXT, "User:alice", "User:admin", "[User:bob]"]
    (asked,) = tokens.asked
    assert (asked.owner_principal_name, asked.max_lifetime_ms) == ("alice", 5000)
    assert [each.principal_name for each in asked.renewers] == ["bob"]


@pytest.mark.usefixtures("tokens")
def test_a_document_never_has_the_hmac(cluster: FakeCluster, tool: str) -> None:
    created = run(cluster, f"{tool} --create --max-life-time-period -1 --json")
    assert document(created)["created"]["token_id"] == "id"
    described = run(cluster, f"{tool} --describe --owner-principal User:alice --json")
    assert [each["renewers"] for each in document(described)["tokens"]] == [["User:bob"]]
    renewed = run(cluster, f"{tool} --renew --hmac {TEXT} --renew-time-period -1 --json")
    assert document(renewed) == {"renewed": {"expires_ms": 90_000}}
    for result in (created, described, renewed):
        assert TEXT not in result.output


@pytest.mark.parametrize(
    ("action", "period", "said"),
    [("renew", "renew-time-period", "renew"), ("expire", "expiry-time-period", "expire")],
)
def test_a_token_is_renewed_and_expired_by_its_hmac(
    cluster: FakeCluster, tokens: FakeTokens, tool: str, action: str, period: str, said: str
) -> None:
    result = run(cluster, f"{tool} --{action} --hmac {TEXT} --{period} 7")
    first, second = result.stdout.splitlines()
    assert first == f"Calling {said} token operation with hmac :{TEXT} , {said}-time-period :7"
    assert second.startswith(f"Completed {said} operation. New expiry date : 1970-01-0")
    assert bytes(tokens.asked[0].hmac) == HMAC


def test_without_an_owner_nobodys_tokens_are_described(
    cluster: FakeCluster, tokens: FakeTokens, tool: str
) -> None:
    assert "current user.\nTotal number of tokens : 0" in run(cluster, f"{tool} --describe").stdout
    owned = run(cluster, f"{tool} --describe --owner-principal User:alice").stdout
    assert "for owners: [User:alice]\nTotal number of tokens : 1" in owned
    assert [len(each.owners) for each in tokens.asked] == [0, 1]


def test_a_refusal_is_said_in_the_words_of_kafkas_clients(
    cluster: FakeCluster, tokens: FakeTokens, tool: str
) -> None:
    tokens.code = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    result = run(cluster, f"{tool} --create --max-life-time-period -1")
    assert result.exit_code == 1
    assert result.stderr == "Delegation Token feature is not enabled.\n"
