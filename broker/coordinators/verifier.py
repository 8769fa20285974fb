"""Has the coordinator say that a transaction is open before its first records are taken (KIP-890).

Source: ReplicaManager.handleProduceAppend, maybeSendPartitionsToTransactionCoordinator.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from broker.coordinators.broker_channels import ChannelPorts
from broker.coordinators.verification_channels import VerificationChannels
from broker.core.append import is_transactional
from broker.core.coordination import TransactionProducer
from broker.core.transaction_state.begin import ProducerIdAndEpoch
from broker.core.transaction_state.verifying import (
    ToldCode,
    VerificationAsked,
    Verifying,
    is_worth_retrying,
    offset_commit_refusal,
    produce_refusal,
)
from broker.core.verification import ALREADY_OPEN, VerificationGuard
from broker.engine.engine import Engine
from broker.engine.serve.produce import Produces
from broker.engine.types import ProducePart
from protocol.configs.parsing import BrokerConfig
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import TopicPartition
from protocol.records.batch import BatchHeader, read_batch_header


class VerifierPort(Protocol):
    """Has coordinators say that transactions are open, before their records are taken."""

    async def verified(
        self, parts: Sequence[ProducePart], transactional_id: str, how: Verifying
    ) -> list[ProducePart | ToldCode]:
        """Return each part with its guard, or why it must not be appended.

        Raises:
            KafkaError: INVALID_PRODUCER_ID_MAPPING, the parts are of several producers.
        """
        ...

    async def verified_offsets(
        self, tp: TopicPartition, transactional_id: str, asked: ProducerIdAndEpoch, how: Verifying
    ) -> TransactionProducer:
        """Return with which guard offsets go into a partition of the offsets topic.

        Raises:
            KafkaError: why they must not.
        """
        ...

    def check(self, tp: TopicPartition, producer: TransactionProducer) -> None:
        """Look whether a marker came since.

        Raises:
            KafkaError: INVALID_TXN_STATE, it did, or why this broker does not lead the partition.
        """
        ...


class _Wanted(NamedTuple):
    """What is to be appended for one transaction."""

    transactional_id: str
    producer: ProducerIdAndEpoch
    sequences: Mapping[TopicPartition, int]
    """The first of the batch for each partition."""
    how: Verifying


class _Outcome(NamedTuple):
    guards: Mapping[TopicPartition, VerificationGuard]
    refused: Mapping[TopicPartition, ErrorCode]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierPorts:
    """What the verifier needs."""

    produces: Produces
    channels: VerificationChannels
    config: BrokerConfig
    now_ms: Callable[[], int]
    """The loop's clock."""


class Verifier:
    """Verifies for the partitions that this broker leads: a ``VerifierPort``. ``run`` it once."""

    def __init__(self, ports: VerifierPorts) -> None:
        self._ports = ports

    def run(self, tasks: asyncio.TaskGroup) -> None:
        """Ask coordinators by ``tasks`` from now on."""
        self._ports.channels.run(tasks)

    def stop(self) -> None:
        """Answer all that wait: the broker ends."""
        self._ports.channels.stop()

    async def verified(
        self, parts: Sequence[ProducePart], transactional_id: str, how: Verifying
    ) -> list[ProducePart | ToldCode]:
        """Return each part with its guard, or why it must not be appended.

        Raises:
            KafkaError: INVALID_PRODUCER_ID_MAPPING, the parts are of several producers.
        """
        headers = {part.tp: header for part in parts if (header := _header(part)) is not None}
        if not headers:
            return list(parts)
        producers = {(header.producer_id, header.producer_epoch) for header in headers.values()}
        if len(producers) > 1:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_ID_MAPPING,
                "Transactional records contained more than one producer ID",
            )
        sequences = {tp: header.base_sequence for tp, header in headers.items()}
        producer = ProducerIdAndEpoch(*producers.pop())
        outcome = await self._verify(_Wanted(transactional_id, producer, sequences, how))
        told: list[ProducePart | ToldCode] = []
        for part in parts:
            if (code := outcome.refused.get(part.tp)) is not None:
                told.append(produce_refusal(code, how))
            else:
                told.append(part._replace(guard=outcome.guards.get(part.tp)))
        return told

    async def verified_offsets(
        self, tp: TopicPartition, transactional_id: str, asked: ProducerIdAndEpoch, how: Verifying
    ) -> TransactionProducer:
        """Return with which guard offsets go into a partition of the offsets topic.

        Raises:
            KafkaError: why they must not.
        """
        outcome = await self._verify(_Wanted(transactional_id, asked, {tp: 0}, how))
        if (code := outcome.refused.get(tp)) is not None:
            raise KafkaError(offset_commit_refusal(code, how))
        return TransactionProducer(*asked, outcome.guards[tp])

    def check(self, tp: TopicPartition, producer: TransactionProducer) -> None:
        """Look whether a marker came since.

        Raises:
            KafkaError: INVALID_TXN_STATE, it did, or why this broker does not lead the partition.
        """
        if producer.guard is not None:
            self._ports.produces.check_verified(tp, *producer[:2], producer.guard)

    async def _verify(self, wanted: _Wanted) -> _Outcome:
        """Ask, and again while the transaction before is being ended, for a bounded time."""
        ports = self._ports
        most_ms = min(
            ports.config.add_partitions_to_txn_retry_backoff_max_ms, ports.config.request_timeout_ms
        )
        end_ms = ports.now_ms() + most_ms
        while True:
            outcome = await self._ask_once(wanted)
            is_last = ports.now_ms() >= end_ms
            if is_last or not is_worth_retrying(outcome.refused.values(), wanted.how):
                return outcome
            await asyncio.sleep(ports.config.add_partitions_to_txn_retry_backoff_ms / 1000)

    async def _ask_once(self, wanted: _Wanted) -> _Outcome:
        transactional_id, producer, sequences, how = wanted
        guards: dict[TopicPartition, VerificationGuard] = {}
        refused: dict[TopicPartition, ErrorCode] = {}
        for tp, sequence in sequences.items():
            try:
                guards[tp] = self._ports.produces.begin_verification(
                    tp, *producer, sequence, raises_epochs=how is Verifying.ADDING
                )
            except KafkaError as error:
                guards[tp] = ALREADY_OPEN  # Not led here: who appends says so, and who leads.
                if error.code is ErrorCode.INVALID_PRODUCER_EPOCH:
                    refused[tp] = error.code
        unknown = tuple(tp for tp, guard in guards.items() if guard is not ALREADY_OPEN)
        if unknown:
            codes = await self._ports.channels.ask(
                VerificationAsked(transactional_id, *producer, unknown, how)
            )
            refused |= {tp: code for tp, code in codes.items() if code is not ErrorCode.NONE}
        return _Outcome(guards, refused)


def _header(part: ProducePart) -> BatchHeader | None:
    """Return the header of a transactional batch; what cannot be read is refused later."""
    if not is_transactional(part.records):
        return None
    try:
        return read_batch_header(part.records)
    except Malformed:
        return None


def make_verifier(engine: Engine, config: BrokerConfig) -> Verifier:
    """Make it over the logs of the engine."""
    state = engine.state
    channels = ChannelPorts(
        metadata=state.metadata,
        connect=state.ports.connect,
        request_timeout_ms=lambda: config.request_timeout_ms,
    )
    return Verifier(
        VerifierPorts(
            produces=engine.produces,
            channels=VerificationChannels(channels),
            config=config,
            now_ms=state.now_ms,
        )
    )
