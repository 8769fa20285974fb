"""The control plane of a cluster with ZooKeeper, whose controller is one of its brokers.

It stands where connections to jbodlab's controller stand otherwise: ``connect`` gives an
``RpcPort`` that answers registrations, heartbeats and questions for settings out of ZooKeeper, and
passes the rest on to the broker that is the controller. So the session, and all that asks the
controller, are the same in both kinds of clusters.

Source: KafkaServer.scala, KafkaZkClient.scala, LogDirFailureHandler of ReplicaManager.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from msgspec import UNSET

from broker.zookeeper.controller_behind import ControllerBehind
from broker.zookeeper.controller_broker import ControllerBroker, OwnController
from broker.zookeeper.folder_changes import FolderChanges
from broker.zookeeper.own_configs import OwnConfigs
from broker.zookeeper.znode_configs import described
from broker.zookeeper.znode_credentials import listed_users
from broker.zookeeper.znode_tokens import altered_tokens, listed_tokens
from protocol.configs.messages import DELEGATION_TOKENS, SCRAM_CREDENTIALS
from protocol.errors import ErrorCode
from protocol.messages.configs import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from protocol.messages.lifecycle import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from protocol.ports import RpcPort, WallClock
from protocol.security.listeners import SecurityProtocol
from protocol.zookeeper import paths
from protocol.zookeeper.znodes import (
    BrokerZnode,
    ClusterIdZnode,
    LogDirEventZnode,
    decode,
    encode,
)
from protocol.zookeeper_client.config_changes import ConfigChanges
from protocol.zookeeper_client.port import ZookeeperPort

_ALTERS: Final = (AlterConfigsRequest, IncrementalAlterConfigsRequest)
_PLAIN: Final = SecurityProtocol.PLAINTEXT.name
logger = logging.getLogger(__name__)


class ZookeeperControlPlane:
    """One broker's. ``prepare`` it, ``run`` it, and ``connect`` as often as wanted."""

    def __init__(
        self,
        zookeeper: ZookeeperPort,
        connect: Callable[[str, int], RpcPort],
        clock: WallClock,
        listener: str,
        own_controller: OwnController | None = None,
        own_configs: OwnConfigs | None = None,
    ) -> None:
        """Make it.

        Args:
            zookeeper: not started.
            connect: makes a connection to another broker.
            clock: stamps the registration.
            listener: by which brokers ask the one that is the controller.
            own_controller: the controller behind this broker, if it stands for election.
            own_configs: who changes what this broker is set to; None: the controller does.
        """
        self._zookeeper = zookeeper
        self._connect = connect
        self._clock = clock
        self._listener = listener
        self._own_controller = own_controller
        self.own_configs = own_configs
        self.controller_behind = ControllerBehind(own_controller and own_controller.connect)
        """What other brokers ask this one as the controller, or take it for one."""
        self.config_changes = ConfigChanges(zookeeper)
        self.acl_changes = FolderChanges(zookeeper, "ACLs", paths.ACL_CHANGES)
        self.token_changes = FolderChanges(zookeeper, "tokens", [paths.TOKEN_CHANGES])
        self._connected = asyncio.Event()
        self._registered_in: int | None = None
        """The session that the registration lives in."""
        self._told: set[bytes] = set()
        """Directory ids of failed log dirs that the controller was told of."""
        zookeeper.on_connected = self._on_connected

    async def follow_changes(self) -> None:
        """Tell of settings, ACLs and tokens that change until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.config_changes.run(), name="config-changes")
            tasks.create_task(self.acl_changes.run(), name="acl-changes")
            tasks.create_task(self.token_changes.run(), name="token-changes")

    async def prepare(self, cluster_id: str) -> str:
        """Wait for ZooKeeper, make what every broker makes there; return the id of the cluster.

        That is ``cluster_id`` only where there was no cluster yet.
        """
        self._zookeeper.start()
        while True:
            await self._connected.wait()
            try:
                for path in paths.MADE_BY_BROKERS:
                    await self._zookeeper.ensure(path)
                await self._zookeeper.ensure(
                    paths.CLUSTER_ID, encode(ClusterIdZnode(id=cluster_id))
                )
                data = await self._zookeeper.get(paths.CLUSTER_ID)
                return decode(data, ClusterIdZnode, paths.CLUSTER_ID).id
            except ConnectionError as error:
                logger.warning("ZooKeeper is tried again: %s", error)
                self._connected.clear()
                if self._zookeeper.session is not None:
                    self._connected.set()

    @property
    def trouble(self) -> str:
        """Why there is no connection to ZooKeeper, as far as it is known."""
        return self._zookeeper.trouble

    def connect(self) -> RpcPort:
        """Return one more connection to the control plane."""
        controller = ControllerBroker(
            self._zookeeper, self._connect, self._listener, self._own_controller
        )
        return _Connection(self, controller)

    def close(self) -> None:
        """End the session with ZooKeeper: the controller sees at once that this broker is gone."""
        self.controller_behind.close()
        self._zookeeper.close()

    def _on_connected(self) -> None:
        self._connected.set()
        self.config_changes.look()
        self.acl_changes.look()
        self.token_changes.look()

    async def answer(self, message: Any) -> Any:
        """Return what ZooKeeper has to say; None for what the controller is to be asked.

        Raises:
            ConnectionError: ZooKeeper does not answer.
        """
        if isinstance(message, BrokerHeartbeatRequest):
            return await self._beat(message)
        if isinstance(message, BrokerRegistrationRequest):
            return await self._register(message)
        if isinstance(message, DescribeConfigsRequest):
            return await described(self._zookeeper, message)
        if isinstance(message, ListConfigResourcesRequest):
            return await self._list(message)
        if isinstance(message, IncrementalAlterConfigsRequest) and _is_about_tokens(message):
            return await altered_tokens(self._zookeeper, message)
        return None

    async def _list(self, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
        if DELEGATION_TOKENS in request.resource_types:
            return await listed_tokens(self._zookeeper)
        if SCRAM_CREDENTIALS in request.resource_types:
            return await listed_users(self._zookeeper)
        return ListConfigResourcesResponse()

    async def _register(self, request: BrokerRegistrationRequest) -> BrokerRegistrationResponse:
        """Make the registration, anew where it is there: then the controller asks for everything.

        So it does for log dirs that came back; Kafka needs a new process for that.
        """
        session = self._zookeeper.session
        path = paths.broker_path(request.broker_id)
        try:
            epoch = await self._zookeeper.replace_ephemeral(path, encode(self._znode(request)))
        except FileExistsError:
            logger.warning("%s is another session's: waiting until that one ends", path)
            code = ErrorCode.DUPLICATE_BROKER_REGISTRATION
            return BrokerRegistrationResponse(error_code=code)
        self._registered_in = session
        return BrokerRegistrationResponse(broker_epoch=epoch)

    def _znode(self, request: BrokerRegistrationRequest) -> BrokerZnode:
        protocols = {
            each.name: SecurityProtocol(each.security_protocol).name for each in request.listeners
        }
        plain = next((each for each in request.listeners if protocols[each.name] == _PLAIN), None)
        return BrokerZnode(
            listener_security_protocol_map=protocols,
            rack=UNSET if request.rack is None else request.rack,
            endpoints=[f"{each.name}://{each.host}:{each.port}" for each in request.listeners],
            port=-1 if plain is None else plain.port,
            host=None if plain is None else plain.host,
            timestamp=str(self._clock.now_ms()),
        )

    async def _beat(self, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
        """Look after the session, and tell of log dirs that failed."""
        session = self._zookeeper.session
        if session is None:
            raise ConnectionError("no connection to ZooKeeper")
        if session != self._registered_in:
            return BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
        if request.want_fence:
            await self._zookeeper.delete(paths.broker_path(request.broker_id))
        offline = {bytes(each) for each in request.offline_log_dirs}
        self._told &= offline
        if offline - self._told:
            await self._zookeeper.create_sequential(
                paths.LOG_DIR_EVENT_PREFIX, encode(LogDirEventZnode(broker=request.broker_id))
            )
            self._told |= offline
        return BrokerHeartbeatResponse(
            is_caught_up=True,
            is_fenced=request.want_fence,
            should_shut_down=request.want_shut_down,
        )


def _is_about_tokens(request: IncrementalAlterConfigsRequest) -> bool:
    return any(each.resource_type == DELEGATION_TOKENS for each in request.resources)


class _Connection:
    """An ``RpcPort``."""

    def __init__(self, control_plane: ZookeeperControlPlane, controller: RpcPort) -> None:
        self._control_plane = control_plane
        self._controller = controller

    async def request(self, message: Any, version: int, *, timeout_ms: int | None = None) -> Any:
        async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
            answer = await self._control_plane.answer(message)
        if answer is not None:
            return answer

        async def pass_on(request: Any) -> Any:
            return await self._controller.request(request, version, timeout_ms=timeout_ms)

        own_configs = self._control_plane.own_configs
        if own_configs is not None and isinstance(message, _ALTERS):
            return await own_configs.alter(message, pass_on)
        return await pass_on(message)

    def close(self) -> None:
        self._controller.close()
