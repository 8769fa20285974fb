"""What a plan asks of Kafka: every answer is compared with the one that the plan names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from protocol.admin.elections import ElectionType
from protocol.configs.names import CORDONED_LOG_DIRS
from protocol.configs.types import ALL_BROKERS, ResourceType
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from simulation.core import actions as do
from simulation.core.references import ALL
from simulation.run.run_context import RunContext, StepError


async def _create_topic(context: RunContext, action: do.CreateTopic) -> None:
    if action.log_dir is not None:
        await _place(context, action, action.log_dir)
    code = await context.admin.create_topic(
        action.name,
        partitions=action.partitions,
        replication_factor=action.replication_factor,
        assignment=action.assignment,
        configs=action.configs,
    )
    _check(code, action.answers)


async def _delete_topic(context: RunContext, action: do.DeleteTopic) -> None:
    _check(await context.admin.delete_topic(action.name), action.answers)


async def _add_partitions(context: RunContext, action: do.AddPartitions) -> None:
    code = await context.admin.create_partitions(action.topic, action.to, action.assignment)
    _check(code, action.answers)


async def _move_replica(context: RunContext, action: do.MoveReplica) -> None:
    broker = context.broker(action.broker)
    path = context.path(broker, action.to)
    codes = await context.admin.move_replicas(broker, path, context.partitions(action.of))
    _check_each(codes, action.answers)


async def _reassign(context: RunContext, action: do.Reassign) -> None:
    targets = dict.fromkeys(context.partitions(action.of), action.to)
    _check_each(await context.admin.reassign(targets), action.answers)


async def _cancel_reassignment(context: RunContext, action: do.CancelReassignment) -> None:
    targets = dict.fromkeys(context.partitions(action.of))
    _check_each(await context.admin.reassign(targets), action.answers)


async def _elect_leaders(context: RunContext, action: do.ElectLeaders) -> None:
    kind = ElectionType[action.kind.upper()]
    codes = await context.admin.elect(context.partitions(action.of), kind)
    _check_each(codes, action.answers)


async def _alter_configs(context: RunContext, action: do.AlterConfigs) -> None:
    if action.topic is not None:
        resource, name = ResourceType.TOPIC, action.topic
    else:
        resource = ResourceType.BROKER
        name = ALL_BROKERS if action.broker is None else str(context.broker(action.broker))
    alter = context.admin.replace_configs if action.alone else context.admin.alter_configs
    _check(await alter(resource, name, action.set), action.answers)


async def _cordon(context: RunContext, action: do.Cordon) -> None:
    broker = context.broker(action.broker)
    paths = [ref if ref == ALL else context.path(broker, ref) for ref in action.log_dirs]
    code = await context.admin.alter_configs(
        ResourceType.BROKER, str(broker), {CORDONED_LOG_DIRS: ",".join(paths)}
    )
    _check(code, action.answers)


async def _delete_records(context: RunContext, action: do.DeleteRecords) -> None:
    for partition in context.partitions(action.of):
        code = await context.admin.delete_records(partition, action.before)
        _check(code, action.answers)


async def _ask(context: RunContext, action: do.Ask) -> None:
    broker = context.broker(action.broker)
    for partition in context.partitions(action.of):
        code = await context.asker.ask(
            action.api, broker, partition, action.version, action.offset, action.time_ms
        )
        _check(code, action.answers)


async def _place(context: RunContext, topic: do.CreateTopic, log_dir: str) -> None:
    """Tell brokers where to put replicas that are not there yet; they remember it."""
    brokers = [broker.id for broker in context.cluster.spec.brokers]
    assignment = topic.assignment or [brokers] * topic.partitions
    for broker in brokers:
        placed = [
            TopicPartition(topic.name, index)
            for index, replicas in enumerate(assignment)
            if broker in replicas
        ]
        if placed:
            await context.admin.move_replicas(broker, context.path(broker, log_dir), placed)


def _check(code: ErrorCode, wanted: str) -> None:
    if code.name != wanted:
        raise StepError(f"is answered with {code.name}, not {wanted}")


def _check_each(codes: Mapping[TopicPartition, ErrorCode], wanted: str) -> None:
    for partition, code in codes.items():
        if code.name != wanted:
            raise StepError(f"{partition} is answered with {code.name}, not {wanted}")


# Any: each takes the class of its row, beyond what a type can say.
ORDERS: Final[Mapping[type, Callable[[RunContext, Any], Awaitable[None]]]] = {
    do.CreateTopic: _create_topic,
    do.DeleteTopic: _delete_topic,
    do.AddPartitions: _add_partitions,
    do.MoveReplica: _move_replica,
    do.Reassign: _reassign,
    do.CancelReassignment: _cancel_reassignment,
    do.ElectLeaders: _elect_leaders,
    do.AlterConfigs: _alter_configs,
    do.Cordon: _cordon,
    do.DeleteRecords: _delete_records,
    do.Ask: _ask,
}
