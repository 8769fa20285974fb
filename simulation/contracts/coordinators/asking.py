"""What is promised where leaders ask about transactions: only what a coordinator said counts.

Source: AddPartitionsToTxnManager.java, ReplicaManager.handleProduceAppend; KIP-890.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from broker.coordinators.verification_channels import Codes, VerificationChannels
from broker.coordinators.verifier import Verifier, _Outcome, _Wanted
from broker.core.coordination import TransactionProducer
from broker.core.transaction_state import verifying as rules
from broker.core.transaction_state.verifying import (
    Refused,
    ToldCode,
    VerificationAsked,
    VerificationBatch,
    Verifying,
    verified_code,
)
from broker.core.verification import ALREADY_OPEN
from broker.engine.types import ProducePart
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from simulation.contracts.contract import Broken, OfRun, of_function, of_method

_said: Final[OfRun[VerificationChannels, dict[VerificationAsked, Codes]]] = OfRun()
"""What was answered to who still waits."""
_heard: Final[OfRun[VerificationChannels, list[VerificationAsked]]] = OfRun()
"""Questions of which all partitions were confirmed, in order."""


@of_method(VerificationChannels, "_answer")
def answer(
    channels: VerificationChannels, asked: VerificationAsked, codes: Codes
) -> Generator[None, None, Broken]:
    """Who waits for an answer is told it at once."""
    waiting = channels._waiting.get(asked)  # noqa: SLF001 -- nothing public has it
    if waiting is not None and not waiting.done():  # A broker that ends told it (seed 1150491).
        _said.setdefault(channels, {}).setdefault(asked, codes)
    yield
    waiting = channels._waiting.get(asked)  # noqa: SLF001 -- as above
    return None if waiting is None or waiting.done() else f"{asked} waits on after {codes}"


@of_method(VerificationChannels, "ask")
def ask(channels: VerificationChannels, asked: VerificationAsked) -> Generator[None, Codes, Broken]:
    """Each partition has the code that came for it; that of which nothing came is not confirmed."""
    try:
        found = yield
    finally:
        said = _said.setdefault(channels, {}).pop(asked, {})
    if set(found) != set(asked.tps):
        return f"{found} is told of {asked}"
    for tp, code in found.items():
        told = said.get(tp)
        if (code is ErrorCode.NONE) is not (told is ErrorCode.NONE):
            return f"{tp} has {code}, told was {told}"
        if told is not None and code is not verified_code(told, asked.how):
            return f"{tp} has {code}, told was {told}"
    confirmed = tuple(tp for tp in asked.tps if found[tp] is ErrorCode.NONE)
    _heard.setdefault(channels, []).append(
        VerificationAsked(
            asked.transactional_id,
            asked.producer_id,
            asked.producer_epoch,
            confirmed,
            asked.how,
        )
    )
    return None


@of_method(Verifier, "_ask_once")
def ask_once(verifier: Verifier, wanted: _Wanted) -> Generator[None, _Outcome, Broken]:
    """What is not open in the log goes on if a coordinator confirmed it, and is refused if not."""
    channels = verifier._ports.channels  # noqa: SLF001 -- as above
    heard = _heard.setdefault(channels, [])
    count = len(heard)
    outcome = yield
    own = [
        each
        for each in heard[count:]
        if each.transactional_id == wanted.transactional_id
        and (each.producer_id, each.producer_epoch) == wanted.producer
    ]
    confirmed = {tp for each in own for tp in each.tps}
    for tp in wanted.sequences:
        is_refused, is_open = tp in outcome.refused, outcome.guards[tp] is ALREADY_OPEN
        # Another question of the same producer may be confirmed meanwhile, and this one may not.
        is_sure = not is_refused or len(own) == 1
        if not is_open and is_sure and is_refused is (tp in confirmed):
            return f"{tp} of {wanted}: {outcome.refused}, confirmed are {confirmed}"
    return None


@of_method(Verifier, "verified")
def verified(
    verifier: Verifier, parts: Sequence[ProducePart], transactional_id: str, how: Verifying
) -> Generator[None, list[object], Broken]:
    """Each part is refused, or goes on by itself with all that it had."""
    del verifier, transactional_id, how
    told = yield
    for part, each in zip(parts, told, strict=True):
        if isinstance(each, ProducePart) and each._replace(guard=None) != part:
            return f"{part} goes on as {each}"
    return None


@of_method(VerificationBatch, "add")
def batched(
    batch: VerificationBatch, asked: VerificationAsked
) -> Generator[None, Refused | None, Broken]:
    """Of one transactional id one question is asked, that of the newest epoch, and then the last.

    The other one is answered: its producer is fenced, or has sent its request again.
    """
    name = asked.transactional_id
    before = batch._asked.get(name)  # noqa: SLF001 -- as above
    refused = yield
    is_late = before is not None and asked.producer_epoch < before.producer_epoch
    kept, pushed_out = (before, asked) if is_late else (asked, before)
    if batch._asked.get(name) is not kept:  # noqa: SLF001 -- as above
        return f"{batch._asked.get(name)} is to be asked, not {kept}"  # noqa: SLF001 -- as above
    if refused is None or before is None or pushed_out is None:
        return None if refused is pushed_out is None else f"{refused}, pushed out is {pushed_out}"
    is_again = before.producer_epoch == asked.producer_epoch
    code = ErrorCode.NETWORK_EXCEPTION if is_again else ErrorCode.INVALID_PRODUCER_EPOCH
    is_so = refused.asked is pushed_out and refused.code is code
    return None if is_so else f"{refused}, not {pushed_out} with {code.name}"


_UNKNOWN_TO_OLD_CLIENTS: Final = {ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.PRODUCER_FENCED}
_COORDINATOR_IS_AWAY: Final = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NETWORK_EXCEPTION,
}


@of_function(rules.verified_code)
def verified_codes(code: ErrorCode, how: Verifying) -> Generator[None, ErrorCode, Broken]:
    """Nobody is told a code that its version does not know, and no refusal is told as none."""
    told = yield
    if (code is ErrorCode.NONE) is not (told is ErrorCode.NONE):
        return f"{code.name} is told as {told.name}"
    is_old = how is Verifying.FOR_OLD_CLIENT
    return f"{how} is told {told.name}" if is_old and told in _UNKNOWN_TO_OLD_CLIENTS else None


@of_function(rules.produce_refusal)
def produce_refusal(code: ErrorCode, how: Verifying) -> Generator[None, ToldCode, Broken]:
    """A producer tries again where only its coordinator is away, or an end is under way."""
    told = yield
    is_waiting = code is ErrorCode.CONCURRENT_TRANSACTIONS and how is not Verifying.ADDING
    wanted = ErrorCode.NOT_ENOUGH_REPLICAS if code in _COORDINATOR_IS_AWAY or is_waiting else code
    return None if told.code is wanted else f"{code.name} is told as {told}, not {wanted.name}"


@of_function(rules.offset_commit_refusal)
def offset_commit_refusal(code: ErrorCode, how: Verifying) -> Generator[None, ErrorCode, Broken]:
    """Who commits offsets in a transaction tries again after what passes, as its version can."""
    told = yield
    is_waiting = code is ErrorCode.CONCURRENT_TRANSACTIONS and how is not Verifying.ADDING
    is_passing = code is ErrorCode.NETWORK_EXCEPTION or is_waiting
    wanted = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if is_passing else code
    return None if told is wanted else f"{code.name} is told as {told.name}, not {wanted.name}"


@of_method(Verifier, "check")
def check(
    verifier: Verifier, tp: TopicPartition, producer: TransactionProducer
) -> Generator[None, None, Broken]:
    """Offsets that were verified become part of no transaction that a marker has ended since."""
    states = None
    try:
        states = verifier._ports.produces._led_producers(tp)  # noqa: SLF001 -- as above
    except KafkaError:
        """Another broker leads, which is for the rule to say."""
    guard = producer.guard
    yield
    if guard is None:
        return None
    is_open = states is not None and states.is_verified(*producer[:2], guard)
    return None if is_open else f"{producer} goes on in {tp}, and its transaction is over"
