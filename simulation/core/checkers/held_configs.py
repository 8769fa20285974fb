"""Which configuration a topic had, or may have had, at a time. Judges nothing.

Values come from where Kafka takes them: the topic's own, this broker's, all brokers', the cluster
file, Kafka's defaults. Whoever is told late goes on with older ones.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from protocol.configs.parsing import broker_config, topic_config
from protocol.configs.topic import TopicConfig
from protocol.configs.types import ALL_BROKERS
from simulation.core.checkers.evidence import Evidence

_Texts: TypeAlias = Mapping[str, str]
_Timeline: TypeAlias = Sequence[tuple[int, _Texts]]
_NOTHING: Final[_Timeline] = ((-1, {}),)


class HeldConfigs:
    """The configurations of one run."""

    def __init__(self, evidence: Evidence) -> None:
        self._file = evidence.configs
        self._files = evidence.broker_configs
        self._topics: dict[str, list[tuple[int, _Texts]]] = {}
        self._brokers: dict[str, list[tuple[int, _Texts]]] = {}
        self._known: dict[tuple[object, ...], TopicConfig] = {}
        for topic in evidence.samples.topics:
            self._topics.setdefault(topic.topic, []).append((topic.at_us, topic.configs))
        for broker in evidence.samples.broker_configs:
            held = self._brokers.setdefault(broker.broker, list(_NOTHING))
            held.append((broker.at_us, broker.configs))

    def of(
        self, topic: str, begin_us: int, end_us: int, broker: int | None = None
    ) -> list[TopicConfig]:
        """Return every configuration that ``topic`` had at any time from begin to end.

        Args:
            topic: one that was never seen has what all topics have.
            begin_us: what held before and at this time counts.
            end_us: included.
            broker: as this broker has it; None: as the controller has it.
        """
        shared = _held(self._brokers.get(ALL_BROKERS, _NOTHING), begin_us, end_us)
        name = None if broker is None else str(broker)
        own = _held(self._brokers.get(name or "no broker", _NOTHING), begin_us, end_us)
        file = {**self._file, **({} if broker is None else self._files.get(broker, {}))}
        topics = _held(self._topics.get(topic, _NOTHING), begin_us, end_us)
        return [
            self._config(texts, {**file, **for_all, **for_one})
            for texts in topics
            for for_all in shared
            for for_one in own
        ]

    def _config(self, texts: _Texts, defaults: _Texts) -> TopicConfig:
        key = (tuple(sorted(texts.items())), tuple(sorted(defaults.items())))
        if key not in self._known:
            self._known[key] = topic_config(texts, broker_config(defaults))
        return self._known[key]


def _held(timeline: _Timeline, begin_us: int, end_us: int) -> list[_Texts]:
    """Return what held at any time from begin to end; the first one held before, too."""
    times_us = [at_us for at_us, _ in timeline]
    first = max(0, bisect_right(times_us, begin_us) - 1)
    return [texts for _, texts in timeline[first : max(bisect_right(times_us, end_us), first + 1)]]
