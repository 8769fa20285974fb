"""The catalogue: importing this registers every case, in the order of the reports."""

from __future__ import annotations

from typing import Final

from conformance.core.cases import (
    access,
    access_topics,
    acls,
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
    passwords,
    produce,
    quotas,
    read_bounds,
    rebalances,
    rights,
    security,
    sweep,
    tokens,
    topic_bounds,
    topics,
    transactions,
)
from conformance.core.catalogue import SECURED, registered
from conformance.core.script import Case

sweep.register()
bounds.register()
rights.register()

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
    access_topics,
    access,
    acls,
    tokens,
    passwords,
)
EVERY_CASE: Final[list[Case]] = registered()
"""Of clusters that let everybody do everything."""
SECURED_CASES: Final[list[Case]] = registered(SECURED)
"""Of those with SASL, an authorizer and delegation tokens."""
