"""compose.yaml: disks break and come back in every way, a container is killed; nothing is lost."""

from __future__ import annotations

import http.client
import json
import os
import secrets
from functools import partial
from pathlib import Path
from typing import Any, Final

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.load import Load, read_numbers, verify
from protocol.cluster_file.spec import TopicSpec, load_cluster_spec
from tests.containers.engine import (
    BROKERS,
    ROOT,
    Compose,
    check_users_and_health,
    container,
    run,
    say,
    wait_until,
)

TOPIC: Final = "t"
RECORDS: Final = 500
API_PORT: Final = 28099
COMPOSE: Final = Compose("compose")


def story() -> bool:
    """Tell whether everything that was acknowledged is there once, and no produce failed."""
    spec = load_cluster_spec(ROOT / COMPOSE.cluster_file)
    with COMPOSE.up(), ClusterAdmin(spec) as admin:
        wait_for_brokers(admin)
        check_users_and_health()
        servers = [f"127.0.0.1:{broker.advertised_port}" for broker in spec.brokers]
        load = begin_load(admin, servers)
        for way_back in ("restart {path}", f"restart-partition {TOPIC} 0 --broker {{broker}}"):
            _break_the_log_dir_of_the_leader(admin, ["heal {path}", way_back])
            wait_for_more(load)
        _replace_a_mount_point(admin)
        _all_other_commands(admin)
        _kill_the_leader(admin)
        wait_for_more(load)
        _ask_the_http_api()
        return is_all_there(load, servers)


def wait_for_brokers(admin: ClusterAdmin) -> None:
    """Wait until the cluster is whole."""
    wait_until(
        lambda: all(admin.view(each, []).broker_ids == BROKERS for each in BROKERS),
        "every broker knows all brokers",
    )


def begin_load(admin: ClusterAdmin, servers: list[str]) -> Load:
    """Make the topic and write to it from the host until the load is stopped."""
    configs = {"min.insync.replicas": "2"}
    admin.create_topic(TopicSpec(name=TOPIC, partitions=1, replication_factor=3, configs=configs))
    wait_for_isr(admin)
    return Load(servers, TOPIC, partitions=1).start()


def wait_for_more(load: Load) -> None:
    """Wait until more records were acknowledged."""
    wanted = load.acknowledged_count + RECORDS
    wait_until(lambda: load.acknowledged_count >= wanted, f"{wanted} records are acknowledged")


def is_all_there(load: Load, servers: list[str]) -> bool:
    """Stop the load and hold what was acknowledged against what is read."""
    report = load.stop()
    check = verify(report.acknowledged, read_numbers(servers, TOPIC, partitions=1))
    say(f"{check}, {len(report.failed)} failed")
    return check.is_clean and not report.failed


def wait_for_isr(admin: ClusterAdmin) -> None:
    """Wait until all replicas are in sync."""
    wait_until(lambda: len(admin.any_view([TOPIC]).partition(TOPIC, 0).isr) == 3, "all in sync")


def leader_of(admin: ClusterAdmin) -> int:
    """Return who leads."""
    return admin.any_view([TOPIC]).partition(TOPIC, 0).leader


def wait_for_another_leader(admin: ClusterAdmin, leader: int) -> None:
    """Wait until somebody else leads, as another one tells: who is cut off hears nothing of it."""
    other = next(each for each in BROKERS if each != leader)

    def leads_another() -> bool:
        found = admin.view(other, [TOPIC]).partition(TOPIC, 0).leader
        return found not in {-1, leader}

    wait_until(leads_another, "another broker leads")


def _log_dir(admin: ClusterAdmin, broker: int) -> str:
    """Return the log dir that holds a broker's replica, as the container names it."""
    name = next(
        Path(view.path).name
        for view in admin.log_dirs(broker)
        if any(replica.topic == TOPIC for replica in view.replicas)
    )
    return f"data/b{broker}/{name}"


def _break_the_log_dir_of_the_leader(admin: ClusterAdmin, ways_back: list[str]) -> str:
    leader = leader_of(admin)
    path = _log_dir(admin, leader)
    COMPOSE.lab(leader, f"log-dirs fail {path}")
    wait_for_another_leader(admin, leader)
    mending = [f"log-dirs {each.format(path=path, broker=leader)}" for each in ways_back]
    COMPOSE.lab(leader, f"log-dirs describe --broker {leader}", *mending)
    wait_for_isr(admin)
    return path


def _replace_a_mount_point(admin: ClusterAdmin) -> None:
    """Each log dir is a volume: what was there is moved aside within it."""
    path = _break_the_log_dir_of_the_leader(admin, ["replace {path}"])
    broker = int(path.removeprefix("data/b").partition("/")[0])
    COMPOSE.shell(broker, f"test -s {path}/__replaced-0.*-stray/{TOPIC}-0/00000000000000000000.log")


def _all_other_commands(admin: ClusterAdmin) -> None:
    broker = leader_of(admin)
    taken = _log_dir(admin, broker)
    other = next(
        path for path in (f"data/b{broker}/d{number}" for number in (1, 2, 3)) if path != taken
    )
    COMPOSE.lab(
        broker,
        f"log-dirs move {TOPIC} 0 --broker {broker} --to {other}",
        f"faults add mode=observe broker={broker} apis=Metadata --id seen",
        f"faults add mode=hold broker={broker} apis=DescribeAcls --id barrier",
        "faults list",
        "faults passed seen",
        "faults release barrier",
        "faults clear",
    )


def _kill_the_leader(admin: ClusterAdmin) -> None:
    leader = leader_of(admin)
    run("docker", "kill", container(f"broker-{leader}"))
    wait_for_another_leader(admin, leader)
    COMPOSE.call("up", "-d", "--no-build", f"broker-{leader}")
    wait_for_isr(admin)


def _ask_the_http_api() -> None:
    """It started no node, and shows them all; without the token it tells nothing."""
    token = secrets.token_hex(16)
    os.environ["JBODLAB_API_TOKEN"] = token
    COMPOSE.call("--profile", "api", "up", "-d", "--no-build", "api")
    wait_until(
        partial(_all_run, {"Authorization": f"Bearer {token}"}),
        "the HTTP API shows every broker as running",
    )
    assert _asked("/brokers", {})[0] == http.client.UNAUTHORIZED


def _all_run(headers: dict[str, str]) -> bool:
    _, brokers = _asked("/brokers", headers)
    _, cluster = _asked("/cluster", headers)
    states = [cluster["controller"], *(each["state"] for each in brokers)]
    return states == ["running"] * (1 + len(BROKERS))


# Any: JSON.
def _asked(path: str, headers: dict[str, str]) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", API_PORT, timeout=10)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    except http.client.HTTPException as error:
        raise ConnectionError(str(error)) from error
    finally:
        connection.close()
