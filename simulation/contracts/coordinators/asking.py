"""What is promised where leaders ask about transactions: only what a coordinator said counts.

Source: AddPartitionsToTxnManager.java, ReplicaManager.handleProduceAppend; KIP-890.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final
from weakref import WeakKeyDictionary

from broker.coordinators.verification_channels import Codes, VerificationChannels
from broker.coordinators.verifier import Verifier, _Outcome, _Wanted
from broker.core.transaction_state.verifying import VerificationAsked, Verifying, verified_code
from broker.core.verification import ALREADY_OPEN
from broker.engine.types import ProducePart
from protocol.errors import ErrorCode
from simulation.contracts.contract import Broken, of_method

_said: Final[WeakKeyDictionary[VerificationChannels, dict[VerificationAsked, Codes]]] = (
    WeakKeyDictionary()
)
"""What was answered to who still waits."""
_heard: Final[WeakKeyDictionary[VerificationChannels, list[VerificationAsked]]] = (
    WeakKeyDictionary()
)
"""Questions of which all partitions were confirmed, in order."""


@of_method(VerificationChannels, "_answer")
def answer(
    channels: VerificationChannels, asked: VerificationAsked, codes: Codes
) -> Generator[None, None, Broken]:
    """Who waits for an answer is told it at once."""
    is_waiting = asked in channels._waiting  # noqa: SLF001 -- nothing public has it
    if is_waiting:
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
