"""What clients may do to the cluster as a whole, and what answers may name that nobody asked for.

Source: the table of Kafka's documentation of operations and resources by protocol, KafkaApis.scala;
KIP-430, KIP-664.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any, Final

from broker.core.access import Access
from broker.core.access_rules import Ruling
from broker.dispatcher import Dispatcher, _Asked
from broker.handlers import Begun
from protocol.acls.authorizer import Authorizer
from protocol.acls.model import CLUSTER_NAME
from protocol.acls.model import AclOperation as Op
from protocol.acls.model import AclResourceType as Kind
from protocol.apis import APIS
from protocol.errors import ErrorCode
from simulation.contracts.broker.rights import (
    authorizer_of,
    codes_in,
    counts_itself,
    may_do,
    moments_of,
)
from simulation.contracts.contract import Broken, of_method

_CLUSTER: Final[Mapping[str, tuple[Op, ...]]] = {
    **dict.fromkeys(
        (
            *("LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown"),
            *("AlterPartition", "AllocateProducerIds"),
        ),
        (Op.CLUSTER_ACTION,),
    ),
    "WriteTxnMarkers": (Op.CLUSTER_ACTION, Op.ALTER),
    **dict.fromkeys(
        (
            *("DescribeAcls", "DescribeLogDirs", "DescribeQuorum", "ListPartitionReassignments"),
            "DescribeUserScramCredentials",
        ),
        (Op.DESCRIBE,),
    ),
    **dict.fromkeys(
        (
            *("CreateAcls", "DeleteAcls", "AlterReplicaLogDirs", "ElectLeaders"),
            *("AlterPartitionReassignments", "AlterUserScramCredentials"),
        ),
        (Op.ALTER,),
    ),
    **dict.fromkeys(("DescribeClientQuotas", "ListConfigResources"), (Op.DESCRIBE_CONFIGS,)),
    "AlterClientQuotas": (Op.ALTER_CONFIGS,),
}
"""API -> what a client needs of the cluster, one of these."""
_FOLLOWER: Final = (Op.CLUSTER_ACTION,)
_DENIED: Final = {
    "Fetch": (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
}
"""API -> what is told of a missing right to the cluster, if not CLUSTER_AUTHORIZATION_FAILED."""


@of_method(Dispatcher, "_authorized")
def asked_of_the_cluster(
    dispatcher: Dispatcher, asked: _Asked, authorizer: Authorizer
) -> Generator[None, Any, Broken]:
    """Who may not do something to the cluster is refused, and who may is not for that reason.

    Also who says that it is a follower: it would read what is not committed.
    """
    api = APIS[asked.received.api_key].name
    needed = _FOLLOWER if _is_follower(api, asked.request) else _CLUSTER.get(api, ())
    if not needed or counts_itself(authorizer):
        return None
    may = any(may_do(asked, authorizer, each, Kind.CLUSTER, CLUSTER_NAME) for each in needed)
    if may and api == "Fetch":
        return None  # Each fetch of each follower: what it may not read is told otherwise.
    answer = yield
    if answer is None or isinstance(answer, Begun):
        return None if may or answer is None else f"{api} is begun, and it may not"
    denied = _DENIED.get(api, (ErrorCode.CLUSTER_AUTHORIZATION_FAILED,))
    metadata = dispatcher._context.metadata  # noqa: SLF001 -- nothing public has it
    told = list(codes_in(answer, Kind.GROUP, metadata))
    # Where names are told each has its code; that of the whole, if the version has one, is none.
    codes = [each.code for each in told if each.kind is not None] or [each.code for each in told]
    is_refused = all(code in denied for code in codes)
    is_right = not codes or is_refused is not may
    return None if is_right else f"{api} is answered with {codes}, and it may: {may}"


# Any: a request of whatever API.
def _is_follower(api: str, request: Any) -> bool:
    return api == "Fetch" and (request.replica_id >= 0 or request.replica_state.replica_id >= 0)


@of_method(Dispatcher, "_completed")
def named(
    _dispatcher: Dispatcher, asked: _Asked, access: Access, _ruling: Ruling, _response: object
) -> Generator[None, Any, Broken]:
    """Where a client asks for all that there is, it is told of what it may describe alone."""
    api = APIS[asked.received.api_key].name
    if api not in _NAMED or counts_itself(authorizer_of(access)):
        return None
    moments = moments_of(asked, access)
    answer = yield
    kind = _NAMED[api]
    if answer is None or (api == "ListGroups" and any(_describes_all(each) for each in moments)):
        return None
    for name in dict.fromkeys(_names(api, answer)):
        if not any(each.may(Op.DESCRIBE, kind, name, logs=False) for each in moments):
            return f"{api} tells of {name}, which it may not describe"
    return None


_NAMED: Final[Mapping[str, Kind]] = {
    "Metadata": Kind.TOPIC,
    "DescribeTopicPartitions": Kind.TOPIC,
    "DescribeTransactions": Kind.TOPIC,
    "ListGroups": Kind.GROUP,
    "ListTransactions": Kind.TRANSACTIONAL_ID,
}


def _describes_all(access: Access) -> bool:
    return access.may_cluster(Op.DESCRIBE, logs=False)


# Any: the answer to one of these.
def _names(api: str, answer: Any) -> Iterator[str]:
    """Give what an answer tells something of: an error alone is nothing."""
    match api:
        case "ListGroups":
            yield from (each.group_id for each in answer.groups)
        case "ListTransactions":
            yield from (each.transactional_id for each in answer.transaction_states)
        case "DescribeTransactions":
            for one in answer.transaction_states:
                yield from (each.topic for each in one.topics)
        case _:
            rows = (each for each in answer.topics if each.error_code == ErrorCode.NONE)
            yield from (each.name for each in rows if each.name)
