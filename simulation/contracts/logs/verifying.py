"""What is promised about partitions that leaders verify, about markers, and about old clients.

Source: AddPartitionsToTxnManager.java, TransactionMarkerRequestCompletionHandler.scala, KafkaApis;
KIP-588, KIP-890, KIP-1050.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Final

from broker.core.transaction_state import marker_progress, old_clients
from broker.core.transaction_state import verifying as rules
from broker.core.transaction_state.marker_progress import MarkerFate, MarkerProgress
from broker.core.transaction_state.verifying import (
    Refused,
    ToldCode,
    VerificationAsked,
    VerificationBatch,
    Verifying,
)
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from simulation.contracts.contract import Broken, of_function, of_method

_OLD, _NEW, _ADDING = Verifying.FOR_OLD_CLIENT, Verifying.FOR_NEW_CLIENT, Verifying.ADDING
_OF_PRODUCE: Final = (*[_OLD] * 11, _NEW)
_OF_OFFSET_COMMIT: Final = (*[_OLD] * 4, _NEW)
_TRIED_AGAIN: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
_ALL_WRITTEN: Final = frozenset({ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT})
_NOBODY_WANTS_IT: Final = frozenset(
    {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED}
)
_FENCED_KNOWN: Final = (
    ("InitProducerId", 4),
    ("AddPartitionsToTxn", 2),
    ("AddOffsetsToTxn", 2),
    ("EndTxn", 2),
)


def _by_version(table: tuple[Verifying, ...], version: int) -> Verifying:
    return table[version] if version < len(table) else _ADDING


@of_function(rules.verifying_of_produce)
def verifying_of_produce(version: int) -> Generator[None, Verifying, Broken]:
    """Produce of version 12 leaves it to the leader to add its partition; 11 knows the new code."""
    how = yield
    return None if how is _by_version(_OF_PRODUCE, version) else f"{how} for version {version}"


@of_function(rules.verifying_of_offset_commit)
def verifying_of_offset_commit(version: int) -> Generator[None, Verifying, Broken]:
    """TxnOffsetCommit of version 5 leaves it to the leader to add its partition; 4 knows the code.

    The code is TRANSACTION_ABORTABLE (KIP-1050).
    """
    how = yield
    wanted = _by_version(_OF_OFFSET_COMMIT, version)
    return None if how is wanted else f"{how} for version {version}"


@of_method(VerificationBatch, "add")
def add(
    batch: VerificationBatch, asked: VerificationAsked
) -> Generator[None, Refused | None, Broken]:
    """One question of a transactional id goes out: that of the later epoch, then the newer one."""
    waiting = dict(batch._asked)  # noqa: SLF001 -- ``take`` would end it
    name = asked.transactional_id
    refused = yield
    wanted: Refused | None = None
    before = waiting.get(name)
    if before is not None:
        newer_by = asked.producer_epoch - before.producer_epoch
        code = ErrorCode.INVALID_PRODUCER_EPOCH if newer_by else ErrorCode.NETWORK_EXCEPTION
        wanted = Refused(asked if newer_by < 0 else before, code)
    if wanted is None or wanted.asked is not asked:
        waiting[name] = asked
    if refused != wanted or batch._asked != waiting:  # noqa: SLF001 -- as above
        return f"{refused}, not {wanted}, for {asked}"
    return None


@of_method(VerificationBatch, "take")
def take(batch: VerificationBatch) -> Generator[None, list[VerificationAsked], Broken]:
    """All that waits goes out once."""
    waiting = list(batch._asked.values())  # noqa: SLF001 -- as above
    taken = yield
    return None if taken == waiting and not batch else f"{taken} of {waiting}, more: {bool(batch)}"


@of_function(rules.verified_code)
def verified_code(code: ErrorCode, how: Verifying) -> Generator[None, ErrorCode, Broken]:
    """A coordinator's code is told as one that the client knows."""
    told = yield
    known = {ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH}
    if how is _OLD:
        known[ErrorCode.TRANSACTION_ABORTABLE] = ErrorCode.INVALID_TXN_STATE
    return None if told is known.get(code, code) else f"{told.name} for {code.name}, {how}"


