"""Sets the throttles of a run and takes them off again. Which ones it is told.

Rates that somebody had set for one of the brokers are gone afterwards, as with Kafka's tool; what
else stood in lists of throttled replicas stays.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Final

from jbodlab.admin import ClusterAdmin
from jbodlab.rebalance.core.throttles import Throttles, with_entries, without_entries
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterableConfig,
    IncrementalAlterConfigsRequestAlterConfigsResource,
)

_TOPIC: Final = 2
_BROKER: Final = 4
_SET: Final = 0
_DELETE: Final = 1
_FROM_TOPIC: Final = 1
"""The config source of a value that is set for the topic itself."""


def put_on(admin: ClusterAdmin, throttles: Throttles, bytes_per_second: int) -> None:
    """Set all lists and rates.

    Raises:
        KafkaError: the first refusal.
        OSError: a broker does not answer.
    """
    for topic, keys in throttles.lists.items():
        present = _lists(admin, topic, keys)
        changes = {key: with_entries(present[key], entries) for key, entries in keys.items()}
        _alter(admin, _TOPIC, topic, dict(changes))
    for broker, keys in throttles.rates.items():
        _alter(admin, _BROKER, str(broker), dict.fromkeys(keys, str(bytes_per_second)))


def take_off(admin: ClusterAdmin, throttles: Throttles) -> None:
    """Take off what ``put_on`` set and is still there; topics and brokers that are gone are passed.

    Raises:
        KafkaError: the first refusal.
    """
    for topic, keys in throttles.lists.items():
        with contextlib.suppress(OSError, _GoneError):
            present = _lists(admin, topic, keys)
            left = {key: without_entries(present[key], entries) for key, entries in keys.items()}
            _alter(admin, _TOPIC, topic, {key: text or None for key, text in left.items()})
    for broker, keys in throttles.rates.items():
        with contextlib.suppress(OSError, _GoneError):
            _alter(admin, _BROKER, str(broker), dict.fromkeys(keys))


class _GoneError(KafkaError):
    """The topic or the broker does not exist any more."""


def _lists(admin: ClusterAdmin, topic: str, keys: Mapping[str, object]) -> dict[str, str]:
    """Return the topic's own values; "" where there is none."""
    resource = DescribeConfigsResource(
        resource_type=_TOPIC, resource_name=topic, configuration_keys=list(keys)
    )
    (result,) = admin.ask_any(DescribeConfigsRequest(resources=[resource]), 4).results
    _check(result.error_code, result.error_message)
    own = {
        each.name: each.value or "" for each in result.configs if each.config_source == _FROM_TOPIC
    }
    return {key: own.get(key, "") for key in keys}


def _alter(admin: ClusterAdmin, kind: int, name: str, changes: Mapping[str, str | None]) -> None:
    """Set keys, or unset those that are None. A broker is asked itself, as in Kafka."""
    configs = [
        IncrementalAlterConfigsRequestAlterableConfig(
            name=key, config_operation=_DELETE if value is None else _SET, value=value
        )
        for key, value in changes.items()
    ]
    resource = IncrementalAlterConfigsRequestAlterConfigsResource(
        resource_type=kind, resource_name=name, configs=configs
    )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    response = admin.ask(request, 1, int(name)) if kind == _BROKER else admin.ask_any(request, 1)
    for each in response.responses:
        _check(each.error_code, each.error_message)


def _check(error_code: int, message: str | None) -> None:
    if error_code in (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.BROKER_ID_NOT_REGISTERED,
    ):
        raise _GoneError(ErrorCode(error_code), message or "")
    if error_code != ErrorCode.NONE:
        raise KafkaError(ErrorCode(error_code), message or "")
