"""kafka-configs as it is called for users, clients and addresses."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.client_quotas.entities import Quotas, quota_entity
from protocol.client_quotas.filters import asked_filter, described
from protocol.errors import ErrorCode
from protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
    DescribeClientQuotasRequest,
)
from protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from protocol.security.scram import salted_password
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.running import document, run


class FakeClients:
    """What the brokers keep of clients."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.quotas: Quotas = {}
        self.users: dict[str, dict[int, Any]] = {}
        self.code = ErrorCode.NONE
        cluster.replies |= {
            DescribeClientQuotasRequest: self._describe,
            AlterClientQuotasRequest: self._alter,
            DescribeUserScramCredentialsRequest: self._describe_users,
            AlterUserScramCredentialsRequest: self._alter_users,
        }

    def _describe(self, _broker: int, request: Any) -> Any:
        return described(self.quotas, asked_filter(request))

    def _alter(self, _broker: int, request: Any) -> Any:
        (entry,) = request.entries
        entity = quota_entity((each.entity_type, each.entity_name) for each in entry.entity)
        limits = self.quotas.setdefault(entity, {})
        for op in entry.ops:
            limits.pop(op.key, None)
            if not op.remove:
                limits[op.key] = op.value
        if not limits:
            del self.quotas[entity]
        text = "It may not." if self.code else None
        done = AlterClientQuotasResponseEntryData(
            error_code=self.code, error_message=text, entity=[]
        )
        return AlterClientQuotasResponse(entries=[done])

    def _describe_users(self, _broker: int, request: Any) -> Any:
        names = [each.name for each in request.users] or sorted(self.users)
        return DescribeUserScramCredentialsResponse(
            error_code=0,
            error_message=None,
            results=[
                DescribeUserScramCredentialsResult(
                    user=name,
                    error_code=0 if name in self.users else ErrorCode.RESOURCE_NOT_FOUND,
                    error_message=None,
                    credential_infos=[
                        CredentialInfo(mechanism=number, iterations=each.iterations)
                        for number, each in self.users.get(name, {}).items()
                    ],
                )
                for name in names
            ],
        )

    def _alter_users(self, _broker: int, request: Any) -> Any:
        for each in request.upsertions:
            self.users.setdefault(each.name, {})[each.mechanism] = each
        for each in request.deletions:
            del self.users[each.name][each.mechanism]
        names = {each.name for each in (*request.upsertions, *request.deletions)}
        results = [
            AlterUserScramCredentialsResult(user=name, error_code=0, error_message=None)
            for name in names
        ]
        return AlterUserScramCredentialsResponse(results=results)


@pytest.fixture
def clients(cluster: FakeCluster) -> FakeClients:
    return FakeClients(cluster)


@pytest.mark.parametrize(
    ("entity", "whose", "what"),
    [
        ("--entity-type users --entity-name bob", "user-principal 'bob'", "user bob"),
        (
            "--entity-type users --entity-default --entity-type clients --entity-name app",
            "the default user-principal, client-id 'app'",
            "",
        ),
        ("--client app", "client-id 'app'", "client app"),
        ("--ip 10.0.0.1", "ip '10.0.0.1'", "ip 10.0.0.1"),
    ],
)
@pytest.mark.usefixtures("clients")
def test_quotas_come_and_go(cluster: FakeCluster, entity: str, whose: str, what: str):
    key = "connection_creation_rate" if "--ip" in entity else "producer_byte_rate"
    added = run(cluster, f"kafka-configs --alter {entity} --add-config {key}=10485760")
    changed = f"config for {what}" if what else "default config for users in the cluster"
    assert (added.exit_code, added.stdout) == (0, f"Completed updating {changed}.\n")
    told = run(cluster, f"kafka-configs --describe {entity}").stdout
    assert told == f"Quota configs for {whose} are {key}=1.048576E7\n"
    (found,) = document(run(cluster, f"kafka-configs --describe {entity} --json"))["quotas"]
    assert found["limits"] == {key: 10485760}
    gone = f"kafka-configs --alter {entity} --delete-config {key}"
    assert run(cluster, gone).exit_code == 0
    assert run(cluster, f"kafka-configs --describe {entity}").stdout == ""
    again = run(cluster, gone)
    assert (again.exit_code, again.stderr) == (1, f"Invalid config(s): {key}\n")


def test_users_passwords_are_salted_here_and_described_without(
    cluster: FakeCluster, clients: FakeClients
):
    line = "kafka-configs --alter --user alice --add-config"
    added = run(cluster, line, "SCRAM-SHA-256=[iterations=8192,password=sesame]")
    assert (added.exit_code, added.stdout) == (0, "Completed updating config for user alice.\n")
    kept = clients.users["alice"][1]
    salted = salted_password("SCRAM-SHA-256", "sesame", bytes(kept.salt), 8192)
    assert bytes(kept.salted_password) == salted
    told = "SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-256=iterations=8192\n"
    for who in ("--user alice", "--entity-type users"):
        assert run(cluster, f"kafka-configs --describe {who}").stdout == told
    assert run(cluster, "kafka-configs --describe --user bob").stdout == ""
    run(cluster, "kafka-configs --alter --user alice --delete-config SCRAM-SHA-256")
    assert clients.users == {"alice": {}}


def test_a_refusal_of_the_cluster_is_told(cluster: FakeCluster, clients: FakeClients):
    clients.code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    result = run(cluster, "kafka-configs --alter --user a --add-config producer_byte_rate=1")
    assert result.exit_code == 1
    assert "It may not." in result.stderr