@of_function(rules.is_worth_retrying)
def is_worth_retrying(codes: Iterable[ErrorCode], how: Verifying) -> Generator[None, bool, Broken]:
    """A leader waits for the end before where its client's transactions begin with their records.

    The client would send them all again.
    """
    codes = list(codes)
    retries = yield
    wanted = how is _ADDING and codes.count(ErrorCode.CONCURRENT_TRANSACTIONS) > 0
    return None if retries is wanted else f"{retries} for {codes}, {how}"


@of_function(rules.produce_refusal)
def produce_refusal(code: ErrorCode, how: Verifying) -> Generator[None, ToldCode, Broken]:
    """A producer that shall try again is told NOT_ENOUGH_REPLICAS, which all of them do."""
    told = yield
    again = code in _TRIED_AGAIN or (
        code is ErrorCode.CONCURRENT_TRANSACTIONS and how is not _ADDING
    )
    wanted = ErrorCode.NOT_ENOUGH_REPLICAS if again else code
    return None if told.code is wanted else f"{told.code.name} for {code.name}, {how}"


@of_function(rules.offset_commit_refusal)
def offset_commit_refusal(code: ErrorCode, how: Verifying) -> Generator[None, ErrorCode, Broken]:
    """A committer that shall try again is told COORDINATOR_LOAD_IN_PROGRESS."""
    told = yield
    again = code is ErrorCode.NETWORK_EXCEPTION or (
        code is ErrorCode.CONCURRENT_TRANSACTIONS and how in {_OLD, _NEW}
    )
    wanted = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if again else code
    return None if told is wanted else f"{told.name} for {code.name}, {how}"


# Markers.


@of_function(marker_progress.fate_of)
def fate_of(code: ErrorCode) -> Generator[None, MarkerFate, Broken]:
    """A marker is asked for again until it is written, or a later epoch was there."""
    fate = yield
    wanted = MarkerFate.AGAIN
    if code in _ALL_WRITTEN:
        wanted = MarkerFate.WRITTEN
    elif code in _NOBODY_WANTS_IT:
        wanted = MarkerFate.OVER
    return None if fate is wanted else f"{fate} after {code.name}"


@of_method(MarkerProgress, "answered")
def answered(
    progress: MarkerProgress, tp: TopicPartition, code: ErrorCode
) -> Generator[None, MarkerFate, Broken]:
    """A transaction is done when each of its partitions has its marker, and not before.

    Where somebody later was there nobody calls it done.
    """
    left, was_over = list(progress.left), progress.is_over
    yield
    wanted = [each for each in left if each != tp or code not in _ALL_WRITTEN]
    is_over = was_over or code in _NOBODY_WANTS_IT
    if list(progress.left) != wanted or progress.is_over is not is_over:
        return f"{code.name} of {tp}: left are {list(progress.left)}, over: {progress.is_over}"
    if progress.is_done is not (not wanted and not is_over):
        return f"done is {progress.is_done}, left are {wanted}, over: {is_over}"
    return None


@of_method(MarkerProgress, "forget")
def forget(
    progress: MarkerProgress, tps: Iterable[TopicPartition]
) -> Generator[None, None, Broken]:
    """Nobody waits for markers of partitions that are deleted."""
    tps = set(tps)
    wanted = [each for each in progress.left if each not in tps]
    yield
    return None if list(progress.left) == wanted else f"{list(progress.left)}, not {wanted}"


# Clients of old versions.


@of_function(old_clients.fenced_code)
def fenced_code(api: str, version: int, code: ErrorCode) -> Generator[None, ErrorCode, Broken]:
    """A client of before PRODUCER_FENCED is told INVALID_PRODUCER_EPOCH instead; no other code is.

    Source: KIP-588.
    """
    told = yield
    is_known = any(version >= since for name, since in _FENCED_KNOWN if name == api)
    is_other = code is ErrorCode.PRODUCER_FENCED and not is_known
    wanted = ErrorCode.INVALID_PRODUCER_EPOCH if is_other else code
    return None if told is wanted else f"{told.name} for {code.name} in {api} {version}"


@of_function(old_clients.client_transaction_version)
def client_transaction_version(api: str, version: int) -> Generator[None, int, Broken]:
    """Whoever ends by EndTxn 5, or has leaders add partitions, goes by transaction.version 2."""
    client = yield
    wanted = 2 if version > {"AddPartitionsToTxn": 3, "EndTxn": 4}[api] else 0
    return None if client == wanted else f"{client} for {api} {version}"
