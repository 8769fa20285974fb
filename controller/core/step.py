"""What one event reads and changes, handed from rule to rule.

It decides nothing; it keeps state, journal and channels in step with each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from controller.core.collate import RequestBatch
from controller.core.effects import (
    Answer,
    ConnectBroker,
    DisconnectBroker,
    Effect,
    Note,
    Report,
    Send,
)
from controller.core.placement import RandomSource
from controller.core.records import Record
from controller.core.run_state import NOT_SENT, Progress, RunState, Waiting
from controller.core.settings import Settings
from controller.core.state import ClusterState
from protocol.configs.parsing import BrokerConfig, BrokerOverrides, broker_config
from protocol.configs.types import ALL_BROKERS
from protocol.ids import TopicPartition
from protocol.messages.control import UpdateMetadataRequest
from protocol.metrics.rows import FailoverStep

TELL_TIMEOUT_MS: Final = 2_000
"""How long a client waits for brokers that cannot be told; the change is durable by then."""


@dataclass(slots=True)
class Step:
    """One event's work."""

    state: ClusterState
    run: RunState
    settings: Settings
    chance: RandomSource
    now_ms: int
    records: list[Record] = field(default_factory=list[Record])
    effects: list[Effect] = field(default_factory=list[Effect])
    notes: list[Note] = field(default_factory=list[Note])
    """Log lines; written last, as nothing waits for them."""

    @property
    def defaults(self) -> BrokerConfig:
        """What all brokers have: the cluster file's, overlaid with dynamic ones."""
        dynamic = self.state.dynamic_configs.get(ALL_BROKERS)
        if dynamic is None:
            return self.settings.defaults
        if self.run.defaults is None or self.run.defaults[0] is not dynamic:
            texts = {**self.settings.overrides, **dynamic}
            self.run.defaults = (dynamic, broker_config(texts))
        return self.run.defaults[1]

    @property
    def default_overrides(self) -> BrokerOverrides:
        """Where those come from, for describing topics."""
        return BrokerOverrides(
            static=self.settings.overrides,
            dynamic={},
            dynamic_default=self.state.dynamic_configs.get(ALL_BROKERS, {}),
        )

    def change(self, record: Record) -> None:
        """Apply a decision and have it journaled."""
        record.apply(self.state)
        self.records.append(record)

    def new_batch(self) -> RequestBatch:
        """Begin a batch of requests; ``send_batch`` ends it."""
        return RequestBatch(self.state, self.settings.controller_id)

    def send_batch(self, batch: RequestBatch) -> None:
        """Send what a batch gathered."""
        for broker_id, request in batch.requests():
            self.send(broker_id, request)

    def send_metadata(self, broker_ids: Iterable[int], tps: Iterable[TopicPartition]) -> None:
        """Send UpdateMetadata alone."""
        batch = self.new_batch()
        batch.add_update_metadata(broker_ids, tps)
        self.send_batch(batch)

    def send_all_metadata(self, broker_ids: Iterable[int]) -> None:
        """Tell brokers everything: what was deleted while they did not hear is gone to them."""
        batch = self.new_batch()
        batch.add_all_metadata(broker_ids)
        self.send_batch(batch)

    def send_changed_configs(self, broker_ids: Collection[int], names: Collection[str]) -> None:
        """Tell brokers that these changed, topics or rows; who is away is told when it is back.

        So is who does not answer before it is away: one that was stopped for a while may come back
        without having noticed. What is kept in ZooKeeper they see there.
        """
        if self.settings.has_zookeeper:
            return
        reachable = [each for each in self.state.reachable_brokers() if each in broker_ids]
        batch = self.new_batch()
        batch.add_changed_configs(reachable, names)
        self.send_batch(batch)
        for broker_id in broker_ids:
            sent = self.run.channels[broker_id].sent if broker_id in reachable else NOT_SENT
            unheard = self.run.unheard_configs.setdefault(broker_id, {})
            unheard.update(dict.fromkeys(names, sent))

    def send(self, broker_id: int, request: Any) -> int:
        """Put one request into a reachable broker's channel and return its sequence."""
        progress = self.run.channels[broker_id]
        progress.sent += 1
        self.run.sequences[broker_id] = progress.sent
        if type(request) is UpdateMetadataRequest:
            progress.metadata_sent = progress.sent
        self.effects.append(Send(broker_id, progress.sent, request))
        return progress.sent

    def connect(self, broker_id: int) -> None:
        """Open the channel to a broker that became reachable."""
        broker = self.state.brokers[broker_id]
        endpoint = broker.endpoint(self.settings.control_plane_listener)
        begin = self.run.sequences.get(broker_id, 0)
        self.run.channels[broker_id] = Progress(broker.broker_epoch, sent=begin, answered=begin)
        self.effects.append(
            ConnectBroker(broker_id, broker.broker_epoch, endpoint.host, endpoint.port)
        )

    def begin_session(self, broker_id: int) -> None:
        """Have a broker count as alive from now on, as long as it heartbeats."""
        if not self.settings.has_zookeeper:
            self.run.last_seen_ms[broker_id] = self.now_ms

    def disconnect(self, broker_id: int) -> None:
        """Close the channel to a broker that is dead; nobody waits for it any more."""
        self.run.channels.pop(broker_id, None)
        self.run.probes.pop(broker_id, None)
        for told in [each for each in self.run.told_as_new if each[0] == broker_id]:
            del self.run.told_as_new[told]  # It was under way, maybe.
        self.effects.append(DisconnectBroker(broker_id))

    def answer(self, token: int, response: Any) -> None:
        """Answer now."""
        self.effects.append(Answer(token, response))

    def when_told(
        self, done: Effect, *, late: Effect | None = None, deadline_ms: int | None = None
    ) -> None:
        """Hold ``done`` back until every reachable broker took the last UpdateMetadata sent to it.

        Channels are ordered, so it took the LeaderAndIsr before it as well.

        Args:
            done: done then, or at once when nothing is under way.
            late: done instead at ``deadline_ms``.
            deadline_ms: loop time; None waits for as long as it takes.
        """
        told = {
            broker_id: (progress.broker_epoch, progress.metadata_sent)
            for broker_id, progress in self.run.channels.items()
            if progress.answered < progress.metadata_sent
        }
        self._wait(Waiting(told, deadline_ms, done, late))

    def tell_all(self, row: str, text: str) -> None:
        """Note what changed and have every broker ask for it: ``row`` says what it is."""
        self.note(text)
        self.send_changed_configs(self.state.brokers, (row,))

    def answer_when_told(self, token: int, response: Any) -> None:
        """Answer a change once the brokers were told; not later than ``TELL_TIMEOUT_MS``."""
        answer = Answer(token, response)
        self.when_told(answer, late=answer, deadline_ms=self.now_ms + TELL_TIMEOUT_MS)

    def when_answered(self, broker_id: int, done: Effect, *, deadline_ms: int) -> None:
        """Hold ``done`` back until one broker answered all that was sent to it, or the deadline."""
        progress = self.run.channels.get(broker_id)
        told: dict[int, tuple[int, int]] = {}
        if progress is not None and progress.answered < progress.sent:
            told[broker_id] = (progress.broker_epoch, progress.sent)
        self._wait(Waiting(told, deadline_ms, done, late=done))

    def _wait(self, waiting: Waiting) -> None:
        if waiting.told:
            self.run.waiting.append(waiting)
        else:
            self.effects.append(waiting.done)

    def report(
        self, failure_id: str, step: FailoverStep, *, topics: int = -1, partitions: int = -1
    ) -> None:
        """Have a metric row written."""
        self.effects.append(Report(failure_id, step, topics, partitions, ""))

    def report_when_told(self, failure_id: str, step: FailoverStep) -> None:
        """Have a metric row written once every reachable broker has been told."""
        self.when_told(Report(failure_id, step, -1, -1, ""))

    def note(self, text: str) -> None:
        """Have an INFO line logged."""
        self.notes.append(Note(text))

    def warn(self, text: str) -> None:
        """Have a WARNING line logged."""
        self.notes.append(Note(text, is_warning=True))
