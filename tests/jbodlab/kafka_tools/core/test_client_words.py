"""The command line of kafka-configs for users, clients and addresses."""

from __future__ import annotations

import shlex

import pytest

from jbodlab.kafka_tools.core.client_words import (
    ClientEntities,
    Credential,
    check_changes,
    client_entities,
    completed,
    credential_line,
    credentials_of,
    java_double,
    limits_of,
    quota_line,
)
from jbodlab.kafka_tools.core.config_words import OPTIONS, Changes
from jbodlab.kafka_tools.core.failures import ToolFailure
from jbodlab.kafka_tools.core.options import read_words

ALICE = ClientEntities(("users",), ("alice",))


def entities(line: str) -> ClientEntities | None:
    arguments = shlex.split(f"--bootstrap-server a:1 {line}")
    return client_entities(read_words(arguments, OPTIONS), arguments)


@pytest.mark.parametrize(
    ("line", "types", "names"),
    [
        ("--entity-type users", ["users"], []),
        ("--entity-type users --entity-name a", ["users"], ["a"]),
        ("--entity-type users --entity-default", ["users"], [""]),
        (
            "--entity-type clients --entity-default --entity-type users --entity-name a",
            ["clients", "users"],
            ["", "a"],
        ),
        ("--user a --client c", ["clients", "users"], ["c", "a"]),
        ("--user a --client-defaults", ["users", "clients"], ["a", ""]),
        ("--ip 10.0.0.1", ["ips"], ["10.0.0.1"]),
    ],
)
def test_names_belong_to_types_in_their_order(line: str, types: list[str], names: list[str]):
    assert entities(f"--describe {line}") == ClientEntities(tuple(types), tuple(names))
    assert entities("--describe --entity-type topics") is None


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("--describe --user a --entity-name b", "should not be used in conjunction"),
        ("--describe --user a --user-defaults", r"Duplicate entity type\(s\)"),
        ("--describe --user a --ip b", "Only 'users' and 'clients' entity types"),
        ("--alter --entity-type users --add-config a=1", "an entity-name or default entity"),
        ("--alter --user a", "At least one of --add-config"),
    ],
)
def test_who_does_not_go_together_is_refused(line: str, text: str):
    with pytest.raises(ToolFailure, match=text):
        entities(line)


@pytest.mark.parametrize(
    ("types", "name", "added", "deleted", "text"),
    [
        ("users", "a", {"x": "1"}, (), r"quota and SCRAM .* added for 'users' .*: Set\(x\)"),
        ("users", "a", {}, ("x",), r"quota and SCRAM .* deleted for 'users' .*: Set\(x\)"),
        ("clients", "a", {"SCRAM-SHA-256": ""}, (), "quota configs can be added for 'clients'"),
        ("ips", "a", {"producer_byte_rate": "1"}, (), "connection quota configs can be added"),
        ("users", "", {"SCRAM-SHA-256": ""}, (), "--user-defaults is not allowed"),
        ("users", "a", {"SCRAM-SHA-256": "", "producer_byte_rate": "1"}, (), "simultaneously"),
    ],
)
def test_what_cannot_be_changed_is_refused_in_kafkas_words(
    types: str, name: str, added: dict[str, str], deleted: tuple[str, ...], text: str
):
    with pytest.raises(ToolFailure, match=text):
        check_changes(ClientEntities((types,), (name,)), Changes(added, deleted))


def test_limits_and_credentials_are_told_apart():
    assert not check_changes(ALICE, Changes({"producer_byte_rate": "1"}, ()))
    assert check_changes(ALICE, Changes({}, ("SCRAM-SHA-512",)))


def test_limits_are_numbers_and_only_those_that_there_are_go():
    changes = Changes({"producer_byte_rate": "10.5"}, ("consumer_byte_rate",))
    stored = {"consumer_byte_rate": 1.0}
    assert limits_of(changes, stored) == {"consumer_byte_rate": None, "producer_byte_rate": 10.5}
    with pytest.raises(ToolFailure, match=r"Invalid config\(s\): consumer_byte_rate"):
        limits_of(changes, {})
    with pytest.raises(ToolFailure, match="Cannot parse quota configuration value for a: b"):
        limits_of(Changes({"a": "b"}, ()), {})


def test_a_credential_has_a_password_and_iterations_enough():
    added = {"SCRAM-SHA-256": "iterations=8192,password=a,b", "SCRAM-SHA-512": "password=c"}
    assert credentials_of(Changes(added, ())) == [
        Credential("SCRAM-SHA-256", 8192, "a,b"),
        Credential("SCRAM-SHA-512", 4096, "c"),
    ]
    with pytest.raises(ToolFailure, match="Iterations 1 is less than the minimum 4096"):
        credentials_of(Changes({"SCRAM-SHA-256": "iterations=1,password=a"}, ()))
    with pytest.raises(ToolFailure, match="Invalid credential property SCRAM-SHA-256=secret"):
        credentials_of(Changes({"SCRAM-SHA-256": "secret"}, ()))


def test_lines_are_kafkas():
    entity = {"client-id": None, "user": "bob"}
    line = "Quota configs for user-principal 'bob', the default client-id are a=2.0, b=1.0E7"
    assert quota_line(entity, {"b": 1e7, "a": 2}) == line
    told = "SCRAM credential configs for user-principal 'a' are SCRAM-SHA-256=iterations=4096"
    assert credential_line("a", [("SCRAM-SHA-256", 4096)]) == told
    assert completed(ALICE) == "Completed updating config for user alice."
    nobody = ClientEntities(("clients",), ("",))
    assert completed(nobody) == "Completed updating default config for clients in the cluster."


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.0"), (12.5, "12.5"), (9999999, "9999999.0"), (10485760, "1.048576E7"),
        (1e15, "1.0E15"), (0.0005, "5.0E-4"), (123456789.25, "1.2345678925E8"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_java_does(value: float, text: str):
    assert java_double(value) == text
