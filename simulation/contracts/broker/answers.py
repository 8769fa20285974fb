"""What is promised of answers that come late: they count for the question that was asked.

A replica is followed anew, cut, or led by another one while its leader's answer is on its way.
Source: AbstractFetcherThread.scala processFetchRequest, truncateToEpochEndOffsets; KIP-101.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator

from broker.core.leader_epochs import EpochEnd
from broker.engine.follow.fetcher import Fetcher
from broker.engine.follow.followed import Followed, FollowState
from broker.engine.follow.reconciler import Reconciler
from broker.engine.replica import Replica
from broker.engine.serve.fetch import Fetches
from broker.engine.serve.reading import Reading
from broker.engine.types import FetchResult
from protocol.messages.fetch import FetchResponse, PartitionData
from simulation.contracts.contract import Broken, of_method
from simulation.contracts.storage.disks import tree_of
from simulation.contracts.storage.reading import headers_of


def _stranger(fetcher: Fetcher, entry: Followed) -> Broken:
    """Say that nothing is fetched for an entry any more."""
    is_known = fetcher._entries.get(entry.key) is entry  # noqa: SLF001 -- nothing public has it
    return None if is_known else f"{entry.replica.tp} is not fetched so any more"


@of_method(Reconciler, "_reconcile")
def reconcile(
    reconciler: Reconciler, entry: Followed, answer: EpochEnd
) -> Generator[None, None, Broken]:
    """Where an epoch ends counts only for who was last asked about it."""
    fetcher = reconciler._fetcher  # noqa: SLF001 -- as above
    broken = _stranger(fetcher, entry)
    if broken is None and entry.state is not FollowState.ASKED:
        broken = f"{entry.replica.tp} is {entry.state.name}, and is told {answer}"
    yield
    return broken


@of_method(Fetcher, "_take_partition")
def take_partition(
    fetcher: Fetcher, entry: Followed, data: PartitionData
) -> Generator[None, None, Broken]:
    """What was fetched counts only while the partition is fetched from where it was asked for."""
    broken = _stranger(fetcher, entry)
    if broken is None and entry.state is not FollowState.READY:
        broken = f"{entry.replica.tp} is {entry.state.name}, and is given {data.error_code}"
    if broken is None and entry.key in fetcher._changed:  # noqa: SLF001 -- as above
        broken = f"{entry.replica.tp} is to be asked for anew, and is given what was asked before"
    yield
    return broken


def _unchanged(entry: Followed, turn: int) -> Generator[None, None, Broken]:
    """Hold a state against what comes late: a timer, or a disk, of an earlier turn."""
    state, now = entry.state, entry.turn
    yield
    if turn == now or (entry.state, entry.turn) == (state, now):
        return None
    return f"{entry.replica.tp} was {state.name}, a turn that is over makes it {entry.state.name}"


@of_method(Fetcher, "_retry")
def retry(_: Fetcher, entry: Followed, turn: int) -> Generator[None, None, Broken]:
    """A wait that is over for another reason ends once."""
    return (yield from _unchanged(entry, turn))


@of_method(Fetcher, "_worked")
def worked(
    _: Fetcher,
    entry: Followed,
    turn: int,
    round_number: int,
    then: object,
    work: object,
) -> Generator[None, None, Broken]:
    """What a disk has done for a replica counts for nothing where that is followed anew."""
    return (yield from _unchanged(entry, turn))


@of_method(Fetcher, "_ask_once")
def ask_once(fetcher: Fetcher) -> Generator[None, FetchResponse | None, Broken]:
    """A session ends with its connection: nobody knows what its leader heard of the last request.

    What that request told anew would never be told again.
    """
    yield
    is_open = fetcher._client is not None  # noqa: SLF001 -- as above
    goes_on = fetcher._session.is_incremental and not is_open  # noqa: SLF001 -- as above
    return f"the session with broker {fetcher.source_id} goes on" if goes_on else None


@of_method(Fetches, "_read")
def read_memory(
    _: Fetches, reading: Reading, replica: Replica, index: int
) -> Generator[None, FetchResult, Broken]:
    """Consumers are given what is committed of what memory has, from where they asked."""
    result = yield
    return _misgiven(reading, index, result)


@of_method(Fetches, "_read_disks")
def read_disks(_: Fetches, reading: Reading) -> Generator[None, None, Broken]:
    """Consumers are given what is committed, whoever it was read for, and from where they asked.

    A disk that wrote to a wrong place, or may read what it likes, has batches of any offsets
    (seed 758100); as in Kafka nobody but their reader looks at them.
    """
    disks = [(each.part_index, each.replica.log.dir.disk) for each in reading.disk]
    sound = [(index, disk) for index, disk in disks if tree_of(disk) is not None]
    yield
    for index, disk in sound:
        broken = _misgiven(reading, index, reading.results[index])
        if broken is not None and tree_of(disk) is not None:
            return broken
    return None


def _misgiven(reading: Reading, index: int, result: FetchResult) -> Broken:
    """Say which batches a reader may not have, or may not have so."""
    headers = headers_of(result.records)
    if not headers:
        return None
    part, end = reading.parts[index], headers[-1].next_offset
    if headers[0].next_offset <= part.fetch_offset:
        return f"{part} is given what begins at {headers[0].base_offset}"
    is_committed = reading.params.is_committed
    most = result.last_stable_offset if is_committed else result.high_watermark
    if not reading.is_follower and end > most:
        return f"{part} may be read up to {most}, given is up to {end}"
    if is_committed and result.aborted is None:
        return f"{part} is told of no transaction"
    return None
