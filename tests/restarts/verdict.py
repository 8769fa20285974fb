"""What became of a load's records: lost, written twice, or out of their producer's order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.restarts.script import Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Counts of one load; all but ``acknowledged`` must be 0."""

    acknowledged: int
    failed: int
    """Records that a producer gave up."""
    fatal: int
    """Producers that were ended for good."""
    lost: int
    """Acknowledged and not in the log."""
    twice: int
    out_of_order: int

    @property
    def is_clean(self) -> bool:
        """Whether every record was acknowledged and is there once, in order."""
        return not (self.failed or self.fatal or self.lost or self.twice or self.out_of_order)


def judge(
    ended: Iterable[Told],
    fatal: Sequence[str],
    logs: Mapping[tuple[str, int], Sequence[tuple[int, int]]],
) -> Verdict:
    """Compare what producers told with the logs.

    Args:
        ended: one per producer and partition.
        fatal: what they said when they ended.
        logs: by partition, the producer and number of each record in the order of offsets.
    """
    acknowledged = failed = lost = twice = out_of_order = 0
    for told in ended:
        found = [number for producer, number in logs[told.place] if producer == told.count]
        there = set(found)
        owed = set(range(told.sent)) - set(told.failed)
        acknowledged += len(owed)
        failed += len(told.failed)
        lost += len(owed - there)
        twice += len(found) - len(there)
        out_of_order += sum(after < before for before, after in pairwise(found))
    return Verdict(
        acknowledged=acknowledged,
        failed=failed,
        fatal=len(fatal),
        lost=lost,
        twice=twice,
        out_of_order=out_of_order,
    )
