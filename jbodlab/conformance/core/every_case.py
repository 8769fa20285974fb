"""The catalogue: importing this registers every case, in the order of the report."""

from __future__ import annotations

from typing import Final

from jbodlab.conformance.core.cases import (
    cluster,
    fetch,
    frames,
    groups,
    produce,
    sweep,
    topics,
    transactions,
)
from jbodlab.conformance.core.catalogue import registered
from jbodlab.conformance.core.script import Case

sweep.register()

MODULES: Final = (produce, fetch, topics, groups, transactions, cluster, frames)
EVERY_CASE: Final[list[Case]] = registered()
