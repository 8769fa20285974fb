"""Kafka's ``kafka-acls`` on a cluster with an authorizer, whose brokers are super users."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from benchmarks.peer.kafka import PeerMissingError
from jbodlab.processes.lab_spec import LabShape
from protocol.configs.authorizer import ACL_AUTHORIZER
from tests.integration.labs import FAST, PATIENT_MS, running_lab
from tests.kafka_tools.both import Both
from tests.kafka_tools.conftest import BUILD
from tests.kafka_tools.tools import RELEASES, KafkaTools, Printed

SECURED = {"authorizer.class.name": ACL_AUTHORIZER, "super.users": "User:ANONYMOUS"}
OWN = "orders --allow-principal User:alice --operation Read --operation Write"
OF_ORDERS = "ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)"
READ = "(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)"
WRITE = READ.replace("READ", "WRITE")


@pytest.fixture(params=RELEASES)
def acl_tools(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[KafkaTools]:
    """The tools of one release, at a cluster of their own."""
    shape = LabShape(configs={**FAST, **SECURED}, session_timeout_ms=PATIENT_MS)
    with running_lab(tmp_path / "lab", shape) as lab:
        try:
            tools = KafkaTools(request.param, BUILD, tmp_path, ",".join(lab.servers))
        except PeerMissingError as error:
            pytest.skip(str(error))
        yield tools
        tools.close()


def lines_of(printed: Printed) -> list[str]:
    """Return what was printed, in an order of its own: Kafka's sets have none."""
    return sorted(line.strip() for line in printed.lines if line.strip())


@pytest.mark.sampled("acl_tools", kept=1, together="releases of tools")
def test_our_command_adds_lists_and_removes_as_kafkas(acl_tools: KafkaTools, tmp_path: Path):
    both = Both(acl_tools, lambda _broker: [], tmp_path)
    alice = "--allow-principal User:alice --allow-host 10.0.0.1"
    told: list[list[list[str]]] = []
    for run in (both.ours, acl_tools.run):
        of_one: list[list[str]] = []
        for options in (
            f"--add --producer --idempotent --topic t --transactional-id t {alice}",
            f"--add --consumer --topic u --group g {alice}",
            f"--add --topic t --resource-pattern-type prefixed --operation Read {alice}",
            f"--add --user-principal User:bob --operation CreateTokens {alice}",
            "--list",
            "--list --topic t --principal User:alice --principal User:carl",
            "--list --topic ten --resource-pattern-type match",
            f"--remove --force --topic t --operation Write {alice}",
            "--list --topic t",
            "--remove --force --topic t",
            "--remove --force --topic t --resource-pattern-type any",
            "--remove --force --topic u --group g --cluster --transactional-id t",
            "--remove --force --user-principal User:bob",
            "--list",
        ):
            printed = run(f"kafka-acls {options}")
            assert printed.code == 0
            of_one.append(lines_of(printed))
        told.append(of_one)
    ours, java = told
    assert ours == java


@pytest.mark.sampled("acl_tools", kept=1, together="releases of tools")
def test_an_acl_that_exists_is_told_as_4_3_does(acl_tools: KafkaTools, tmp_path: Path):
    both = Both(acl_tools, lambda _broker: [], tmp_path)
    both.ours(f"kafka-acls --add --topic {OWN}")
    more = f"kafka-acls --add --topic {OWN} --operation Describe --topic others"
    java = acl_tools.run(more)
    gone = acl_tools.run("kafka-acls --remove --force --topic others")
    operation = "--operation Describe --allow-principal User:alice"
    acl_tools.run(f"kafka-acls --remove --force --topic orders {operation}")
    ours = both.ours(more)
    assert (java.code, gone.code, ours.code) == (0, 0, 0)
    exists = [line for line in lines_of(ours) if line.endswith("already exists.")]
    assert exists == [
        f"Acl (pattern={OF_ORDERS}, entry={entry}) already exists." for entry in (READ, WRITE)
    ]
    if acl_tools.release == "4.3.1":
        assert lines_of(ours) == lines_of(java)
    else:  # It adds them again without a word.
        assert "already exists" not in java.out


@pytest.mark.sampled("acl_tools", kept=1, together="releases of tools")
def test_acls_are_added_listed_and_removed(acl_tools: KafkaTools):
    added = acl_tools.run(f"kafka-acls --add --topic {OWN}")
    assert added.code == 0
    assert "Adding ACLs for resource" in added.out
    denied = "--deny-principal User:bob --deny-host 10.0.0.1 --operation All"
    acl_tools.run(f"kafka-acls --add --group g --resource-pattern-type prefixed {denied}")
    listed = acl_tools.run("kafka-acls --list")
    assert listed.code == 0
    for line in (OF_ORDERS, READ, WRITE, "name=g, patternType=PREFIXED"):
        assert line in listed.out
    matching = acl_tools.run("kafka-acls --list --topic orders --resource-pattern-type match")
    assert READ in matching.out
    assert "User:bob" not in matching.out
    options = "--allow-principal User:alice --operation Read --topic orders"
    assert acl_tools.run(f"kafka-acls --remove --force {options}").code == 0
    left = acl_tools.run("kafka-acls --list").out
    assert (READ in left, WRITE in left) == (False, True)
