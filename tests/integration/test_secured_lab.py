# confluent-kafka and kafka-python have types in part only.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
"""``secure=True``: the guide's clients come in by their files, commands by none, others do not."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

import jbodlab
from jbodlab.errors import ExitCode
from tests.deadlines import DEADLINE_S
from tests.integration.labs import FAST, PATIENT_MS
from tests.jbodlab import command_line

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "how-to" / "secure.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
JAAS_KEY = "listener.name.sasl_ssl.plain.sasl.jaas.config"
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
JAAS = f'{MODULE} user_carol="of jaas";'
_IMPORT = re.compile(r"from (kafka|aiokafka|confluent_kafka) import")
PROGRAMS = [text for text in BLOCKS if _IMPORT.search(text)]
CLIENTS = [_IMPORT.findall(text)[0] for text in PROGRAMS]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Generator[jbodlab.Cluster]:
    folder = tmp_path_factory.mktemp("lab")
    with jbodlab.Cluster(
        brokers=1,
        log_dirs=1,
        secure=True,
        configs=FAST | {"auto.create.topics.enable": "false", JAAS_KEY: JAAS},
        session_timeout_ms=PATIENT_MS,
        folder=folder,
    ) as cluster:
        cluster.create_topic("orders")
        yield cluster


@pytest.mark.parametrize("program", PROGRAMS, ids=CLIENTS)
def test_a_program_of_the_guide_writes_by_its_file(secured: jbodlab.Cluster, program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=secured.client_file("admin.properties").parent,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "orders-0\n"), done.stderr


def test_every_client_of_python_has_a_program() -> None:
    assert CLIENTS == ["kafka", "aiokafka", "confluent_kafka"]


def test_commands_need_no_options_and_show_no_secret(secured: jbodlab.Cluster) -> None:
    config = ("--config", str(secured.folder / "cluster.yaml"))
    listed = command_line.jbodlab("topics", "list", *config)
    assert "orders" in listed.stdout
    described = command_line.jbodlab("status", "--json", *config)
    secrets = secured.client_file("admin.properties").parents[1] / "users"
    logs = "".join(each.read_text() for each in secured.folder.glob("data/run/*/*.log"))
    assert "listening" in logs
    for line in secrets.read_text().split():
        password = line.partition(":")[2]
        assert password not in logs + described.stdout + secured.story()


def test_who_may_not_is_told_so(secured: jbodlab.Cluster) -> None:
    where = ("--bootstrap-server", secured.bootstrap_servers, "--command-config")
    alice = command_line.jbodlab(
        "kafka-topics", "--describe", *where, str(secured.client_file("alice.properties"))
    )
    assert "orders" not in alice.stdout
    admin = command_line.jbodlab(
        "kafka-topics", "--describe", *where, str(secured.client_file("admin.properties"))
    )
    assert "Topic: orders" in admin.stdout


def test_a_user_by_jaas_of_the_listener_comes_in_and_the_password_is_hidden(
    secured: jbodlab.Cluster, tmp_path: Path
) -> None:
    admin = secured.client_file("admin.properties").read_text()
    where = ("--bootstrap-server", secured.bootstrap_servers, "--command-config")
    for password in ("of jaas", "guess"):
        file = tmp_path / f"{password}.properties"
        login = f'{MODULE} username="carol" password="{password}";'
        text = re.sub(r"sasl\.jaas\.config=.*", f"sasl.jaas.config={login}", admin)
        file.write_text(re.sub(r"sasl\.mechanism=.*", "sasl.mechanism=PLAIN", text))
        listed = command_line.jbodlab("topics", "list", *where, str(file))
        assert (listed.exit_code == ExitCode.OK) == (password == "of jaas"), listed.stderr
    own = str(secured.client_file("admin.properties"))
    entity = ("--describe", "--all", "--entity-type", "brokers", "--entity-name", "1")
    shown = command_line.jbodlab("kafka-configs", *entity, *where, own)
    assert JAAS_KEY in shown.stdout
    assert "of jaas" not in shown.stdout


def test_who_may_not_ask_about_the_cluster_is_told_so_by_our_commands(
    secured: jbodlab.Cluster, tmp_path: Path
) -> None:
    file = str(secured.client_file("alice.properties"))
    where = ("--bootstrap-server", secured.bootstrap_servers, "--command-config", file)
    plan = ("rebalance", "plan", "--out", str(tmp_path / "plan.json"))
    for command in (("log-dirs", "describe"), ("reassignments", "list"), plan, ("conform",)):
        refused = command_line.jbodlab(*command, *where)
        assert refused.exit_code == ExitCode.FAILED, command
        [*_, last] = refused.stderr.splitlines()
        assert "the cluster answers" in last
        assert "AUTHORIZATION_FAILED" in last


@pytest.mark.parametrize("cases", ["frames/*", "topics/delete*", "typical/Produce*"])
def test_it_is_judged_through_its_listener(secured: jbodlab.Cluster, cases: str) -> None:
    file = str(secured.client_file("admin.properties"))
    where = ("--bootstrap-server", secured.bootstrap_servers, "--against", "kafka-4.3")
    judge = ("conform", *where, "--known-differences", "jbodlab", "--only", cases)
    result = command_line.jbodlab(*judge, "--command-config", file)
    assert result.exit_code == ExitCode.OK, result.stdout
    refused = command_line.jbodlab(*judge, "--timeout-ms", "2000")
    assert refused.exit_code == ExitCode.NOT_RUNNING
    assert "does not answer as a Kafka broker" in command_line.one_line(refused)


def test_reset_takes_back_what_clients_may_and_who_they_are(secured: jbodlab.Cluster) -> None:
    file = str(secured.client_file("admin.properties"))
    where = ("--bootstrap-server", secured.bootstrap_servers, "--command-config", file)
    acl = ("--allow-principal", "User:alice", "--operation", "All", "--topic", "*")
    quotas = {
        ("--entity-type", "users", "--entity-name", "alice"): "producer_byte_rate=1",
        ("--entity-type", "clients", "--entity-default"): "request_percentage=1000",
        ("--entity-type", "ips", "--entity-default"): "connection_creation_rate=1000",
        ("--entity-type", "users", "--entity-name", "dave"): "SCRAM-SHA-256=[password=of dave]",
    }
    command_line.jbodlab("kafka-acls", "--add", *acl, *where)
    for entity, limit in quotas.items():
        command_line.jbodlab("kafka-configs", "--alter", *entity, "--add-config", limit, *where)

    def told() -> list[str]:
        listed = command_line.jbodlab("kafka-acls", "--list", *where)
        kinds = [("--entity-type", each) for each in ("users", "clients", "ips")]
        described = [
            command_line.jbodlab("kafka-configs", "--describe", *kind, *where) for kind in kinds
        ]
        return [each.stdout.strip() for each in (listed, *described)]

    assert all(told())
    secured.reset()
    secured.create_topic("orders")
    assert not any(told())


def test_a_file_that_there_is_not_is_named_with_those_that_there_are(
    secured: jbodlab.Cluster,
) -> None:
    with pytest.raises(jbodlab.LabError, match=r"no client file bob\.properties, only admin"):
        secured.client_file("bob.properties")
