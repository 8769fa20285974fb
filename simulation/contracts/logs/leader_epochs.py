"""What the leader epochs of a log promise, and what they say about logs that differ.

Source: LeaderEpochFileCache.scala; KIP-101, KIP-279, KIP-595.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from broker.core import leader_epochs as rules
from broker.core.leader_epochs import UNDEFINED_END, EpochEnd, EpochEntry, LeaderEpochs, Truncation
from broker.core.log_positions import EpochsToWrite, LogPositions
from protocol.ids import NO_EPOCH, NO_OFFSET
from protocol.records.batch import BatchHeader
from simulation.contracts.contract import Broken, of_function, of_method


def _end_of(entries: Sequence[EpochEntry], epoch: int, log_end_offset: int) -> int:
    """Return where the first record of a later epoch lies, or the log ends."""
    return min((start for known, start in entries if known > epoch), default=log_end_offset)


def _is_known(entries: Sequence[EpochEntry], epoch: int) -> bool:
    """Tell whether a log has the epoch, or begins after it."""
    return any(known == epoch for known, _ in entries) or epoch < entries[0].epoch


@of_method(LeaderEpochs, "assign")
def assign(epochs: LeaderEpochs, epoch: int, start_offset: int) -> Generator[None, bool, Broken]:
    """An epoch that begins takes what contradicts it: later epochs, and what begins behind it."""
    before = epochs.entries
    changed = yield
    after = epochs.entries
    if before and before[-1].epoch == epoch and before[-1].start_offset <= start_offset:
        wanted = before
    else:
        kept = [one for one in before if one.epoch < epoch and one.start_offset < start_offset]
        wanted = [*kept, EpochEntry(epoch, start_offset)]
    if after != wanted or changed is not (after != before):
        return f"{before} and {epoch} from {start_offset} on become {after}, changed: {changed}"
    return None


@of_method(LeaderEpochs, "end_offset_for")
def end_offset_for(
    epochs: LeaderEpochs, epoch: int, log_end_offset: int
) -> Generator[None, EpochEnd, Broken]:
    """An epoch ends where the next one that has records begins; of one to come nothing is known."""
    answer = yield
    entries = epochs.entries
    wanted = UNDEFINED_END
    if entries and epoch != NO_EPOCH and epoch <= entries[-1].epoch:
        largest = max((known for known, _ in entries if known <= epoch), default=epoch)
        wanted = EpochEnd(largest, _end_of(entries, epoch, log_end_offset))
    if answer != wanted:
        return f"{entries} up to {log_end_offset}: {answer} for epoch {epoch}, not {wanted}"
    return None


@of_method(LeaderEpochs, "epoch_at")
def epoch_at(epochs: LeaderEpochs, offset: int) -> Generator[None, int, Broken]:
    """A record is of the newest epoch that begins before it or with it."""
    epoch = yield
    wanted = max((known for known, start in epochs.entries if start <= offset), default=NO_EPOCH)
    return None if epoch == wanted else f"{epochs.entries}: {offset} is of {epoch}, not {wanted}"


@of_method(LeaderEpochs, "truncate_from_end")
def truncate_from_end(epochs: LeaderEpochs, offset: int) -> Generator[None, bool, Broken]:
    """A cut leaves the epochs that begin before it."""
    before = epochs.entries
    changed = yield
    after = epochs.entries
    wanted = [entry for entry in before if entry.start_offset < offset]
    if after != wanted or changed is not (after != before):
        return f"{before} cut at {offset} are {after}, changed: {changed}"
    return None


@of_method(LeaderEpochs, "truncate_from_start")
def truncate_from_start(epochs: LeaderEpochs, offset: int) -> Generator[None, bool, Broken]:
    """A log that begins later begins in the epoch that held that record."""
    before = epochs.entries
    changed = yield
    after = epochs.entries
    gone = [entry for entry in before if entry.start_offset <= offset]
    wanted = before[len(gone) :]
    if gone:
        wanted.insert(0, EpochEntry(gone[-1].epoch, offset))
    if after != wanted or changed is not (after != before):
        return f"{before} from {offset} on are {after}, changed: {changed}"
    return None


@of_method(LeaderEpochs, "clear")
def clear(epochs: LeaderEpochs) -> Generator[None, bool, Broken]:
    """An empty log has no epochs."""
    before = epochs.entries
    changed = yield
    if epochs.entries or changed is not bool(before):
        return f"{epochs.entries} is left of {before}, changed: {changed}"
    return None


@of_function(rules.decide_truncation)
def decide_truncation(
    epochs: LeaderEpochs, log_end_offset: int, *, fallback_offset: int, answer: EpochEnd
) -> Generator[None, Truncation, Broken]:
    """A log keeps of an epoch no more than both logs have, and nothing of later ones.

    While the epoch that the other one answers for is not here, the next one before it is asked.
    Without any such epoch the end that was answered counts, and without one the high watermark.
    """
    cut = yield
    return _cut_wrongly(epochs, log_end_offset, fallback_offset, answer, cut)


def _cut_wrongly(
    epochs: LeaderEpochs, log_end_offset: int, fallback_offset: int, answer: EpochEnd, cut: object
) -> Broken:
    entries = epochs.entries
    own = bool(entries) and NO_EPOCH < answer.epoch <= entries[-1].epoch
    ends, finished = [log_end_offset], True
    if answer.end_offset == NO_OFFSET:
        ends.append(fallback_offset)
    elif not own:
        ends.append(answer.end_offset)
    else:
        finished = _is_known(entries, answer.epoch)
        ends.append(_end_of(entries, answer.epoch, log_end_offset))
        ends.extend([answer.end_offset] if finished else [])
    if cut != Truncation(min(ends), finished):
        return (
            f"{cut} of a log with {entries} up to {log_end_offset}, not to {min(ends)},"
            f" finished: {finished}; the other one answers {answer}"
        )
    return None


@of_function(rules.diverging_end)
def diverging_end(
    epochs: LeaderEpochs, log_end_offset: int, *, last_fetched_epoch: int, fetch_offset: int
) -> Generator[None, EpochEnd | None, Broken]:
    """A follower is told to cut unless its epoch is here and goes as far as it has it."""
    told = yield
    return _told_wrongly(epochs, log_end_offset, last_fetched_epoch, fetch_offset, told)


def _told_wrongly(
    epochs: LeaderEpochs,
    log_end_offset: int,
    last_fetched_epoch: int,
    fetch_offset: int,
    told: EpochEnd | None,
) -> Broken:
    if last_fetched_epoch < 0:
        return None if told is None else f"{told} for a follower that names no epoch"
    entries = epochs.entries
    wanted: EpochEnd | None = UNDEFINED_END
    if entries and last_fetched_epoch <= entries[-1].epoch:
        end = _end_of(entries, last_fetched_epoch, log_end_offset)
        largest = max((one for one, _ in entries if one <= last_fetched_epoch), default=None)
        wanted = EpochEnd(last_fetched_epoch if largest is None else largest, end)
        if _is_known(entries, last_fetched_epoch) and fetch_offset <= end:
            wanted = None
    if told != wanted:
        return (
            f"{told}, not {wanted}, for epoch {last_fetched_epoch} up to {fetch_offset};"
            f" here are {entries} up to {log_end_offset}"
        )
    return None


@of_method(LogPositions, "take_over")
def take_over(
    log: LogPositions,
    *,
    log_start_offset: int,
    log_end_offset: int,
    high_watermark: int,
    epochs: LeaderEpochs,
) -> Generator[None, None, Broken]:
    """A log that was found goes on where it ends, with a high watermark that lies in it."""
    yield
    committed = sorted((log_start_offset, high_watermark, log_end_offset))[1]
    wanted = (log_start_offset, committed, log_end_offset, log_end_offset)
    held = (log.log_start_offset, log.high_watermark, log.log_end_offset, log.next_offset)
    if held != wanted or log.epochs is not epochs:
        return f"start, committed, end, next are {held}, not {wanted}"
    return None


@of_method(LogPositions, "note_epochs")
def note_epochs(
    log: LogPositions, batches: Sequence[BatchHeader], begin_offset: int
) -> Generator[None, EpochsToWrite, Broken]:
    """Each record that is appended as another log has it is of the same epoch here.

    And so is what compaction took before it.
    """
    before = log.epochs.entries
    to_write = yield
    after = log.epochs.entries
    if to_write != (None if after == before else after):
        return f"{before} become {after}, {to_write} is written"
    for batch in (*batches[:1], *batches[-1:]):
        epoch, first = batch.partition_leader_epoch, batch.base_offset
        begun = [known for known, start in after if start <= first]
        if epoch > NO_EPOCH and begun[-1:] != [epoch]:
            return f"the batch at {first} is of epoch {epoch}, known are {after}"
    begun = [start for _, start in after if begin_offset < start <= batches[0].base_offset]
    return f"{begun} lie in the gap before {batches[0].base_offset}" if begun else None


@of_method(LogPositions, "forget_empty_epochs")
def forget_empty_epochs(log: LogPositions) -> Generator[None, EpochsToWrite, Broken]:
    """Epochs without records are forgotten, those with records are kept.

    So is the last one of a log whose records are all deleted.
    """
    before = log.epochs.entries
    to_write = yield
    after = log.epochs.entries
    wanted = [entry for entry in before if entry.start_offset < log.next_offset]
    if 0 < log.log_start_offset == log.next_offset:
        wanted = [entry for entry in before if entry.start_offset <= log.next_offset]
    if after != wanted or to_write != (None if after == before else after):
        return f"{before} in a log up to {log.next_offset} become {after}, {to_write} is written"
    return None


@of_method(LogPositions, "restarted_at")
def restarted_at(log: LogPositions, offset: int) -> Generator[None, list[EpochEntry], Broken]:
    """An emptied log begins and ends where it goes on, and knows no epoch."""
    to_write = yield
    held = (log.log_start_offset, log.high_watermark, log.log_end_offset, log.next_offset)
    if held != (offset,) * 4 or log.epochs.entries or to_write:
        return f"restarted at {offset}: {held}, {log.epochs.entries}, {to_write} is written"
    return None
