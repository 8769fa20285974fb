"""What handlers ask of the coordinators of groups and transactions.

Doors without code; ``broker.coordinators`` has the rooms behind them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeVar

from broker.coordinators.shard_host import Decide
from broker.core.coordination import Shard
from broker.core.transaction_state.begin import BeginAsked
from broker.core.transaction_state.end import EndAsked
from broker.core.transaction_state.shard import Initialized, TransactionShard
from protocol.ids import TopicPartition

ShardT_co = TypeVar("ShardT_co", bound=Shard, covariant=True)


class ShardsPort(Protocol[ShardT_co]):
    """One kind of coordinator: the shards of its topic that this broker leads."""

    async def ask(self, key: str, decide: Decide[ShardT_co], *, writes: bool = False) -> Any:
        """Have the shard of a key decide and return the answer, when that is replicated.

        ``writes``: it will write for sure, so it is not even tried where the log takes nothing.

        Raises:
            KafkaError: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, or
                what ``decide`` raises.
        """
        ...

    def shard_of(self, key: str) -> ShardT_co:
        """Return the shard of a key, for questions that neither wait nor change anything.

        Raises:
            KafkaError: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS.
        """
        ...

    def shards(self) -> Iterator[ShardT_co]:
        """Give all that are led here, for questions that change nothing.

        Raises:
            KafkaError: COORDINATOR_LOAD_IN_PROGRESS, one is not loaded yet.
        """
        ...

    def partition_of(self, key: str) -> TopicPartition:
        """Return where a key belongs.

        Raises:
            KafkaError: COORDINATOR_NOT_AVAILABLE, the topic is not there.
        """
        ...

    def transaction_ended(self, tp: TopicPartition, producer_id: int, *, is_commit: bool) -> None:
        """A marker is in a partition of the topic: what was pending counts, or not."""
        ...


class TransactionsPort(Protocol):
    """The coordinator of transactions. Its methods are for what may need a new producer id.

    They raise KafkaError as ``shards.ask`` does, and COORDINATOR_LOAD_IN_PROGRESS when no id came.
    """

    @property
    def shards(self) -> ShardsPort[TransactionShard]:
        """Who decides all else."""
        ...

    async def begin(self, asked: BeginAsked) -> Initialized:
        """InitProducerId."""
        ...

    async def end(self, transactional_id: str, asked: EndAsked) -> Initialized:
        """Commit or abort; answered when that is decided for good."""
        ...
