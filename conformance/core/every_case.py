"""The catalogue: importing this registers every case, in the order of the report."""

from __future__ import annotations

from typing import Final

from conformance.core.cases import (
    bounds,
    cluster,
    consumer_groups,
    features,
    fetch,
    frames,
    group_bounds,
    groups,
    logins,
    markers,
    produce,
    quotas,
    read_bounds,
    rebalances,
    security,
    sweep,
    topic_bounds,
    topics,
    transactions,
)
from conformance.core.catalogue import registered
from conformance.core.script import Case

sweep.register()
bounds.register()

MODULES: Final = (
    produce,
    fetch,
    read_bounds,
    topics,
    topic_bounds,
    groups,
    group_bounds,
    rebalances,
    consumer_groups,
    transactions,
    markers,
    quotas,
    security,
    logins,
    features,
    cluster,
    frames,
)
EVERY_CASE: Final[list[Case]] = registered()
