"""Makes a cluster as good as new for another test, without starting it anew where it is whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from jbodlab.api.access import forget_clients
from jbodlab.api.broker import Broker, Controller, Node
from jbodlab.api.connections import Connections
from jbodlab.asking.admin import ClusterAdmin
from jbodlab.errors import LabError
from protocol.admin.configs import (
    alter_configs_request,
    alter_outcomes,
    config_views,
    describe_configs_request,
)
from protocol.admin.topics import NewTopic, create_topics_request, topic_outcomes
from protocol.configs.types import ConfigSource, ResourceType
from protocol.errors import ErrorCode, KafkaError

_DYNAMIC: Final = (
    ConfigSource.DYNAMIC_BROKER_CONFIG,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
)
_ALL_BROKERS: Final = ""
_DESCRIBE_VERSION: Final = 4
_ALTER_VERSION: Final = 1
_CREATE_VERSION: Final = 5
_TIMEOUT_MS: Final = 30_000


def reset(connections: Connections) -> None:
    """Bring everything back, take all faults off, delete topics, settings, what clients may.

    Topics go before log dirs come back, so that nothing is copied for them.

    Raises:
        LabError: something does not come back.
    """
    brokers = [Broker(connections, each.id) for each in connections.processes.spec.brokers]
    _wake([Controller(connections), *brokers], connections)
    for spec in connections.processes.spec.brokers:
        connections.control(spec).clear_faults()
    with connections.admin() as admin:
        ids = [each.id for each in brokers]
        names = _topics(admin, ids[0])
        _delete_topics(admin, names)
        _delete_configs(admin, ids)
        forget_clients(admin, connections.processes.spec)
        _bring_back_log_dirs(admin, brokers)

        def are_gone() -> bool:
            return not any(_topics(admin, each) for each in ids) and _can_be_made(admin, names)

        connections.wait_until(are_gone, "the topics of the last test are gone", None)
    connections.story.begin_anew()


def _wake(nodes: list[Controller | Broker], connections: Connections) -> None:
    """Let every process run, and wait for all to know each other where one did not."""
    missing: list[Node] = []
    for node in nodes:
        process = connections.processes.processes.get(node.name)
        if process is not None and process.is_running and process.is_paused:
            node.resume()
        elif not node.is_running:
            missing.append(node)
    if missing:
        connections.processes.start()


def _topics(admin: ClusterAdmin, broker_id: int) -> list[str]:
    topics = admin.view(broker_id).topics
    return [each.name for each in topics if not each.is_internal]


def _delete_topics(admin: ClusterAdmin, names: list[str]) -> None:
    for name in names:
        try:
            admin.delete_topic(name)
        except KafkaError as error:
            # A broker may tell of one that the test has deleted just now.
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise


def _can_be_made(admin: ClusterAdmin, names: list[str]) -> bool:
    """Tell whether the controller is through with deleting: brokers forget topics before."""
    wanted = [NewTopic(name=name, partitions=1, replication_factor=1) for name in names]
    order = replace(create_topics_request(wanted, timeout_ms=_TIMEOUT_MS), validate_only=True)
    outcomes = topic_outcomes(admin.ask_any(order, _CREATE_VERSION)) if names else []
    return all(each.code is not ErrorCode.TOPIC_ALREADY_EXISTS for each in outcomes)


def _delete_configs(admin: ClusterAdmin, broker_ids: list[int]) -> None:
    """Take back what was set at run time, of one broker or of all."""
    for broker_id in broker_ids:
        request = describe_configs_request(ResourceType.BROKER, [str(broker_id)])
        (told,) = admin.ask(request, _DESCRIBE_VERSION, broker_id).results
        for source, owner in zip(_DYNAMIC, (str(broker_id), _ALL_BROKERS), strict=True):
            names = [each.name for each in config_views(told) if each.source is source]
            if names:
                changes = {owner: dict.fromkeys(names)}
                order = alter_configs_request(ResourceType.BROKER, changes)
                for outcome in alter_outcomes(admin.ask(order, _ALTER_VERSION, broker_id)):
                    outcome.check()


def _bring_back_log_dirs(admin: ClusterAdmin, brokers: list[Broker]) -> None:
    for broker in brokers:
        offline = [view.path for view in admin.log_dirs(broker.id) if not view.is_online]
        for log_dir in broker.log_dirs if offline else ():
            if log_dir.path in offline:
                try:
                    log_dir.restart()
                except LabError:
                    log_dir.replace(accept_loss=True, force=True)
