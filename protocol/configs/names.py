"""Names of configurations by which rules, tools and checkers change or look at them."""

from __future__ import annotations

from typing import Final

CORDONED_LOG_DIRS: Final = "cordoned.log.dirs"
UNCLEAN_ELECTION: Final = "unclean.leader.election.enable"
MOVE_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
"""Of moves between the log dirs of a broker."""
LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
THROTTLED_RATES: Final = (LEADER_RATE, FOLLOWER_RATE)
"""Of a broker, for the replicas that the topics' lists name."""
LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"
THROTTLED_REPLICAS: Final = (LEADER_REPLICAS, FOLLOWER_REPLICAS)
"""Of a topic: ``partition:broker,...``, or ``*``."""
