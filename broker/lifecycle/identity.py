"""Who this broker is towards the controller. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from protocol.messages.lifecycle import BrokerRegistrationRequest, Listener
from protocol.security.listeners import Listener as OwnListener


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a broker says of itself when it registers."""

    broker_id: int
    cluster_id: str
    incarnation_id: bytes
    """16 bytes, new for every start of the process."""
    listeners: tuple[OwnListener, ...]
    """The one for brokers and the controller first."""
    port: int
    """The one that it is bound to, which is advertised where no other is."""
    rack: str | None

    def registration(
        self, *, directory_ids: list[bytes], previous_broker_epoch: int
    ) -> BrokerRegistrationRequest:
        """Return the request that registers this broker with its online log dirs."""
        listeners = [
            Listener(
                name=each.name,
                host=each.advertised_host,
                port=each.advertised_port or self.port,
                security_protocol=each.protocol,
            )
            for each in self.listeners
        ]
        return BrokerRegistrationRequest(
            broker_id=self.broker_id,
            cluster_id=self.cluster_id,
            incarnation_id=self.incarnation_id,
            listeners=listeners,
            features=[],
            rack=self.rack,
            log_dirs=directory_ids,
            previous_broker_epoch=previous_broker_epoch,
        )
