"""IncrementalAlterConfigs and AlterConfigs: decides, journals, tells the brokers concerned.

A broker that is told asks for the new values; the answer to the client waits for the telling, not
for the asking. Source: ConfigAdminManager.scala, ZkAdminManager.scala.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from controller.core.cluster_action import only_nodes
from controller.core.config_records import (
    BrokerConfigsChanged,
    GroupConfigsChanged,
    TopicConfigsChanged,
)
from controller.core.events import RequestArrived
from controller.core.partition_moves import elect_leaderless
from controller.core.step import Step
from controller.core.tokens import alter_tokens, is_about_tokens
from protocol.configs.broker import BROKER_KEYS
from protocol.configs.changes import (
    AlteredResource,
    apply_changes,
    asked_ops,
    check_ops,
    check_topic,
    outcome,
)
from protocol.configs.group import GROUP_KEYS
from protocol.configs.group_parsing import check_group_configs
from protocol.configs.listener_changes import passwords_in, refuse_passwords_in_zookeeper
from protocol.configs.messages import CHANGED_BROKER_CONFIGS, CHANGED_GROUP_CONFIGS
from protocol.configs.names import UNCLEAN_ELECTION
from protocol.configs.reconfiguration import check_broker_change
from protocol.configs.topic import TOPIC_KEYS
from protocol.configs.types import ALL_BROKERS, HIDDEN, ResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import broker_id_from_text
from protocol.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


class _Resource(NamedTuple):
    type: int
    name: str


def incremental_alter_configs(step: Step, event: RequestArrived) -> None:
    """Serve IncrementalAlterConfigs v0-1."""
    request: IncrementalAlterConfigsRequest = event.request
    if is_about_tokens(request):
        alter_tokens(step, event)
        return
    responses = _alter(step, request.resources, validate_only=request.validate_only)
    step.answer_when_told(event.token, IncrementalAlterConfigsResponse(responses=responses))


def alter_configs(step: Step, event: RequestArrived) -> None:
    """Serve AlterConfigs v0-2: what is not named goes back to its default."""
    request: AlterConfigsRequest = event.request
    responses = _alter(step, request.resources, validate_only=request.validate_only)
    step.answer_when_told(event.token, AlterConfigsResponse(responses=responses))


def change_topic_configs(step: Step, name: str, changes: Mapping[str, str | None]) -> None:
    """Set or unset configs of a topic that exists and tell every broker; nothing is checked."""
    changed = _really(step.state.topics[name].configs, changes)
    if not changed:
        return
    step.change(TopicConfigsChanged(name, changed))
    step.note(f"configs of topic {name} changed: {_listed(changed)}")
    step.send_changed_configs(step.state.brokers, (name,))
    _elect_unclean(step, changed)


def change_broker_configs(step: Step, name: str, changes: Mapping[str, str | None]) -> None:
    """Set or unset dynamic configs of a broker, or of ``ALL_BROKERS``; nothing is checked."""
    changed = _really(step.state.dynamic_configs.get(name, {}), changes)
    if not changed:
        return
    step.change(BrokerConfigsChanged(name, changed))
    who = "all brokers" if name == ALL_BROKERS else f"broker {name}"
    step.note(f"configs of {who} changed: {_listed(changed)}")
    told = [b for b in step.state.brokers if name in (ALL_BROKERS, str(b))]
    step.send_changed_configs(told, (CHANGED_BROKER_CONFIGS,))
    _elect_unclean(step, changed)


def change_group_configs(step: Step, name: str, changes: Mapping[str, str | None]) -> None:
    """Set or unset configs of a group and tell every broker; nothing is checked."""
    changed = _really(step.state.group_configs.get(name, {}), changes)
    if not changed:
        return
    step.change(GroupConfigsChanged(name, changed))
    step.note(f"configs of group {name} changed: {_listed(changed)}")
    step.send_changed_configs(step.state.brokers, (CHANGED_GROUP_CONFIGS,))


_CHANGE: Final = {
    ResourceType.TOPIC: change_topic_configs,
    ResourceType.BROKER: change_broker_configs,
    ResourceType.GROUP: change_group_configs,
}


def _alter(
    step: Step,
    resources: Sequence[AlteredResource],
    *,
    validate_only: bool,
) -> list[AlterConfigsResourceResponse]:
    named = [(_Resource(each.resource_type, each.resource_name), each) for each in resources]
    counts = Counter(resource for resource, _ in named)
    responses: list[AlterConfigsResourceResponse] = []
    for resource, asked in named:
        try:
            if counts[resource] > 1:
                raise _invalid("Each resource must appear at most once.")
            check_ops(asked_ops(asked, {}))
            kept = _kept_as(step, resource)
            changes = _decide(step, kept, asked)
        except KafkaError as error:
            responses.append(_response(resource, error.code, error.message))
            continue
        if not validate_only:
            _CHANGE[ResourceType(resource.type)](step, kept.name, changes)
        responses.append(_response(resource, ErrorCode.NONE, None))
    return responses


def _decide(
    step: Step,
    resource: _Resource,
    asked: AlteredResource,
) -> dict[str, str | None]:
    """Return what changes.

    Raises:
        KafkaError: it may not.
    """
    if resource.type == ResourceType.TOPIC:
        current = _topic_configs(step, resource.name)
        changes = outcome(TOPIC_KEYS, current, asked_ops(asked, current))
        check_topic(resource.name, apply_changes(current, changes), step.defaults)
        return changes
    if resource.type == ResourceType.BROKER:
        current = step.state.dynamic_configs.get(resource.name, {})
        changes = outcome(BROKER_KEYS, current, asked_ops(asked, current))
        _check_broker(step, resource.name, changes)
        _check_secrets(step, changes)
        return changes
    if resource.type == ResourceType.GROUP:
        if step.settings.has_zookeeper:
            raise _not_altered("GROUP")
        if not resource.name:
            raise _invalid("Default group resources are not allowed.")
        current = step.state.group_configs.get(resource.name, {})
        changes = outcome(GROUP_KEYS, current, asked_ops(asked, current))
        check_group_configs(apply_changes(current, changes), step.defaults)
        return changes
    if resource.type == ResourceType.CLIENT_METRICS:
        raise _not_altered("CLIENT_METRICS")
    raise _invalid(f"Unknown resource type {resource.type}")


def _not_altered(kind: str) -> KafkaError:
    """Source: ZkAdminManager.alterConfigs; ZooKeeper has nothing of groups either."""
    words = "AlterConfigs is only supported for topics and brokers, but resource type is"
    return _invalid(f"{words} {kind}")


def _topic_configs(step: Step, name: str) -> dict[str, str]:
    if not name:
        raise _invalid("Default topic resources are not allowed.")
    topic = step.state.known_topic(name)
    if topic is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
        )
    return topic.configs


def _kept_as(step: Step, resource: _Resource) -> _Resource:
    """Return the resource by the name that it is kept under: brokers 1, 01 and +1 are one."""
    name = resource.name
    if resource.type != ResourceType.BROKER or name == ALL_BROKERS:
        return resource
    try:
        broker_id = broker_id_from_text(name)
    except ValueError:
        raise _invalid(f"Node id must be an integer, but it is: {name}") from None
    if broker_id not in step.state.brokers:
        raise KafkaError(
            ErrorCode.BROKER_ID_NOT_REGISTERED, f"No broker with id {broker_id} found."
        )
    return _Resource(resource.type, str(broker_id))


def _check_broker(step: Step, name: str, changes: Mapping[str, str | None]) -> None:
    dynamic = step.state.dynamic_configs
    is_default = name == ALL_BROKERS
    static = step.settings.overrides
    if not is_default:
        static = step.settings.broker_overrides.get(int(name), static)
    defaults = {} if is_default else dynamic.get(ALL_BROKERS, {})
    own = dynamic.get(name, {})
    check_broker_change(changes, static=static, defaults=defaults, own=own, is_default=is_default)


def _check_secrets(step: Step, changes: Mapping[str, str | None]) -> None:
    """Refuse to keep what brokers could not be told, or what others could read."""
    if step.settings.has_zookeeper:
        refuse_passwords_in_zookeeper(changes)
    elif passwords_in(changes) and not step.settings.tells_nodes_apart:
        raise only_nodes()


def _really(before: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str | None]:
    """Leave out what stays as it is."""
    return {name: text for name, text in changes.items() if before.get(name) != text}


def _listed(changes: Mapping[str, str | None]) -> str:
    secrets = passwords_in(changes)
    return ", ".join(
        f"{name} unset" if text is None else f"{name}={HIDDEN if name in secrets else text}"
        for name, text in changes.items()
    )


def _elect_unclean(step: Step, changes: Mapping[str, str | None]) -> None:
    """Try leaderless partitions again. Source: processTopicUncleanLeaderElectionEnable."""
    if UNCLEAN_ELECTION in changes:
        elect_leaderless(step)


def _response(
    resource: _Resource, code: ErrorCode, message: str | None
) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=code,
        error_message=message or None,
        resource_type=resource.type,
        resource_name=resource.name,
    )


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
