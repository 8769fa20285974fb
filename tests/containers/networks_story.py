"""compose.networks.yaml: each broker in a network of its own, and one of them is cut off."""

from __future__ import annotations

from typing import Final

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.elsewhere import cluster_behind
from protocol.cluster_file.spec import load_cluster_spec
from tests.containers.cluster_story import (
    begin_load,
    is_all_there,
    leader_of,
    wait_for_another_leader,
    wait_for_brokers,
    wait_for_isr,
    wait_for_more,
)
from tests.containers.engine import (
    PROJECT,
    ROOT,
    Compose,
    check_users_and_health,
    container,
    run,
)

COMPOSE: Final = Compose("compose.networks")
NODES_NETWORK: Final = f"{PROJECT}_nodes"


def story() -> bool:
    """Tell whether everything that was acknowledged is there once, and no produce failed."""
    brokers = load_cluster_spec(ROOT / COMPOSE.cluster_file).brokers
    inside, outside = zip(*(each.listeners for each in brokers), strict=True)
    servers = [f"{each.advertised_host}:{each.advertised_port}" for each in outside]
    with COMPOSE.up():
        check_users_and_health()
        with ClusterAdmin(cluster_behind(",".join(servers))) as admin:
            wait_for_brokers(admin)
            load = begin_load(admin, servers)
            last = inside[-1]
            _produce_between_networks(f"{last.advertised_host}:{last.advertised_port}")
            _cut_the_leader_off(admin)
            wait_for_more(load)
            return is_all_there(load, servers)


def _produce_between_networks(server: str) -> None:
    """A client beside broker 1 reaches all brokers by the names that they tell in there."""
    there = f"--bootstrap-server {server}"
    COMPOSE.shell(
        1,
        f"jbodlab topics create between {there}; echo hello | jbodlab produce between {there}; "
        f"jbodlab consume between {there} --from-beginning --count 1 | grep -x hello",
    )


def _cut_the_leader_off(admin: ClusterAdmin) -> None:
    """Its clients still reach it; it leads no more."""
    leader = leader_of(admin)
    name = f"broker-{leader}"
    run("docker", "network", "disconnect", NODES_NETWORK, container(name))
    wait_for_another_leader(admin, leader)
    run("docker", "network", "connect", "--alias", name, NODES_NETWORK, container(name))
    wait_for_isr(admin)
