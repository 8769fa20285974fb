"""kafka-acls as it is called."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.acls.model import AclBinding
from protocol.acls.requests import asked_filter, deleted, described, new_binding
from protocol.errors import ErrorCode
from protocol.messages.acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from tests.jbodlab.command_line import main_with_input
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.running import document, run

ALICE = "--allow-principal User:alice"
OF_FOO = "ResourcePattern(resourceType=TOPIC, name=foo, patternType=LITERAL)"


class FakeAcls:
    """What the brokers keep."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.kept: dict[AclBinding, None] = {}
        self.code = ErrorCode.NONE
        cluster.replies |= {
            DescribeAclsRequest: self._describe,
            CreateAclsRequest: self._create,
            DeleteAclsRequest: self._delete,
        }

    def _describe(self, _broker: int, request: Any) -> Any:
        wanted = asked_filter(request)
        found = described(acl for acl in self.kept if wanted.matches(acl))
        text = "No Authorizer is configured." if self.code else None
        return DescribeAclsResponse(error_code=self.code, error_message=text, resources=found)

    def _create(self, _broker: int, request: Any) -> Any:
        self.kept |= dict.fromkeys(new_binding(each) for each in request.creations)
        result = AclCreationResult(error_code=0, error_message=None)
        return CreateAclsResponse(results=[result for _ in request.creations])

    def _delete(self, _broker: int, request: Any) -> Any:
        results: list[DeleteAclsFilterResult] = []
        for each in request.filters:
            wanted = asked_filter(each)
            gone = [acl for acl in self.kept if wanted.matches(acl)]
            for acl in gone:
                del self.kept[acl]
            results.append(
                DeleteAclsFilterResult(
                    error_code=0, error_message=None, matching_acls=[deleted(acl) for acl in gone]
                )
            )
        return DeleteAclsResponse(filter_results=results)


@pytest.fixture
def acls(cluster: FakeCluster) -> FakeAcls:
    return FakeAcls(cluster)


def operations(acls: FakeAcls) -> list[str]:
    return sorted(f"{acl.pattern.resource_type.name} {acl.operation.name}" for acl in acls.kept)


@pytest.mark.usefixtures("acls")
def test_what_is_added_is_told(cluster: FakeCluster):
    result = run(cluster, f"kafka-acls --add --topic foo {ALICE} --operation Read --operation All")
    lines = (
        " \n \t(principal=User:alice, host=*, operation=ALL, permissionType=ALLOW)\n"
        "\t(principal=User:alice, host=*, operation=READ, permissionType=ALLOW) \n\n"
    )
    assert result.stdout == f"Adding ACLs for resource `{OF_FOO}`:{lines}"
    listed = run(cluster, "kafka-acls --list").stdout
    assert listed == f"Current ACLs for resource `{OF_FOO}`:{lines}"
    told = document(run(cluster, "kafka-acls --list --json"))["acls"]
    assert [each["operation"] for each in told] == ["ALL", "READ"]
    assert told[0]["principal"] == "User:alice"


def test_an_acl_that_exists_is_told_and_left_and_the_others_are_added(
    cluster: FakeCluster, acls: FakeAcls
):
    run(cluster, f"kafka-acls --add --topic foo {ALICE} --operation Read")
    kept = dict(acls.kept)
    again = f"kafka-acls --add --topic foo {ALICE} --operation Read"
    exists = (
        f"Acl (pattern={OF_FOO}, entry=(principal=User:alice, host=*, operation=READ, "
        "permissionType=ALLOW)) already exists.\n"
    )
    assert run(cluster, again).stdout == exists
    assert acls.kept == kept
    both = run(cluster, f"{again} --operation Write").stdout
    assert both.startswith(f"{exists}Adding ACLs for resource `{OF_FOO}`:")
    assert both.count("operation=READ") == 1
    assert operations(acls) == ["TOPIC READ", "TOPIC WRITE"]
    told = document(run(cluster, f"{again} --json"))
    assert [len(told[each]) for each in ("added", "existing")] == [0, 1]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("--producer --topic foo", ["TOPIC CREATE", "TOPIC DESCRIBE", "TOPIC WRITE"]),
        (
            "--producer --idempotent --topic foo --transactional-id t",
            [
                "CLUSTER IDEMPOTENT_WRITE", "TOPIC CREATE", "TOPIC DESCRIBE", "TOPIC WRITE",
                "TRANSACTIONAL_ID DESCRIBE", "TRANSACTIONAL_ID WRITE",
            ],
        ),
        ("--consumer --topic foo --group g", ["GROUP READ", "TOPIC DESCRIBE", "TOPIC READ"]),
        ("--cluster --operation ClusterAction", ["CLUSTER CLUSTER_ACTION"]),
        ("--delegation-token t --operation Describe", ["DELEGATION_TOKEN DESCRIBE"]),
        ("--user-principal User:b --operation CreateTokens", ["USER CREATE_TOKENS"]),
    ],
)  # fmt: skip
def test_options_stand_for_operations(
    cluster: FakeCluster, acls: FakeAcls, options: str, found: list[str]
):
    assert run(cluster, f"kafka-acls --add {ALICE} {options}").exit_code == 0
    assert operations(acls) == found


def test_hosts_and_denials_are_each_ones_own(cluster: FakeCluster, acls: FakeAcls):
    deny = "--deny-principal User:bob --deny-host 10.0.0.1 --deny-host 10.0.0.2"
    run(cluster, f"kafka-acls --add --topic f --resource-pattern-type prefixed {ALICE} {deny}")
    assert [(acl.principal, acl.host, acl.permission.name) for acl in acls.kept] == [
        ("User:alice", "*", "ALLOW"),
        ("User:bob", "10.0.0.1", "DENY"),
        ("User:bob", "10.0.0.2", "DENY"),
    ]
    of_bob = run(cluster, "kafka-acls --list --principal User:bob").stdout
    assert of_bob.startswith("ACLs for principal `User:bob`\nCurrent ACLs for resource")
    assert "User:alice" not in of_bob
    matching = "kafka-acls --list --topic foo --resource-pattern-type match"
    assert "patternType=PREFIXED" in run(cluster, matching).stdout


@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("n\n", 1), ("", 1)])
def test_removing_asks_first(cluster: FakeCluster, acls: FakeAcls, answer: str, left: int):
    run(cluster, f"kafka-acls --add --topic foo {ALICE}")
    where = ("--bootstrap-server", cluster.bootstrap)
    asked = main_with_input(answer, "kafka-acls", *where, "--remove", "--topic", "foo")
    text = f"Are you sure you want to delete all ACLs for resource filter `{OF_FOO}`? (y/n)\n"
    assert asked.stdout.startswith(text)
    assert len(acls.kept) == left


def test_what_is_named_is_removed_without_a_question_by_force(cluster: FakeCluster, acls: FakeAcls):
    run(cluster, f"kafka-acls --add --topic foo {ALICE} --operation Read --operation Write")
    result = run(cluster, f"kafka-acls --remove --force --topic foo {ALICE} --operation Read")
    assert operations(acls) == ["TOPIC WRITE"]
    assert result.stdout == ""
    rest = document(run(cluster, "kafka-acls --remove --force --topic foo --json"))["removed"]
    assert [each["operation"] for each in rest] == ["WRITE"]


def test_a_refusal_is_told_in_one_line(cluster: FakeCluster, acls: FakeAcls):
    acls.code = ErrorCode.SECURITY_DISABLED
    result = run(cluster, "kafka-acls --list")
    assert result.exit_code == 1
    assert result.stdout == "Error while executing ACL command: No Authorizer is configured.\n"
