"""The workloads whose client is aiokafka. A large library: imported only by runs that need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from simulation.core.history import History
from simulation.core.plan import Workload
from simulation.workload.aiokafka_clients import (
    AiokafkaConsumerWorkload,
    AiokafkaProducerWorkload,
)
from simulation.workload.consumer import ConsumerSettings
from simulation.workload.group_consumer import GroupConsumerSettings, GroupConsumerWorkload
from simulation.workload.producer import ProducerSettings
from simulation.workload.transactional_producer import (
    TransactionalProducerWorkload,
    TransactionSettings,
)
from simulation.workload.transformer import TransformSettings, TransformWorkload

LibraryReader: TypeAlias = AiokafkaConsumerWorkload | GroupConsumerWorkload
LibraryWriter: TypeAlias = (
    TransformWorkload | TransactionalProducerWorkload | AiokafkaProducerWorkload
)


class LibraryClient(NamedTuple):
    """Who a client of the library is."""

    addresses: Mapping[int, tuple[str, int]]
    client_id: str
    history: History


def library_workload(
    workload: Workload, number: int, client: LibraryClient, writing: ProducerSettings
) -> LibraryReader | LibraryWriter:
    """Return a workload that has not begun.

    Args:
        workload: what the plan says of it.
        number: its own in the run, from which its records' numbers come.
        client: who it is.
        writing: what it writes, if it does.
    """
    if workload.kind == "consume":
        return _reader(workload, client)
    return _writer(workload, number, client, writing)


def _reader(workload: Workload, client: LibraryClient) -> LibraryReader:
    is_committed = workload.read_committed
    if workload.group is None:
        reading = ConsumerSettings(topic=workload.topic, is_read_committed=is_committed)
        return AiokafkaConsumerWorkload(*client, reading)
    member = GroupConsumerSettings(
        topic=workload.topic, group=workload.group, is_read_committed=is_committed
    )
    return GroupConsumerWorkload(*client, member)


def _writer(
    workload: Workload, number: int, client: LibraryClient, writing: ProducerSettings
) -> LibraryWriter:
    if workload.kind == "transform":
        assert workload.group is not None
        assert workload.into is not None
        writing = replace(writing, topic=workload.into)
        transform = TransformSettings(topic=workload.topic, group=workload.group, writing=writing)
        return TransformWorkload(number, *client, transform)
    if workload.transactional:
        transactions = TransactionSettings(aborts_every=workload.aborts_every)
        return TransactionalProducerWorkload(number, *client, writing, transactions)
    return AiokafkaProducerWorkload(number, *client, writing)
