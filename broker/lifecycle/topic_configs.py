"""What topics are configured to, fetched from the controller: control requests do not say it.

It applies nothing: the engine reads ``config_of`` when it hosts a partition and again when told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.fetched_configs import DESCRIBE_CONFIGS_VERSION, RETRY_MS
from protocol.admin.configs import describe_configs_request, set_for
from protocol.configs.parsing import BrokerConfig, ConfigSource, TopicConfig, topic_config
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import ZERO_UUID
from protocol.messages.configs import (
    DescribeConfigsResponse,
    DescribeConfigsResult,
)

ENSURE_TIMEOUT_MS: Final = 2_000
"""How long a LeaderAndIsr waits for configs before its logs are made with the broker's defaults."""

_ALL_REPLICAS: Final = 2**31 - 1
"""As ``min.insync.replicas``: Kafka takes no more than a partition has replicas."""

logger = logging.getLogger(__name__)


class TopicConfigs:
    """The cache. ``run`` it once; it fetches what ``changed`` and ``wanted`` name."""

    def __init__(
        self,
        link: ControllerLink,
        *,
        broker_config: BrokerConfig,
        on_changed: Callable[[list[str]], None],
    ) -> None:
        """Start empty.

        Args:
            link: the connection to the controller.
            broker_config: gives the defaults of what a topic does not set.
            on_changed: told the topics whose effective config is another one now.
        """
        self._link = link
        self._broker_config = broker_config
        self._on_changed = on_changed
        self._unknown = _of_unknown(broker_config)
        self._ids: dict[str, bytes] = {}
        """Of the topics that this broker was told of."""
        self._overrides: dict[str, Mapping[str, str]] = {}
        self._configs: dict[str, TopicConfig] = {}
        self._wanted: dict[str, None] = {}
        self._wake = asyncio.Event()

    def rebase(self, broker_config: BrokerConfig) -> None:
        """Take new defaults; the engine is to read ``config_of`` again for every topic."""
        self._broker_config = broker_config
        self._unknown = _of_unknown(broker_config)
        self._configs = {
            topic: topic_config(overrides, broker_config)
            for topic, overrides in self._overrides.items()
        }

    def config_of(self, topic: str) -> TopicConfig:
        """Return the effective config; while it is unknown the broker's defaults, but all is kept.

        Records that a topic wants to keep must not go because the controller was away, nor may
        fewer copies do for acks=all than it wants: all of its replicas have to be in sync.
        """
        return self._configs.get(topic, self._unknown)

    def identify(self, topic_ids: Mapping[str, bytes]) -> None:
        """Hear the ids of topics; what is known of older ones is forgotten, and asked for anew.

        A broker that was away while a topic was deleted and made anew hears only of the new one.

        Args:
            topic_ids: by name; all zero where the sender does not say.
        """
        new = {name: topic_ids[name] for name in topic_ids if self._is_new(name, topic_ids[name])}
        again = [name for name in new if name in self._overrides or name in self._wanted]
        self.forget(new)
        self._ids.update(new)
        self.changed(again)

    async def ensure(self, topics: Iterable[str]) -> None:
        """Fetch those that are not known yet; after ``ENSURE_TIMEOUT_MS`` leave them to ``run``."""
        missing = [topic for topic in topics if topic not in self._overrides]
        if missing:
            await self._fetch_or_later(missing, "using defaults")

    async def refresh(self, topics: Iterable[str]) -> None:
        """Fetch those that are known here again; after a while leave them to ``run``."""
        known = [topic for topic in topics if topic in self._overrides]
        if known:
            await self._fetch_or_later(known, "keeping the last")

    def _is_new(self, name: str, topic_id: bytes) -> bool:
        return topic_id not in (ZERO_UUID, self._ids.get(name))

    async def _fetch_or_later(self, topics: list[str], meanwhile: str) -> None:
        try:
            await self._fetch(topics, ENSURE_TIMEOUT_MS)
        except (ConnectionError, TimeoutError) as exc:
            logger.warning(
                "configs of %d topics not known yet, %s: %s", len(topics), meanwhile, exc
            )
            self.changed(topics)

    async def overrides(self, topic: str) -> Mapping[str, str]:
        """Return the topic's own settings by Kafka's names, asking the controller when unknown.

        Raises:
            KafkaError: REQUEST_TIMED_OUT, or the code the controller gives for this topic.
        """
        if topic not in self._overrides:
            try:
                failed = await self._fetch([topic], ENSURE_TIMEOUT_MS)
            except (ConnectionError, TimeoutError) as exc:
                raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, str(exc)) from exc
            if topic in failed:
                raise failed[topic]
        return self._overrides[topic]

    def wanted(self, topics: Iterable[str]) -> None:
        """Fetch in the background those that are not known yet."""
        self.changed(topic for topic in topics if topic not in self._overrides)

    def changed(self, topics: Iterable[str]) -> None:
        """Fetch these in the background, known or not."""
        self._wanted.update(dict.fromkeys(topics))
        if self._wanted:
            self._wake.set()

    def changed_all(self) -> None:
        """Fetch all that are known in the background."""
        self.changed(self._overrides)

    def forget(self, topics: Iterable[str]) -> None:
        """Drop what is known of deleted topics."""
        for topic in topics:
            self._ids.pop(topic, None)
            self._overrides.pop(topic, None)
            self._configs.pop(topic, None)
            self._wanted.pop(topic, None)

    async def run(self) -> None:
        """Fetch what is wanted until cancelled; a controller that is away is asked again."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            topics = list(self._wanted)
            self._wanted.clear()
            if not topics:
                continue
            try:
                await self._fetch(topics, ENSURE_TIMEOUT_MS)
            except (ConnectionError, TimeoutError):
                await asyncio.sleep(RETRY_MS / 1000)
                self.changed(topics)

    async def _fetch(self, topics: list[str], timeout_ms: int) -> dict[str, KafkaError]:
        """Store the answers and return the errors of those topics that have one.

        An answer that was asked for before its topic was made anew, or gone, is of the older one.
        """
        ids = {topic: self._ids.get(topic) for topic in topics}
        request = describe_configs_request(ResourceType.TOPIC, topics)
        response: DescribeConfigsResponse = await self._link.request(
            request, DESCRIBE_CONFIGS_VERSION, timeout_ms=timeout_ms
        )
        failed: dict[str, KafkaError] = {}
        for result in response.results:
            if result.error_code != ErrorCode.NONE:
                failed[result.resource_name] = KafkaError(
                    ErrorCode(result.error_code), result.error_message or ""
                )
        late = [topic for topic in topics if self._ids.get(topic) != ids[topic]]
        self.changed(topic for topic in late if topic in self._ids)
        results = [each for each in response.results if each.resource_name not in late]
        changed = [each.resource_name for each in results if self._store(each)]
        if changed:
            self._on_changed(changed)
        return failed

    def _store(self, result: DescribeConfigsResult) -> bool:
        """Keep one topic's answer; tell whether its effective config changed."""
        if result.error_code != ErrorCode.NONE:
            return False
        topic = result.resource_name
        overrides = set_for(result, ConfigSource.DYNAMIC_TOPIC_CONFIG)
        before = self.config_of(topic)
        try:
            config = topic_config(overrides, self._broker_config)
        except KafkaError as exc:
            logger.error("configs of topic %s are unusable, keeping the last: %s", topic, exc)  # noqa: TRY400 - a peer's value, not our defect
            return False
        self._overrides[topic] = overrides
        self._configs[topic] = config
        return config != before


def _of_unknown(broker_config: BrokerConfig) -> TopicConfig:
    defaults = topic_config({}, broker_config)
    return replace(
        defaults,
        cleanup_policy=("delete",),
        retention_ms=-1,
        retention_bytes=-1,
        min_insync_replicas=_ALL_REPLICAS,
    )
