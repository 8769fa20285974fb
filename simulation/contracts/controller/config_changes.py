"""What changed configurations promise: they are what was asked for, and allow what they allow.

Source: ConfigAdminManager.scala, ZkAdminManager.scala;
KafkaController.processTopicUncleanLeaderElectionEnable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Final

from controller.core import alter_configs
from controller.core.events import RequestArrived
from controller.core.state import ClusterState
from controller.core.step import Step
from controller.core.tokens import is_about_tokens
from protocol.configs.types import AlterOperation, ResourceType
from protocol.errors import ErrorCode
from protocol.ids import NO_LEADER
from protocol.messages.configs import AlterConfigsRequest, IncrementalAlterConfigsRequest
from simulation.contracts.contract import Broken, of_function
from simulation.contracts.controller.cluster_facts import leaves, partitions, working
from simulation.contracts.controller.told import answer_of

Check = Generator[None, None, Broken]
_UNCLEAN: Final = "unclean.leader.election.enable"


def _texts(state: ClusterState, kind: int, name: str) -> dict[str, str]:
    """Return what is set of a topic, a broker or a group; nothing of what is not there."""
    if kind == ResourceType.TOPIC:
        return dict(state.topics[name].configs) if name in state.topics else {}
    if kind == ResourceType.BROKER:
        key = str(int(name)) if name.strip().lstrip("+-").isdigit() else name
        return dict(state.dynamic_configs.get(key, {}))
    return dict(state.group_configs.get(name, {})) if kind == ResourceType.GROUP else {}


@of_function(alter_configs.incremental_alter_configs)
def altered(step: Step, event: RequestArrived) -> Check:
    """What is set has its value then, what is deleted has none; what is refused stays."""
    request: IncrementalAlterConfigsRequest = event.request
    return (yield from _altered(step, event, request))


@of_function(alter_configs.alter_configs)
def replaced(step: Step, event: RequestArrived) -> Check:
    """What is named has its value then, all else has none; what is refused stays."""
    request: AlterConfigsRequest = event.request
    return (yield from _altered(step, event, request))


def _altered(
    step: Step, event: RequestArrived, request: IncrementalAlterConfigsRequest | AlterConfigsRequest
) -> Check:
    if isinstance(request, IncrementalAlterConfigsRequest) and is_about_tokens(request):
        return None
    named = [(each.resource_type, each.resource_name) for each in request.resources]
    counts = Counter(named)
    before = {each: _texts(step.state, *each) for each in named}
    yield
    responses = answer_of(step, event.token).responses
    if [(each.resource_type, each.resource_name) for each in responses] != named:
        return f"{request} is answered {responses}"
    for key, asked, answer in zip(named, request.resources, responses, strict=True):
        after = _texts(step.state, *key)
        if counts[key] > 1 and answer.error_code == ErrorCode.NONE:
            return f"{key} is named twice and taken: {answer}"
        is_whole = isinstance(request, AlterConfigsRequest)
        if counts[key] == 1 and _is_refused_for_nothing(step, asked, answer, is_whole=is_whole):
            return f"{asked} is answered {answer}"
        if answer.error_code != ErrorCode.NONE or request.validate_only:
            broken = f"{before[key]} becomes {after}" if after != before[key] else None
        else:
            broken = _unlike(asked.configs, after, is_whole=is_whole)
        if broken is not None:
            return f"{asked} is answered {answer}: {broken}"
    return None


# Any: a resource of either request, and its answer.
def _is_refused_for_nothing(step: Step, asked: Any, answer: Any, *, is_whole: bool) -> bool:
    """Tell whether a well-formed wish for a topic that is there counts as none."""
    names = [each.name for each in asked.configs]
    operations = tuple(AlterOperation)
    is_formed = len(frozenset(names)) == len(names) and all(
        (is_whole or each.config_operation in operations)
        and (
            each.value is not None
            or (not is_whole and each.config_operation == AlterOperation.DELETE)
        )
        for each in asked.configs
    )
    is_topic = asked.resource_type == ResourceType.TOPIC
    is_there = is_topic and asked.resource_name in step.state.topics
    return is_formed and is_there and answer.error_code == ErrorCode.INVALID_REQUEST


# Any: entries of either request.
def _unlike(configs: Sequence[Any], after: Mapping[str, str], *, is_whole: bool) -> Broken:
    for each in configs:
        operation = AlterOperation.SET if is_whole else each.config_operation
        if operation == AlterOperation.DELETE and each.name in after:
            return f"{each.name} is deleted and there: {after}"
        if operation == AlterOperation.SET and after.get(each.name) != each.value.strip():
            return f"{each.name} is set to {each.value}: {after}"
    left = after.keys() - {each.name for each in configs}
    return f"{sorted(left)} are not named and stay" if is_whole and left else None


@of_function(alter_configs.change_topic_configs)
def change_topic_configs(step: Step, name: str, changes: Mapping[str, str | None]) -> Check:
    """Where loss is allowed from now on, somebody leads who can."""
    before = step.state.topics[name].configs.get(_UNCLEAN)
    yield
    is_news = _UNCLEAN in changes and changes[_UNCLEAN] != before
    return next(_idle(step), None) if is_news else None


@of_function(alter_configs.change_broker_configs)
def change_broker_configs(step: Step, name: str, changes: Mapping[str, str | None]) -> Check:
    """Where loss is allowed from now on for all topics, somebody leads who can."""
    before = step.state.dynamic_configs.get(name, {}).get(_UNCLEAN)
    yield
    is_news = _UNCLEAN in changes and changes[_UNCLEAN] != before
    return next(_idle(step), None) if is_news else None


def _idle(step: Step) -> Iterator[str]:
    """Tell of partitions that nobody leads although somebody could, and may."""
    for tp, one, topic in partitions(step.state):
        if one.leader != NO_LEADER or one.leader_epoch < 0 or leaves(topic, step.state):
            continue
        own = topic.configs.get(_UNCLEAN)
        is_default = own is None and step.defaults.unclean_leader_election_enable
        able = working(step.state, tp)
        if able and (own == "true" or is_default):
            yield f"nobody leads {tp}, online are {able}: {one}"
