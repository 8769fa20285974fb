"""What ZooKeeper keeps of clients: credentials, ACLs, quotas and tokens, for brokers of both kinds.

Apache Kafka's own tools write through a broker of either kind; both kinds go by it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.elsewhere import cluster_behind
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.free_ports import free_ports
from protocol.acls.model import AclOperation, AclResourceType, PatternType, PermissionType
from protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from tests.deadlines import DEADLINE_S
from tests.kafka_tools.tools import KafkaTools, Printed
from tests.mixed.apache_nodes import HOST, LOG_DIRS, ApacheNodes
from tests.mixed.election import Elections, elections
from tests.mixed.mixed_lab import MixedLab

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sampled_among("clusters beside Apache Kafka", kept=0),
]
APACHE, OWN = 1, 4
KINDS: Final = {"Apache Kafka": APACHE, "jbodlab": OWN}
ACLS_COUNT: Final = 40
CHROOT: Final = "/known-clients"
MECHANISM: Final = "SCRAM-SHA-256"
CONFIGS: Final = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": MECHANISM,
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS",
    "delegation.token.secret.key": "makes tokens",
    "offsets.topic.replication.factor": "1",
}
APACHES: Final = {
    "zookeeper.session.timeout.ms": "6000",
    f"listener.name.clients.{MECHANISM.lower()}.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
}
JAAS: Final = (
    "security.protocol=SASL_PLAINTEXT\n"
    f"sasl.mechanism={MECHANISM}\n"
    "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required "
    'username="{user}" password="{password}"{more};\n'
)


class Known(NamedTuple):
    """A cluster of one broker of each kind, with a listener by which clients log in."""

    lab: MixedLab
    tools: KafkaTools
    clients_ports: Mapping[int, int]
    elections: Elections

    def elect(self, broker_id: int) -> None:
        """Have this broker be the controller, and all know it."""
        self.elections.elect(broker_id.__eq__)
        self.lab.wait_until(
            lambda: self.lab.controller_id() == broker_id, "brokers know the controller"
        )

    def run(self, by: int, command: str) -> Printed:
        """Have a tool do it through a broker."""
        plain = f"{HOST}:{self.lab.nodes.ports[by]}"
        printed = self.tools.run(f"{command} --bootstrap-server {plain}")
        assert printed.code == 0, printed
        return printed

    def make_user(self, by: int, user: str) -> None:
        added = f"--add-config {MECHANISM}=[password={user}-secret]"
        self.run(by, f"kafka-configs --alter --entity-type users --entity-name {user} {added}")
        for at in KINDS.values():
            self.lab.wait_until(lambda at=at: self.lets_in(at, user), f"broker {at} knows {user}")

    def login(self, at: int, user: str, password: str | None = None) -> dict[str, Any]:
        return {
            "bootstrap.servers": f"{HOST}:{self.clients_ports[at]}",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": MECHANISM,
            "sasl.username": user,
            "sasl.password": password or f"{user}-secret",
        }

    def lets_in(self, at: int, user: str, password: str | None = None) -> bool:
        try:
            AdminClient(self.login(at, user, password)).list_topics(timeout=1)
        except KafkaException:
            return False
        return True

    def written(self, user: str, topic: str, partition: int) -> bool:
        """Write a record to a partition; return whether the user may."""
        errors: list[KafkaError | None] = []

        def told(error: KafkaError | None, _message: Message) -> None:
            errors.append(error)

        producer = Producer({**self.login(OWN, user), "enable.idempotence": False})
        producer.produce(topic, b"x", partition=partition, on_delivery=told)
        assert producer.flush(DEADLINE_S) == 0
        refused = [each for each in errors if each is not None]
        assert all(each.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED for each in refused)
        return not refused


@pytest.fixture(scope="module")
def cluster(lab: MixedLab, tools: KafkaTools) -> Generator[Known]:
    connect = f"{lab.nodes.zookeeper_connect}{CHROOT}"
    with ApacheNodes(lab.nodes.folder / "known", (APACHE, OWN), connect) as nodes:
        *clients, controller_port, control_port = free_ports(4)
        clients_ports: dict[int, int] = dict(zip((APACHE, OWN), clients, strict=True))
        listeners = {
            each: f"PLAINTEXT://{HOST}:{nodes.ports[each]},CLIENTS://{HOST}:{clients_ports[each]}"
            for each in (APACHE, OWN)
        }
        nodes.start_brokers({APACHE: {**CONFIGS, **APACHES, "listeners": listeners[APACHE]}})
        with elections(nodes) as looking:
            cluster_id = looking.cluster_id()
        document: dict[str, Any] = {
            "cluster_id": cluster_id,
            "zookeeper": {"connect": connect, "session_timeout_ms": 6000},
            "controller": {"port": controller_port, "id": OWN},
            "configs": {**CONFIGS, "jbodlab.sasl.users": "nobody:nothing"},
            "brokers": [
                {
                    "id": OWN,
                    "port": nodes.ports[OWN],
                    "control_port": control_port,
                    "configs": {"listeners": listeners[OWN]},
                    "log_dirs": [{"path": str(nodes.log_dir(OWN, each))} for each in LOG_DIRS],
                }
            ],
        }
        file = nodes.folder / "cluster.yaml"
        file.write_text(json.dumps(document))
        own = Cluster(file)
        try:
            own.start()
            nodes.wait_until(
                lambda: len(cluster_behind(nodes.bootstrap).brokers) == 2, "both brokers are known"
            )
            with (
                ClusterAdmin(cluster_behind(nodes.bootstrap)) as admin,
                elections(nodes) as looking,
            ):
                yield Known(MixedLab(nodes, admin), tools, clients_ports, looking)
        finally:
            own.stop()


@pytest.fixture
def known(cluster: Known) -> Known:
    """The cluster, with Apache Kafka's controller."""
    cluster.elect(APACHE)
    return cluster


