"""Sets the throttles of a run and takes them off again. Which ones it is told.

Rates that somebody had set for one of the brokers are gone afterwards, as with Kafka's tool; what
else stood in lists of throttled replicas stays.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any, Final

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.rebalance.core.throttles import Throttles, with_entries, without_entries
from protocol.admin.configs import (
    alter_configs_request,
    alter_outcomes,
    config_views,
    describe_configs_request,
)
from protocol.configs.types import ConfigSource, ResourceType
from protocol.errors import ErrorCode, KafkaError

_OBEYED_S: Final = 5.0
"""How long a broker may take to hear of its own rates."""
_LOOK_S: Final = 0.02
_OWN: Final = (ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigSource.DYNAMIC_BROKER_CONFIG)


def put_on(admin: ClusterAdmin, throttles: Throttles, bytes_per_second: int) -> None:
    """Set all lists and rates, and wait until the brokers go by their rates.

    They hear of them from the controller, and may hear of what is ordered next before.

    Raises:
        KafkaError: the first refusal.
        OSError: a broker does not answer.
    """
    for topic, keys in throttles.lists.items():
        present = _present(admin, ResourceType.TOPIC, topic, keys)
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
        while (
            _present(admin, ResourceType.BROKER, str(broker), rates) != rates
            and time.monotonic() < deadline
        ):
            time.sleep(_LOOK_S)


def take_off(admin: ClusterAdmin, throttles: Throttles) -> None:
    """Take off what ``put_on`` set and is still there; topics and brokers that are gone are passed.

    Raises:
        KafkaError: the first refusal.
    """
    for topic, keys in throttles.lists.items():
        with contextlib.suppress(OSError, _GoneError):
            present = _present(admin, ResourceType.TOPIC, topic, keys)
            left = {key: without_entries(present[key], entries) for key, entries in keys.items()}
            _alter(
                admin, ResourceType.TOPIC, topic, {key: text or None for key, text in left.items()}
            )
    for broker, keys in throttles.rates.items():
        with contextlib.suppress(OSError, _GoneError):
            _alter(admin, ResourceType.BROKER, str(broker), dict.fromkeys(keys))


class _GoneError(KafkaError):
    """The topic or the broker does not exist any more."""


def _present(
    admin: ClusterAdmin, kind: ResourceType, name: str, keys: Mapping[str, object]
) -> dict[str, str]:
    """Return a topic's own values, or those that a broker itself goes by; "" where none is set."""
    request = describe_configs_request(kind, [name], keys=list(keys))
    response = _ask(admin, kind, name, request, 4)
    (result,) = response.results
    _check(result.error_code, result.error_message)
    own = {each.name: each.value or "" for each in config_views(result) if each.source in _OWN}
    return {key: own.get(key, "") for key in keys}


def _alter(
    admin: ClusterAdmin, kind: ResourceType, name: str, changes: Mapping[str, str | None]
) -> None:
    """Set keys, or unset those that are None."""
    response = _ask(admin, kind, name, alter_configs_request(kind, {name: changes}), 1)
    for outcome in alter_outcomes(response):
        _check(*outcome)


def _ask(admin: ClusterAdmin, kind: ResourceType, name: str, message: Any, version: int) -> Any:
    """A broker is asked itself for its own configs, as in Kafka."""
    if kind is ResourceType.BROKER:
        return admin.ask(message, version, int(name))
    return admin.ask_any(message, version)


def _check(error_code: int, message: str | None) -> None:
    if error_code in (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.BROKER_ID_NOT_REGISTERED,
    ):
        raise _GoneError(ErrorCode(error_code), message or "")
    if error_code != ErrorCode.NONE:
        raise KafkaError(ErrorCode(error_code), message or "")
