"""Which keys of listeners a running broker takes; texts of errors are those of 3.9.

It looks at no store: ``protocol.security.reconfiguration`` does. Source: DynamicBrokerConfig.scala
validateConfigs, DynamicListenerConfig and ListenerConnectionQuota, validateReconfiguration each.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from protocol.configs.listener_keys import LIMITS, STORES, column_of, key_of_all, key_of_listener
from protocol.configs.types import set_texts
from protocol.errors import ErrorCode, KafkaError

_BY_LISTENER_ALONE: Final = (
    "These security configs can be dynamically updated only per-listener using the listener prefix"
)


def refuse_of_listeners(names: Collection[str]) -> None:
    """Refuse stores of all listeners at once, and what stays as it is at a listener that is there.

    Raises:
        KafkaError: INVALID_REQUEST.
    """
    of_all = sorted(name for name in names if name in STORES)
    if of_all:
        raise _invalid(f"{_BY_LISTENER_ALONE}: HashSet({', '.join(of_all)})")
    for name in names:
        found = key_of_listener(name)
        if found is not None and found[1] not in (*STORES, *LIMITS):
            raise _invalid(
                "Configs cannot be updated dynamically for existing listener "
                f"ListenerName({found[0]}), restart broker or create a new listener for update"
            )


def check_limits(texts: Mapping[str, str]) -> None:
    """Refuse to let nobody in; ``texts`` are valid alone.

    Raises:
        KafkaError: INVALID_REQUEST.
    """
    for name, text in texts.items():
        key = key_of_all(name)
        if key in LIMITS and int(text) == 0:
            raise _invalid(f"Invalid {key} 0")


def passwords_in(changes: Mapping[str, str | None]) -> list[str]:
    """Return which of the keys that would be set are secrets."""
    columns = {name: column_of(name) for name in set_texts(changes)}
    return [name for name, column in columns.items() if column is not None and column.sensitive]


def refuse_passwords_in_zookeeper(changes: Mapping[str, str | None]) -> None:
    """Refuse what would lie there in plain text.

    Raises:
        KafkaError: INVALID_REQUEST.
    """
    for name in passwords_in(changes):
        words = "is a password, which ZooKeeper would keep in plain text: "
        raise _invalid(f"{name} {words}set it in the cluster file")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