@pytest.fixture(params=KINDS)
def led(request: pytest.FixtureRequest, cluster: Known) -> Known:
    """The cluster, with a controller of either kind."""
    cluster.elect(KINDS[request.param])
    return cluster


@pytest.mark.parametrize("kind", KINDS)
def test_a_credential_lets_in_at_both_until_it_is_deleted(led: Known, kind: str) -> None:
    known, user = led, f"by-{KINDS[kind]}-under-{led.lab.controller_id()}"
    known.make_user(KINDS[kind], user)
    assert not known.lets_in(OWN, user, "wrong")

    gone = f"--delete-config {MECHANISM}"
    known.run(KINDS[kind], f"kafka-configs --alter --entity-type users --entity-name {user} {gone}")
    for at in KINDS.values():
        known.lab.wait_until(
            lambda at=at: not known.lets_in(at, user), f"broker {at} has forgotten {user}"
        )


@pytest.mark.parametrize("kind", KINDS)
def test_an_acl_opens_topics_at_both_until_it_is_removed(led: Known, kind: str) -> None:
    known, name = led, f"{KINDS[kind]}-under-{led.lab.controller_id()}"
    user, topic = f"writer-{name}", f"opened-{name}"
    known.make_user(KINDS[kind], user)
    known.lab.create(topic, (APACHE,), (OWN,))
    assert not known.written(user, topic, 1)

    # The two kinds of patterns stand in different folders.
    pattern = {"Apache Kafka": "literal", "jbodlab": "prefixed"}[kind]
    allowed = f"--allow-principal User:{user} --operation Write --operation Describe"
    acl = f"{allowed} --topic {topic} --resource-pattern-type {pattern}"
    known.run(KINDS[kind], f"kafka-acls --add {acl}")
    for partition in (0, 1):
        known.lab.wait_until(
            lambda partition=partition: known.written(user, topic, partition),
            f"partition {partition} is open",
        )
    known.run(KINDS[kind], f"kafka-acls --remove --force {acl}")
    for partition in (0, 1):
        known.lab.wait_until(
            lambda partition=partition: not known.written(user, topic, partition),
            f"partition {partition} is closed",
        )


