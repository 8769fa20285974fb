"""The attacks by size: each API that broker and controller serve gets its worst requests.

``rows`` is called with a running cluster. What holds of memory is ``memory``'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from benchmarks.hostile.lab import HostileLab, Row, exchange
from benchmarks.hostile.worst_requests import Attack, attacks_of
from broker import dispatcher as _broker_handlers  # imports every handler, which registers it
from broker.handlers import HANDLERS as BROKER_HANDLERS
from controller.handlers import HANDLERS as CONTROLLER_HANDLERS
from controller.handlers import dispatcher as _controller_handlers
from jbodlab.processes.cluster import CONTROLLER
from protocol.apis import Api
from protocol.wire.table import Versions

ENTRIES: Final = 200_000
BROKER: Final = "broker"
_BY_NAME_TOO: Final = {"Fetch": 12, "Produce": 12}
"""The last version that names topics, where the newest gives their ids."""

assert _broker_handlers
assert _controller_handlers


def served() -> list[tuple[str, Api, Versions]]:
    """Return every API with who serves it."""
    return [
        *((BROKER, each.api, each.versions) for _, each in sorted(BROKER_HANDLERS.items())),
        *((CONTROLLER, each.api, each.versions) for _, each in sorted(CONTROLLER_HANDLERS.items())),
    ]


def rows(lab: HostileLab, only: Sequence[str], entries: int) -> Iterator[Row]:
    """Attack with one API after the other, those named ``only`` or all."""
    for node, api, versions in served():
        if only and api.name not in only:
            continue
        for attack in _attacks(api, versions, entries):
            yield _strike(lab, node, attack)


def _attacks(api: Api, versions: Versions, entries: int) -> Iterator[Attack]:
    tried = [_BY_NAME_TOO[api.name]] if api.name in _BY_NAME_TOO else []
    for version in dict.fromkeys([*tried, versions.high]):
        yield from attacks_of(api, version, entries)


def _strike(lab: HostileLab, node: str, attack: Attack) -> Row:
    strike: Callable[[], str] = partial(exchange, lab.port(node), attack.frame)
    name = f"{attack.api.name} v{attack.version}"
    return lab.measure(node, name, attack.name, len(attack.frame), strike)
