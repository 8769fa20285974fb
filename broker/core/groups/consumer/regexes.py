"""Regular expressions of a group: resolved within a heartbeat, whenever that is due.

What they match, and when they are due, is said elsewhere (`topic_patterns`).
Source: GroupMetadataManager.maybeUpdateRegularExpressions, handleRegularExpressionsResult.
"""

from __future__ import annotations

from typing import Final

from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_rebalances import ConsumerRebalances
from broker.core.groups.consumer.group_log import regex_change
from broker.core.groups.decision import Decision
from broker.core.groups.topic_patterns import is_resolution_due, resolved

REFRESH_INTERVAL_MS: Final = 600_000
"""Kafka's default of ``group.consumer.regex.refresh.interval.ms``."""
_HAS_NEW, _HAS_NONE = 1 << 63, -1


def resolve_if_due(
    group: ConsumerGroup, rebalances: ConsumerRebalances, decision: Decision
) -> bool:
    """Look for topics where that is due, and tell whether other ones were found."""
    names = rebalances.topics.names()
    # Versions of metadata are each broker's own, so names are compared, not versions.
    has_new = names is not group.seen_names and names != group.seen_names
    if not is_resolution_due(
        group.regex_subscribers,
        group.regexes,
        new_topics_version=_HAS_NEW if has_new else _HAS_NONE,
        refresh_interval_ms=REFRESH_INTERVAL_MS,
        now_ms=decision.wall_ms,
    ):
        return False
    group.seen_names = names
    found = resolved(
        list(group.regex_subscribers),
        names,
        version=rebalances.topics.generation,
        now_ms=decision.wall_ms,
    )
    changed = False
    for regex, each in found.items():
        old = group.regexes.get(regex)
        changed |= each.topics != (frozenset() if old is None else old.topics)
        rebalances.write([regex_change(group.group_id, regex, each)], decision)
    return changed
