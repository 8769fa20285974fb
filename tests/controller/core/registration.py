"""A broker's registration, with what a test does not say filled in."""

from __future__ import annotations

from protocol.messages.lifecycle import BrokerRegistrationRequest, Listener
from tests.controller.core.cluster import CLUSTER_ID, log_dir

LISTENER = Listener(name="PLAINTEXT", host="h", port=9092, security_protocol=0)


def registration(
    broker_id: int = 4,
    *,
    cluster_id: str = CLUSTER_ID,
    incarnation: bytes = b"i" * 16,
    log_dirs: tuple[bytes, ...] = (log_dir(4, 1), log_dir(4, 2)),
    listeners: tuple[Listener, ...] = (LISTENER,),
) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=cluster_id,
        incarnation_id=incarnation,
        listeners=list(listeners),
        log_dirs=list(log_dirs),
        rack=None,
    )
