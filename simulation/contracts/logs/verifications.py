"""What a log promises of transactions that are being verified: no answer counts after its marker.

Source: VerificationStateEntry.java, ProducerStateManager.java; KIP-890, part 1.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from broker.core.verification import ALREADY_OPEN, VerificationGuard, Verifications
from simulation.contracts.contract import Broken, of_method


class _Seen(NamedTuple):
    """What is known of one producer."""

    guard: VerificationGuard
    epoch: int
    lowest_sequence: int
    raises_epochs: bool


def _seen(known: Verifications, producer_id: int) -> _Seen | None:
    one = known._of_producers.get(producer_id)  # noqa: SLF001 -- nothing public has it
    if one is None:
        return None
    return _Seen(one.guard, one.epoch, one.lowest_sequence, one.raises_epochs)


@of_method(Verifications, "begin")
def begin(
    known: Verifications,
    producer_id: int,
    epoch: int,
    sequence: int,
    *,
    raises_epochs: bool,
    now_ms: int,
) -> Generator[None, VerificationGuard, Broken]:
    """All that a producer asks meanwhile has one guard, and the lowest sequence of one epoch.

    That is the newest epoch; what comes late of an older one changes nothing.
    """
    del now_ms
    before = _seen(known, producer_id)
    guard = yield
    wanted = before or _Seen(guard, epoch, sequence, raises_epochs)
    if epoch > wanted.epoch:
        wanted = wanted._replace(epoch=epoch, lowest_sequence=sequence)
    elif epoch == wanted.epoch:
        wanted = wanted._replace(lowest_sequence=min(wanted.lowest_sequence, sequence))
    after = _seen(known, producer_id)
    is_one = guard is wanted.guard and guard is not ALREADY_OPEN
    return None if is_one and after == wanted else f"{after}, not {wanted}, given is {guard}"


@of_method(Verifications, "data_written")
def data_written(known: Verifications, producer_id: int) -> Generator[None, None, Broken]:
    """What was verified is used once: from then on its transaction is open."""
    yield
    left = _seen(known, producer_id)
    return None if left is None else f"{left} of {producer_id} is left"


@of_method(Verifications, "marker_written")
def marker_written(
    known: Verifications, producer_id: int, epoch: int
) -> Generator[None, None, Broken]:
    """A marker takes the guards of its transaction away, and that of the next one stays.

    It is of the next one where each transaction has its own epoch, and it has the marker's.
    """
    before = _seen(known, producer_id)
    is_next = before is not None and before.raises_epochs and before.epoch == epoch
    yield
    after, wanted = _seen(known, producer_id), before if is_next else None
    return None if after == wanted else f"{after} after a marker of epoch {epoch}, not {wanted}"
