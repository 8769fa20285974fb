"""What a broker says of itself."""

from __future__ import annotations

from broker.lifecycle.identity import Identity
from protocol.security.listeners import plain_listener


def test_a_registration_names_address_rack_and_online_log_dirs():
    identity = Identity(
        broker_id=3,
        cluster_id="cluster",
        incarnation_id=bytes([1] * 16),
        listeners=(plain_listener("127.0.0.1", 9_092, "example", 9_092),),
        port=9_092,
        rack="a",
    )
    request = identity.registration(directory_ids=[b"d" * 16], previous_broker_epoch=5)
    (listener,) = request.listeners
    assert (listener.name, listener.host, listener.port) == ("PLAINTEXT", "example", 9_092)
    assert (request.broker_id, request.cluster_id, request.rack) == (3, "cluster", "a")
    assert list(request.log_dirs) == [b"d" * 16]
    assert request.previous_broker_epoch == 5
