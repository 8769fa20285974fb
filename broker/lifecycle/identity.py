"""Who this broker is towards the controller. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from protocol.messages.lifecycle import BrokerRegistrationRequest, Listener

LISTENER_NAME: Final = "PLAINTEXT"
_PLAINTEXT: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a broker says of itself when it registers."""

    broker_id: int
    cluster_id: str
    incarnation_id: bytes
    """16 bytes, new for every start of the process."""
    advertised_host: str
    advertised_port: int
    rack: str | None

    def registration(
        self, *, directory_ids: list[bytes], previous_broker_epoch: int
    ) -> BrokerRegistrationRequest:
        """Return the request that registers this broker with its online log dirs."""
        listener = Listener(
            name=LISTENER_NAME,
            host=self.advertised_host,
            port=self.advertised_port,
            security_protocol=_PLAINTEXT,
        )
        return BrokerRegistrationRequest(
            broker_id=self.broker_id,
            cluster_id=self.cluster_id,
            incarnation_id=self.incarnation_id,
            listeners=[listener],
            features=[],
            rack=self.rack,
            log_dirs=directory_ids,
            previous_broker_epoch=previous_broker_epoch,
        )
