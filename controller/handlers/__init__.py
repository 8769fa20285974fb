"""The registry of what the controller serves: ``from_brokers`` and ``from_clients`` fill it.

The rules are in ``controller.core``; a handler here is the way to them and the answer when they
fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from protocol.apis import BY_NAME, Api
from protocol.errors import KafkaError
from protocol.wire.table import Versions

RequestT = TypeVar("RequestT")

Refuse: TypeAlias = Callable[[RequestT, int, KafkaError], Any]
"""(request, version, error) -> the response that carries the error in every place it has."""


class Handler(NamedTuple):
    """One API that is served."""

    api: Api
    versions: Versions
    refuse: Refuse[Any]


HANDLERS: Final[dict[int, Handler]] = {}
"""API key -> handler."""


def serve(name: str, versions: str, refuse: Refuse[RequestT]) -> None:
    """Register an API by Kafka's name; the machine has the rule for its request class."""
    api = BY_NAME[name]
    assert api.key not in HANDLERS
    served = Versions.parse(versions)
    assert served.low in api.versions
    assert served.high in api.versions
    HANDLERS[api.key] = Handler(api, served, refuse)
