"""Requests of somebody who takes himself for a member of a group: a group refuses them all.

He has the instance id of a member, or one that nobody has, and a member id that nobody has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    MemberIdentity,
    SyncGroupRequest,
)
from protocol.stored_records import encode_versioned
from simulation.core.restless_members import REBALANCE_TIMEOUT_MS, Asking, Chance, ignored

_JOIN, _SYNC, _BEAT, _CONSUMER_BEAT = 9, 5, 4, 1
"""Versions of the requests."""
_SESSION_TIMEOUT_MS: Final = 2_000
_SUBSCRIPTION_VERSION: Final = 1
_MEMBER_ID: Final = "nobody"


class _Kind(NamedTuple):
    """What he says that his group is."""

    type: str
    protocol: str


_KINDS: Final = (_Kind("consumer", "range"), _Kind("consumer", "other"), _Kind("connect", "range"))


def intrusion(
    group: str, instance_ids: Sequence[str], generation: int, topics: Sequence[str], chance: Chance
) -> Asking:
    """Return one of them, drawn; ``instance_ids`` are those of members."""
    names = (*instance_ids, "no-name")
    identity = MemberIdentity(
        member_id=_MEMBER_ID, group_instance_id=names[chance.randrange(len(names))]
    )
    kind = _KINDS[chance.randrange(len(_KINDS))]
    match chance.randrange(4):
        case 0:
            return _join(group, identity, kind, topics)
        case 1:
            request = SyncGroupRequest(
                group_id=group,
                generation_id=generation,
                member_id=identity.member_id,
                group_instance_id=identity.group_instance_id,
                protocol_type=kind.type,
                protocol_name=kind.protocol,
                assignments=[],
            )
            return Asking(request, _SYNC, ignored)
        case 2:
            beat = HeartbeatRequest(
                group_id=group,
                generation_id=generation,
                member_id=identity.member_id,
                group_instance_id=identity.group_instance_id,
            )
            return Asking(beat, _BEAT, ignored)
        case _:
            going_on = ConsumerGroupHeartbeatRequest(
                group_id=group,
                member_id=identity.member_id,
                member_epoch=max(generation, 1),
                instance_id=identity.group_instance_id,
            )
            return Asking(going_on, _CONSUMER_BEAT, ignored)


def _join(group: str, identity: MemberIdentity, kind: _Kind, topics: Sequence[str]) -> Asking:
    said = ConsumerProtocolSubscription(topics=topics, owned_partitions=[])
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=_SESSION_TIMEOUT_MS,
        rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
        member_id=identity.member_id,
        group_instance_id=identity.group_instance_id,
        protocol_type=kind.type,
        protocols=[
            JoinGroupRequestProtocol(
                name=kind.protocol, metadata=encode_versioned(said, _SUBSCRIPTION_VERSION)
            )
        ],
    )
    return Asking(request, _JOIN, ignored)
