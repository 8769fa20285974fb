"""What the plan of a seed is about: features that it switches on or off as a whole.

Plans that leave out kinds of things find what plans with a little of everything do not. How often
a feature is on stands in a table (``feature_percents``), which ``make steer`` writes anew from what
a sweep reached, so that a seed draws the same whatever ran before it.
Source: Groce and others, "Swarm Testing", 2012.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from simulation.core.dice import Dice
from simulation.core.draw_faults import DISK_KINDS, NETWORK_KINDS, NODE_KINDS
from simulation.core.draw_orders import ORDER_KINDS
from simulation.core.feature_percents import PERCENTS

FAULT_FAMILIES: Final[Mapping[str, Sequence[str]]] = {
    "disk_faults": DISK_KINDS,
    "network_faults": NETWORK_KINDS,
    "node_faults": NODE_KINDS,
}
"""A kind of fault is drawn where it is on and its family is."""


class Situation(StrEnum):
    """A feature that is more than a kind of fault or order: a setting, or several things at once.

    Each is planned by at least one seed of twenty, and a sweep counts the seeds that ran into it.
    """

    KEYED_RECORDS = "keyed_records"
    """Records with keys are written to compacted topics, and compaction takes some away."""
    COMPRESSION = "compression"
    """Producers, or topics, compress."""
    OLD_CLIENTS = "old_clients"
    """Clients write or read message sets of formats 0 and 1."""
    SHORT_RETENTION = "short_retention"
    """Segments go while clients write."""
    UNCLEAN_ELECTION = "unclean_election"
    """A replica leads that was outside of the Isr."""
    THROTTLED_REPLICAS = "throttled_replicas"
    """Replicas are listed as throttled while a rate is set."""
    REBALANCE = "rebalance"
    """Many replicas move at once, inside brokers and between them, under throttles."""
    CONTROLLER_DISK = "controller_disk"
    """The disk of the controller's journal has a fault."""
    ORDERS_AT_ONCE = "orders_at_once"
    """Several administrators give orders without waiting for each other."""
    FAILING_MOVE = "failing_move"
    """The log dirs that a replica moves between fail within two seconds, both."""
    CONTROLLER_ENDS = "controller_ends"
    """The controller ends within two seconds of an order, beside a log dir that is offline."""
    JOURNAL_EDITS = "journal_edits"
    """A hand changes the controller's journal."""
    GROUPS = "groups"
    """The disk under a coordinator fails while members of its group commit."""
    TRANSACTIONS = "transactions"
    """The disk under a coordinator fails while a transaction is under way."""
    REQUEST_FAULTS = "request_faults"
    """Brokers refuse, delay, cut off or hold back what clients ask."""
    LATE_FAILURE = "late_failure"
    """A log dir fails, and its broker's news of that reach the controller late."""
    LATE_REQUESTS = "late_requests"
    """What the controller asks of a broker arrives late."""
    INTERRUPTED_MOVE = "interrupted_move"
    """A broker ends, or is ordered something else, while the steps of a move take long."""
    EXAMINED = "examined"
    """Somebody asks what `jbodlab conform` asks while things break."""
    AUTHORIZER = "authorizer"
    """Brokers ask an authorizer whether clients may, and somebody gives and takes rights."""
    LASTING_DELETION = "lasting_deletion"
    """Records are deleted, several times, while a replica that has to follow is slow or ends."""
    CONTENDERS = "contenders"
    """Producers put each other out, while their coordinators come and go."""
    ISR_CHANGES = "isr_changes"
    """What an Isr or a role is to be arrives when epoch, broker or controller are other ones."""
    RETURNING_LOG_DIRS = "returning_log_dirs"
    """A log dir fails, is unread or replaced, and comes back beside logs that were made without."""
    STAMPED_RECORDS = "stamped_records"
    """Brokers write their own time into the records of some topics."""


_SETTING_PERCENT: Final = 20
_PLOT_PERCENT: Final = 15
_COORDINATION_PERCENT: Final = 25
"""A library's clients cost several times what plain ones do."""
_FAMILY_PERCENT: Final = 70
_KIND_PERCENT: Final = 35
USUAL_PERCENTS: Final[Mapping[str, int]] = {
    Situation.KEYED_RECORDS: _SETTING_PERCENT,
    Situation.COMPRESSION: _SETTING_PERCENT,
    Situation.OLD_CLIENTS: _PLOT_PERCENT,
    Situation.SHORT_RETENTION: _SETTING_PERCENT,
    Situation.UNCLEAN_ELECTION: _PLOT_PERCENT,
    Situation.THROTTLED_REPLICAS: _PLOT_PERCENT,
    Situation.REBALANCE: _PLOT_PERCENT,
    Situation.CONTROLLER_DISK: _PLOT_PERCENT,
    Situation.ORDERS_AT_ONCE: 40,
    Situation.FAILING_MOVE: _PLOT_PERCENT,
    Situation.CONTROLLER_ENDS: _PLOT_PERCENT,
    Situation.JOURNAL_EDITS: 8,
    **dict.fromkeys(FAULT_FAMILIES, _FAMILY_PERCENT),
    **{kind: _KIND_PERCENT for kinds in FAULT_FAMILIES.values() for kind in kinds},
    **dict.fromkeys(ORDER_KINDS, _KIND_PERCENT),
    Situation.GROUPS: _COORDINATION_PERCENT,
    Situation.TRANSACTIONS: _COORDINATION_PERCENT,
    Situation.REQUEST_FAULTS: _PLOT_PERCENT,
    Situation.LATE_FAILURE: _PLOT_PERCENT,
    Situation.LATE_REQUESTS: _PLOT_PERCENT,
    Situation.INTERRUPTED_MOVE: _PLOT_PERCENT,
    Situation.EXAMINED: _PLOT_PERCENT,
    Situation.AUTHORIZER: _PLOT_PERCENT,
    Situation.LASTING_DELETION: _PLOT_PERCENT,
    Situation.CONTENDERS: _PLOT_PERCENT,
    Situation.ISR_CHANGES: _PLOT_PERCENT,
    Situation.RETURNING_LOG_DIRS: _PLOT_PERCENT,
    Situation.STAMPED_RECORDS: _PLOT_PERCENT,
}
"""What the table begins with, and goes back to where no sweep asks for more."""
FEATURES: Final = tuple(USUAL_PERCENTS)


@dataclass(frozen=True, slots=True)
class Features:
    """Those that are on in one plan, in the order of ``FEATURES``."""

    names: tuple[str, ...]

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def without(self, names: Iterable[str]) -> Features:
        """Return these with some switched off."""
        off = frozenset(names)
        return Features(tuple(name for name in self.names if name not in off))

    def of(self, names: Sequence[str]) -> list[str]:
        """Return those of ``names`` that are on."""
        return [name for name in names if name in self.names]

    @property
    def fault_kinds(self) -> list[str]:
        """The kinds of faults to draw from; none: no fault."""
        families = self.of(tuple(FAULT_FAMILIES))
        return [kind for family in families for kind in self.of(FAULT_FAMILIES[family])]


def draw_features(dice: Dice, percents: Mapping[str, int] = PERCENTS) -> Features:
    """Switch each feature on or off; another percentage of one changes no other."""
    found = {name: dice.randint(1, 100) <= percents[name] for name in FEATURES}
    return Features(tuple(name for name, is_on in found.items() if is_on))
