"""Who is behind an address, and behind a client's id."""

from pathlib import Path

from broker.nodes import nodes_by_address, nodes_by_client_id
from protocol.faults.model import CONTROLLER_NODE, broker_node
from protocol.ids import fetcher_client_id, node_client_id
from tests.broker.one_broker import cluster_spec


def test_brokers_and_the_controller_are_known_by_address_and_client_id(tmp_path: Path):
    spec = cluster_spec(tmp_path, 9_090)
    (own,) = spec.brokers
    address = (own.advertised_host, own.advertised_port)
    assert nodes_by_address(spec) == {address: broker_node(1)}
    assert nodes_by_client_id(spec) == {
        node_client_id(spec.controller.id): CONTROLLER_NODE,
        fetcher_client_id(1): broker_node(1),
    }
