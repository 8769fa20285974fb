"""What this broker is configured to: its file, overlaid with what the controller keeps for it.

It applies nothing: whoever is told by ``on_changed`` does.

Source: DynamicBrokerConfig.scala; per-broker before cluster-wide before the file.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping

from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.fetched_configs import (
    DESCRIBE_CONFIGS_VERSION,
    REFRESH_TIMEOUT_MS,
    FetchedConfigs,
)
from protocol.admin.configs import describe_configs_request
from protocol.cluster_file.spec import BrokerSpec
from protocol.configs.broker import BROKER_KEYS, KEYS_OF_THE_SPEC, BrokerConfig
from protocol.configs.parsing import BrokerOverrides, broker_config
from protocol.configs.types import (
    ALL_BROKERS,
    ALL_LOG_DIRS,
    ResourceType,
    field_name,
    set_texts,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    DescribeConfigsResponse,
    DescribeConfigsResult,
)

logger = logging.getLogger(__name__)


def config_overrides(own: BrokerSpec) -> dict[str, str]:
    """Return what the cluster file sets for a broker, its own words turned into Kafka's keys."""
    listeners = own.listeners
    own_words = {
        "broker.id": str(own.id),
        "broker.rack": own.rack,
        "listeners": ",".join(f"{each.name}://{each.bind_host}:{each.port}" for each in listeners),
        "advertised.listeners": ",".join(
            f"{each.name}://{each.advertised_host}:{each.advertised_port}" for each in listeners
        ),
        "log.dirs": ",".join(one.path for one in own.log_dirs),
    }
    known = set_texts(own_words)
    assert all(name in BROKER_KEYS for name in known)
    assert not any(name in own.configs for name in KEYS_OF_THE_SPEC), "checked by the spec"
    return {**known, **own.configs}


class BrokerConfigs(FetchedConfigs):
    """The configuration in force. ``run`` it once; ``refresh`` it when told that it changed."""

    def __init__(
        self,
        link: ControllerLink,
        *,
        broker_id: int,
        static: Mapping[str, str],
        on_changed: Callable[[BrokerConfig], None],
    ) -> None:
        """Start with the file alone.

        Args:
            link: the connection to the controller.
            broker_id: of this broker.
            static: what the cluster file sets, by Kafka's names.
            on_changed: told the effective configuration when it is another one.

        Raises:
            KafkaError: INVALID_CONFIG, the file sets what cannot be.
        """
        super().__init__("dynamic configs of this broker")
        self._link = link
        self._broker_id = broker_id
        self._on_changed = on_changed
        self.followers: list[Callable[[BrokerOverrides], None]] = []
        """Are told what is set whenever that changes, keys of single listeners included."""
        self.overrides = BrokerOverrides(static=static, dynamic={}, dynamic_default={})
        """What is set, by where it was set."""
        self.config = broker_config(static)
        """The values in force."""

    async def _fetch(self) -> None:
        names = (str(self._broker_id), ALL_BROKERS)
        request = describe_configs_request(ResourceType.BROKER, names)
        response: DescribeConfigsResponse = await self._link.request(
            request, DESCRIBE_CONFIGS_VERSION, timeout_ms=REFRESH_TIMEOUT_MS
        )
        texts: dict[str, Mapping[str, str]] = {}
        for result in response.results:
            if result.error_code != ErrorCode.NONE:
                code = ErrorCode(result.error_code).name
                logger.error("the controller does not tell this broker's configs: %s", code)
                return
            texts[result.resource_name] = _texts(result)
        self._take(dynamic=texts[names[0]], dynamic_default=texts[ALL_BROKERS])

    def _take(self, *, dynamic: Mapping[str, str], dynamic_default: Mapping[str, str]) -> None:
        before = self.overrides
        if dynamic == before.dynamic and dynamic_default == before.dynamic_default:
            return
        after = dataclasses.replace(before, dynamic=dynamic, dynamic_default=dynamic_default)
        try:
            config = self._effective(after)
        except KafkaError as exc:
            logger.error("dynamic configs are unusable, keeping the last: %s", exc)  # noqa: TRY400 - a peer's value, not our defect
            return
        known, self.overrides, self.config = self.config, after, config
        for follow in self.followers:
            follow(after)
        if config != known:
            _log_changes(known, config)
            self._on_changed(config)

    def _effective(self, overrides: BrokerOverrides) -> BrokerConfig:
        config = broker_config(
            {**overrides.static, **overrides.dynamic_default, **overrides.dynamic}
        )
        known = (ALL_LOG_DIRS, *(config.log_dirs or config.log_dir).split(","))
        gone = [path for path in config.cordoned_log_dirs if path not in known]
        if not gone:
            return config
        logger.warning("cordoned.log.dirs names what is no log dir any more: %s", ", ".join(gone))
        kept = tuple(path for path in config.cordoned_log_dirs if path in known)
        return dataclasses.replace(config, cordoned_log_dirs=kept)


def _texts(result: DescribeConfigsResult) -> dict[str, str]:
    return {entry.name: entry.value for entry in result.configs if entry.value is not None}


def _log_changes(before: BrokerConfig, after: BrokerConfig) -> None:
    for name, column in BROKER_KEYS.items():
        field = field_name(name)
        old, new = getattr(before, field), getattr(after, field)
        if old != new and column.sensitive:
            logger.info("config %s is another one", name)
        elif old != new:
            logger.info("config %s %s -> %s", name, old, new)
