"""What a transactional id becomes: when its producer starts, ends a transaction, and after that.

Source: TransactionMetadata.scala, TransactionCoordinator.scala; KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import fields, replace
from typing import Any, Final, TypeAlias

from broker.core.transaction_state import begin, end, metadata
from broker.core.transaction_state.begin import AbortedFirst, BeginAsked, ProducerIdAndEpoch
from broker.core.transaction_state.end import EndAsked, EndedAlready
from broker.core.transaction_state.metadata import TransactionMetadata
from broker.core.transaction_state.metadata import TransactionState as State
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from simulation.contracts.contract import Broken, of_function, of_method

_LAST_EPOCH: Final = 32_766
"""A producer never gets 32767, so that one more fence is always possible."""
_REST: Final = frozenset({State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT})
_ENDING: Final = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})
_COMMITS: Final = frozenset({State.PREPARE_COMMIT, State.COMPLETE_COMMIT})
_Begun: TypeAlias = TransactionMetadata | AbortedFirst | ErrorCode
_Ended: TypeAlias = TransactionMetadata | EndedAlready | ErrorCode


# Any: a field of the metadata.
def not_as(after: object, before: TransactionMetadata, **changed: Any) -> Broken:
    """Say where ``after`` is not ``before`` with these changes, and with no other one."""
    wanted = replace(before, **changed)
    if after == wanted:
        return None
    if not isinstance(after, TransactionMetadata):
        return f"{after} instead of {wanted}"
    names = [each.name for each in fields(wanted)]
    wrong = [each for each in names if getattr(after, each) != getattr(wanted, each)]
    told = [f"{each} is {getattr(after, each)}, not {getattr(wanted, each)}" for each in wrong]
    return f"{before.state.name} of {before.transactional_id}: {', '.join(told)}"


def _next_id(known: TransactionMetadata) -> int | None:
    """Return the id that the producer was told to go on with, before its markers are written."""
    is_told = known.state in _ENDING and known.next_producer_id >= 0
    is_other = known.next_producer_id != known.producer_id
    return known.next_producer_id if is_told and is_other else None


@of_method(TransactionMetadata, "will_be")
def will_be(known: TransactionMetadata, producer_id: int) -> Generator[None, bool, Broken]:
    """Only while markers are written does a producer have its next id before the coordinator."""
    is_next = yield
    if is_next is not (producer_id == _next_id(known)):
        return f"{producer_id} {'is' if is_next else 'is not'} the next id of {known}"
    return None


@of_method(TransactionMetadata, "deadline_ms")
def deadline(known: TransactionMetadata) -> Generator[None, int | None, Broken]:
    """A transaction is late its timeout after its begin, while it is open."""
    at_ms = yield
    has_one = known.state is State.ONGOING and known.timeout_ms < 2**31 - 1
    wanted = known.started_ms + known.timeout_ms if has_one else None
    return None if at_ms == wanted else f"late at {at_ms}, not {wanted}: {known}"


# InitProducerId.


def _is_same_producer(known: TransactionMetadata, has: ProducerIdAndEpoch) -> bool:
    ids = {known.producer_id, _next_id(known)}
    if has.producer_epoch >= _LAST_EPOCH:
        ids.add(known.previous_producer_id)
    return known.producer_epoch < 0 or has.producer_id in ids


def _begin(known: TransactionMetadata, has: ProducerIdAndEpoch | None) -> str | ErrorCode:
    """Return what is to happen, in Kafka's order."""
    if has is not None and not _is_same_producer(known, has):
        return ErrorCode.PRODUCER_FENCED
    if known.state not in _REST:
        return ErrorCode.CONCURRENT_TRANSACTIONS if known.state in _ENDING else "aborted"
    is_current = has is None or known.producer_epoch in {has.producer_epoch, -1}
    is_used_up = known.producer_epoch >= _LAST_EPOCH
    if is_current:
        return "new id" if is_used_up else "raised"
    is_last = has is not None and has.producer_epoch == known.last_producer_epoch
    return "told again" if is_last and not is_used_up else ErrorCode.PRODUCER_FENCED


