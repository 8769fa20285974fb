"""Sets the throttles of a run and takes them off again. Which ones it is told.

Rates that somebody had set for one of the brokers are gone afterwards, as with Kafka's tool; what
else stood in lists of throttled replicas stays.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Final

from jbodlab.admin import ClusterAdmin
from jbodlab.rebalance.core.throttles import Throttles, with_entries, without_entries
from protocol.config_messages import alter_request
from protocol.config_types import ConfigSource, ResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)

_OBEYED_S: Final = 5.0
"""How long a broker may take to hear of its own rates."""
_LOOK_S: Final = 0.02


def put_on(admin: ClusterAdmin, throttles: Throttles, bytes_per_second: int) -> None:
    """Set all lists and rates, and wait until the brokers go by their rates.

    They hear of them from the controller, and may hear of what is ordered next before.

    Raises:
        KafkaError: the first refusal.
        OSError: a broker does not answer.
    """
    for topic, keys in throttles.lists.items():
        present = _lists(admin, topic, keys)
        changes = {key: with_entries(present[key], entries) for key, entries in keys.items()}
        _alter(admin, ResourceType.TOPIC, topic, dict(changes))
    for broker, keys in throttles.rates.items():
        _alter(admin, ResourceType.BROKER, str(broker), dict.fromkeys(keys, str(bytes_per_second)))
    for broker, keys in throttles.rates.items():
        _wait_until_obeyed(admin, broker, dict.fromkeys(keys, str(bytes_per_second)))


def _wait_until_obeyed(admin: ClusterAdmin, broker: int, rates: Mapping[str, str]) -> None:
    """A broker that is away or slow to hear is not waited for: it throttles when it hears."""
    deadline = time.monotonic() + _OBEYED_S
    with contextlib.suppress(OSError, _GoneError):
        while _rates(admin, broker, list(rates)) != rates and time.monotonic() < deadline:
            time.sleep(_LOOK_S)


def _rates(admin: ClusterAdmin, broker: int, keys: Sequence[str]) -> dict[str, str]:
    """Return what a broker goes by itself."""
    resource = DescribeConfigsResource(
        resource_type=ResourceType.BROKER, resource_name=str(broker), configuration_keys=list(keys)
    )
    request = DescribeConfigsRequest(resources=[resource])
    (result,) = admin.ask(request, 4, broker).results
    _check(result.error_code, result.error_message)
    return {each.name: each.value or "" for each in result.configs if each.name in keys}


def take_off(admin: ClusterAdmin, throttles: Throttles) -> None:
    """Take off what ``put_on`` set and is still there; topics and brokers that are gone are passed.

    Raises:
        KafkaError: the first refusal.
    """
    for topic, keys in throttles.lists.items():
        with contextlib.suppress(OSError, _GoneError):
            present = _lists(admin, topic, keys)
            left = {key: without_entries(present[key], entries) for key, entries in keys.items()}
            _alter(
                admin, ResourceType.TOPIC, topic, {key: text or None for key, text in left.items()}
            )
    for broker, keys in throttles.rates.items():
        with contextlib.suppress(OSError, _GoneError):
            _alter(admin, ResourceType.BROKER, str(broker), dict.fromkeys(keys))


class _GoneError(KafkaError):
    """The topic or the broker does not exist any more."""


def _lists(admin: ClusterAdmin, topic: str, keys: Mapping[str, object]) -> dict[str, str]:
    """Return the topic's own values; "" where there is none."""
    resource = DescribeConfigsResource(
        resource_type=ResourceType.TOPIC, resource_name=topic, configuration_keys=list(keys)
    )
    (result,) = admin.ask_any(DescribeConfigsRequest(resources=[resource]), 4).results
    _check(result.error_code, result.error_message)
    own = {
        each.name: each.value or ""
        for each in result.configs
        if each.config_source == ConfigSource.TOPIC
    }
    return {key: own.get(key, "") for key in keys}


def _alter(
    admin: ClusterAdmin, kind: ResourceType, name: str, changes: Mapping[str, str | None]
) -> None:
    """Set keys, or unset those that are None. A broker is asked itself, as in Kafka."""
    request = alter_request(kind, {name: changes})
    response = (
        admin.ask(request, 1, int(name))
        if kind == ResourceType.BROKER
        else admin.ask_any(request, 1)
    )
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