def test_both_add_acls_of_one_topic_at_a_time_and_none_is_lost(led: Known) -> None:
    topic = f"shared-under-{led.lab.controller_id()}"
    with ThreadPoolExecutor(len(KINDS)) as at_once:
        adding = [at_once.submit(add_acls, led.lab, at, topic) for at in KINDS.values()]
        added = {user for each in adding for user in each.result()}
    for at in KINDS.values():
        led.lab.wait_until(
            lambda at=at: users_of(led.lab, at, topic) == added, f"broker {at} knows all of them"
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_quota_slows_writers_at_both_until_it_is_taken_off(led: Known, kind: str) -> None:
    known, name = led, f"{KINDS[kind]}-under-{led.lab.controller_id()}"
    topic, client = f"slowed-{name}", f"slow-{name}"
    known.lab.create(topic, (APACHE,), (OWN,))
    of_client = f"kafka-configs --alter --entity-type clients --entity-name {client}"
    known.run(KINDS[kind], f"{of_client} --add-config producer_byte_rate=1000")
    slowed: list[int] = []

    def told(event: Any) -> None:
        slowed.append(event.broker_id)

    options: dict[str, Any] = {
        "bootstrap.servers": known.lab.nodes.bootstrap,
        "client.id": client,
        "throttle_cb": told,
    }
    producer = Producer(options)

    def are_slow() -> bool:
        for partition in (0, 1):
            producer.produce(topic, bytes(2000), partition=partition)
        producer.poll(0.1)
        return set(slowed) == {APACHE, OWN}

    known.lab.wait_until(are_slow, "both slow it down")
    known.run(KINDS[kind], f"{of_client} --delete-config producer_byte_rate")
    assert producer.flush(DEADLINE_S) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_lets_in_at_both(known: Known, kind: str) -> None:
    user = f"asks-{KINDS[kind]}"
    known.make_user(KINDS[kind], user)
    as_user = login_file(known, user, f"{user}-secret", "")
    at = f"--bootstrap-server {HOST}:{known.clients_ports[KINDS[kind]]}"
    made = known.tools.run(
        f"kafka-delegation-tokens {at} --create --max-life-time-period -1 "
        f"--command-config {as_user}"
    )
    found = re.search(rf"(\S+)\s+(\S+==?)\s+User:{user}", made.out)
    assert found is not None, made
    as_token = login_file(known, found[1], found[2], ' tokenauth="true"')
    for port in known.clients_ports.values():
        listed = f"kafka-topics --list --command-config {as_token}"
        known.lab.wait_until(
            lambda port=port, listed=listed: (
                known.tools.run(f"{listed} --bootstrap-server {HOST}:{port}").code == 0
            ),
            "the token lets in",
        )


def add_acls(lab: MixedLab, at: int, topic: str) -> list[str]:
    """Add ACLs one by one through a broker; return for whom."""
    users = [f"User:{number}-by-{at}" for number in range(ACLS_COUNT)]
    with ClusterAdmin(cluster_behind(f"{HOST}:{lab.nodes.ports[at]}")) as admin:
        for user in users:
            new = AclCreation(
                resource_type=AclResourceType.TOPIC,
                resource_name=topic,
                resource_pattern_type=PatternType.LITERAL,
                principal=user,
                host="*",
                operation=AclOperation.READ,
                permission_type=PermissionType.ALLOW,
            )
            answer: CreateAclsResponse = admin.ask(CreateAclsRequest(creations=[new]), 3, at)
            assert [each.error_code for each in answer.results] == [0]
    return users


def users_of(lab: MixedLab, at: int, topic: str) -> set[str]:
    """Return for whom a broker knows ACLs of a topic."""
    wanted = DescribeAclsRequest(
        resource_type_filter=AclResourceType.TOPIC,
        resource_name_filter=topic,
        pattern_type_filter=PatternType.LITERAL,
        principal_filter=None,
        host_filter=None,
        operation=AclOperation.ANY,
        permission_type=PermissionType.ANY,
    )
    answer: DescribeAclsResponse = lab.admin.ask(wanted, 3, at)
    return {acl.principal for resource in answer.resources for acl in resource.acls}


def login_file(known: Known, user: str, password: str, more: str) -> str:
    file = known.lab.nodes.folder / f"{user}.properties"
    file.write_text(JAAS.format(user=user, password=password, more=more))
    return str(file)