@of_function(begin.needs_producer_id)
def needs_producer_id(
    known: TransactionMetadata | None, asked: BeginAsked
) -> Generator[None, bool, Broken]:
    """Somebody new, and who has used all epochs up, needs another producer id."""
    needs = yield
    wanted = known is None or (
        known.state in _REST
        and known.producer_epoch >= _LAST_EPOCH
        and (asked.expected is None or asked.expected.producer_epoch == known.producer_epoch)
    )
    return None if needs is wanted else f"needs {needs}: {known} and {asked}"


@of_function(begin.begun)
def begun(
    known: TransactionMetadata | None,
    asked: BeginAsked,
    *,
    new_producer_id: int,
    transaction_version: int,
    wall_ms: int,
) -> Generator[None, _Begun, Broken]:
    """Who starts puts out who was there; who goes on has to be the last that was told of it.

    An open transaction is aborted first, one that ends is waited for, and no epoch is used twice.
    """
    following = yield
    has = asked.expected
    if known is None:
        known = TransactionMetadata(
            transactional_id=asked.transactional_id,
            producer_id=new_producer_id,
            timeout_ms=asked.timeout_ms,
            updated_ms=wall_ms,
        )
    wanted = _begin(known, has)
    if isinstance(wanted, ErrorCode):
        return None if following is wanted else f"{following}, not {wanted.name}: {known}, {asked}"
    if wanted == "aborted":
        is_aborted = isinstance(following, AbortedFirst)
        return None if is_aborted else f"{following} while a transaction is open: {known}"
    first = has is None
    epochs = {
        "new id": (new_producer_id, 0, -1 if first else known.producer_epoch),
        "raised": (
            known.producer_id,
            known.producer_epoch + 1,
            -1 if first else known.producer_epoch,
        ),
        "told again": (known.producer_id, known.producer_epoch, known.last_producer_epoch),
    }
    producer_id, epoch, last_epoch = epochs[wanted]
    return not_as(
        following,
        known,
        producer_id=producer_id,
        previous_producer_id=known.producer_id,
        producer_epoch=epoch,
        last_producer_epoch=last_epoch,
        timeout_ms=asked.timeout_ms,
        state=State.EMPTY,
        partitions=(),
        started_ms=-1,
        updated_ms=wall_ms,
    )


# Transactions.


@of_function(metadata.with_partitions)
def with_partitions(
    known: TransactionMetadata,
    added: Iterable[TopicPartition],
    *,
    client_transaction_version: int,
    wall_ms: int,
) -> Generator[None, TransactionMetadata, Broken]:
    """The first partition opens a transaction, whose time runs from there; no one is twice in it.

    Partitions stay in the order in which they came.
    """
    added = list(added)
    after = yield
    partitions = list(known.partitions)
    for each in added:
        if each not in partitions:
            partitions.append(each)
    return not_as(
        after,
        known,
        previous_producer_id=known.producer_id,
        state=State.ONGOING,
        partitions=tuple(partitions),
        started_ms=known.started_ms if known.state is State.ONGOING else wall_ms,
        updated_ms=wall_ms,
        client_transaction_version=client_transaction_version,
    )


def _not_prepared(
    after: object,
    known: TransactionMetadata,
    *,
    is_commit: bool,
    version: int,
    next_id: int,
    wall_ms: int,
) -> Broken:
    raised = int(version >= 2)
    return not_as(
        after,
        known,
        previous_producer_id=known.producer_id,
        next_producer_id=next_id,
        producer_epoch=known.producer_epoch + raised,
        last_producer_epoch=known.producer_epoch if raised else known.last_producer_epoch,
        state=State.PREPARE_COMMIT if is_commit else State.PREPARE_ABORT,
        started_ms=wall_ms if known.state in _REST else known.started_ms,
        updated_ms=wall_ms,
        client_transaction_version=version,
    )


@of_function(end.aborted_by_coordinator)
def aborted_by_coordinator(
    known: TransactionMetadata, transaction_version: int, wall_ms: int
) -> Generator[None, TransactionMetadata, Broken]:
    """An abort that the producer did not ask for puts it out: the epoch is raised, once.

    Markers go to all partitions of the transaction.
    """
    after = yield
    fenced = known
    if transaction_version < 2:
        fenced = replace(known, producer_epoch=known.producer_epoch + 1, last_producer_epoch=-1)
    return _not_prepared(
        after, fenced, is_commit=False, version=transaction_version, next_id=-1, wall_ms=wall_ms
    )


