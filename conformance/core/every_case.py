"""The catalogue: importing this registers every case, in the order of the report."""

from __future__ import annotations

from typing import Final

from conformance.core.cases import (
    cluster,
    consumer_groups,
    fetch,
    frames,
    groups,
    produce,
    quotas,
    rebalances,
    security,
    sweep,
    topics,
    transactions,
)
from conformance.core.catalogue import registered
from conformance.core.script import Case

sweep.register()

MODULES: Final = (
    produce,
    fetch,
    topics,
    groups,
    rebalances,
    consumer_groups,
    transactions,
    quotas,
    security,
    cluster,
    frames,
)
EVERY_CASE: Final[list[Case]] = registered()