@of_function(metadata.completed)
def completed(
    known: TransactionMetadata, wall_ms: int
) -> Generator[None, TransactionMetadata, Broken]:
    """When all markers are written nothing is left of a transaction but how it ended.

    Who was told of another producer id has it now, with its first epoch.
    """
    after = yield
    has_next = known.client_transaction_version >= 2 and known.next_producer_id >= 0
    return not_as(
        after,
        known,
        producer_id=known.next_producer_id if has_next else known.producer_id,
        previous_producer_id=known.producer_id,
        next_producer_id=-1,
        producer_epoch=0 if has_next else known.producer_epoch,
        state=State.COMPLETE_COMMIT if known.state in _COMMITS else State.COMPLETE_ABORT,
        partitions=(),
        updated_ms=wall_ms,
    )


# EndTxn.


@of_function(end.may_need_producer_id)
def may_need_producer_id(
    known: TransactionMetadata | None, asked: EndAsked
) -> Generator[None, bool, Broken]:
    """An end raises the epoch from transaction.version 2 on, for which there may be none left."""
    needs = yield
    wanted = (
        known is not None
        and known.state not in _ENDING
        and known.producer_epoch >= _LAST_EPOCH
        and asked.client_transaction_version >= 2
    )
    return None if needs is wanted else f"needs {needs}: {known} and {asked}"


@of_function(end.ended)
def ended(
    known: TransactionMetadata | None, asked: EndAsked, *, new_producer_id: int, wall_ms: int
) -> Generator[None, _Ended, Broken]:
    """A transaction ends once, as its producer wants; who asks again is told the same again.

    Up to transaction.version 1 the epoch stays. From 2 on it is raised, so that it tells a request
    that is sent again from the next end.
    """
    following = yield
    is_raising = asked.client_transaction_version >= 2
    wanted: _Ended | None
    if known is None:
        wanted = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    elif asked.producer_id == _next_id(known):
        wanted = ErrorCode.CONCURRENT_TRANSACTIONS
    else:
        wanted = _refused_or_repeated(known, asked) if is_raising else _of_one_epoch(known, asked)
    if known is None or wanted is not None:
        return None if following == wanted else f"{following}, not {wanted}: {known} and {asked}"
    next_id = new_producer_id if is_raising and known.producer_epoch >= _LAST_EPOCH else -1
    return _not_prepared(
        following,
        known,
        is_commit=asked.is_commit,
        version=asked.client_transaction_version,
        next_id=next_id,
        wall_ms=wall_ms,
    )


def _of_one_epoch(known: TransactionMetadata, asked: EndAsked) -> _Ended | None:
    """Return what is answered without an end; None: it ends."""
    if asked.producer_id != known.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if asked.producer_epoch != known.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    if known.state is State.ONGOING:
        return None
    is_known = known.state in _ENDING or known.state in _REST - {State.EMPTY}
    if not is_known or asked.is_commit is not (known.state in _COMMITS):
        return ErrorCode.INVALID_TXN_STATE
    return ErrorCode.CONCURRENT_TRANSACTIONS if known.state in _ENDING else EndedAlready(-1, -1)


def _refused_or_repeated(known: TransactionMetadata, asked: EndAsked) -> _Ended | None:
    """Return what is answered without an end; None: it ends."""
    has = (asked.producer_id, asked.producer_epoch)
    now = (known.producer_id, known.producer_epoch)
    is_first_of_id = has == (known.previous_producer_id, _LAST_EPOCH) and now[1] == 0
    is_again = is_first_of_id or has == (now[0], now[1] - 1)
    if has[0] != now[0] and not is_first_of_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    has_ended = known.state in _ENDING or known.state in _REST - {State.EMPTY}
    is_again = is_again and known.client_transaction_version >= 2
    if has != now and not (has_ended and is_again):
        return ErrorCode.PRODUCER_FENCED
    is_other = asked.is_commit is not (known.state in _COMMITS)
    if known.state in _ENDING:
        refused = is_again and is_other
        return ErrorCode.INVALID_TXN_STATE if refused else ErrorCode.CONCURRENT_TRANSACTIONS
    if is_again and has_ended:
        return ErrorCode.INVALID_TXN_STATE if is_other else EndedAlready(*now)
    is_nothing = known.state is not State.ONGOING and asked.is_commit
    return ErrorCode.INVALID_TXN_STATE if is_nothing else None
