"""What a broker promises of fetch sessions and throttles, as leader and as follower.

Source: FetchSession.scala, FetchSessionHandler.java (KIP-227), ReplicationQuotaManager.scala
(KIP-73), RackAwareReplicaSelector.java (KIP-392).
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from broker.core import closest_replica as closest
from broker.core import replication_quota as quotas
from broker.core.fetch_session import (
    FetchContext,
    FetchedPart,
    FetchRequestHead,
    FetchSessions,
    PartAnswer,
    SessionKey,
    session_key,
)
from broker.core.follower_session import FollowerSession, SessionRequest
from broker.core.partition import Partition
from broker.core.replication_quota import ReplicationQuota
from broker.engine.follow import follower_request as requests
from broker.engine.follow.followed import Followed
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicIdPartition
from protocol.messages.fetch import FetchRequest
from simulation.contracts.contract import Broken, of_function, of_method

Sessions: TypeAlias = "FetchSessions[Any]"
Context: TypeAlias = "FetchContext[Any]"
Following: TypeAlias = "FollowerSession[Any]"
"""Any: what is fetched is named by the engine."""
_LOST: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)


# Any: a partition to fetch.
def _key_of(part: Any) -> SessionKey:
    return session_key(part.tp, part.topic_id)


@of_method(FetchSessions, "open")
def open_session(
    sessions: Sessions,
    head: FetchRequestHead,
    parts: list[Any],
    *,
    forgotten: Iterable[SessionKey] = (),
    now_ms: int,
) -> Generator[None, Context, Broken]:
    """A fetch reads what its session was last asked for, but for what it forgets.

    One without a session reads what it names.
    """
    is_full = head.session_epoch in {0, -1}
    named = list(map(_key_of, parts))
    dropped = list(forgotten)
    try:
        context = yield
    except KafkaError as error:
        return f"a full fetch is refused: {error}" if is_full else None
    keys = list(map(_key_of, context.parts))
    if is_full:
        return None if keys == named and not context.is_incremental else f"{named}: {keys}"
    if len(set(keys)) != len(keys) or set(dropped) & set(keys):
        return f"it reads {keys}, forgotten are {dropped}"
    asked = {key: part for key, part in zip(named, parts, strict=True) if key not in dropped}
    read = dict(zip(keys, context.parts, strict=True))
    wrong = [key for key, part in asked.items() if read.get(key) is not part]
    return f"{wrong} are not read as asked" if wrong else None


@of_method(FetchSessions, "open")
def open_anew(
    sessions: Sessions,
    head: FetchRequestHead,
    parts: list[Any],
    *,
    forgotten: Iterable[SessionKey] = (),
    now_ms: int,
) -> Generator[None, Context, Broken]:
    """Who asks in another leader epoch is told anew: it forgot what it was told before."""
    session = sessions._sessions.get(head.session_id)  # noqa: SLF001 -- nothing public has it
    is_full = session is None or head.session_epoch in {0, -1}
    before = (
        {} if session is None or is_full else {key: row.part for key, row in session.rows.items()}
    )
    try:
        yield
    except KafkaError:
        return None
    dropped = set(forgotten)
    for part in parts:
        key = session_key(part.tp, part.topic_id)
        known = before.get(key)
        if session is None or known is None or key in dropped or key not in session.rows:
            continue
        told = session.rows[key].high_watermark
        if known.current_leader_epoch != part.current_leader_epoch and told != -1:
            return f"{part.tp} of {part.current_leader_epoch} was told {told} before: {known}"
    return None


@of_method(FetchContext, "answer")
def answer(
    context: Context, results: Sequence[PartAnswer]
) -> Generator[None, tuple[int, Iterable[tuple[FetchedPart, PartAnswer]]], Broken]:
    """What has records or an error, or sends its reader elsewhere, is answered."""
    parts, is_incremental = list(context.parts), context.is_incremental
    news = [index for index, result in enumerate(results) if _is_news(result)]
    _, told = yield
    if not is_incremental:
        return None
    answered = [id(part) for part, _ in told]
    left_out = [parts[index].tp for index in news if id(parts[index]) not in answered]
    return f"{left_out} are left out" if left_out else None


def _is_news(result: PartAnswer) -> bool:
    return (
        result.records_size_bytes > 0
        or result.error_code != ErrorCode.NONE
        or result.diverging_epoch is not None
        or result.preferred_read_replica >= 0
    )


@of_method(FollowerSession, "next_request")
def next_request(
    session: Following,
    wanted: Mapping[Any, object],
    changed: Iterable[Any],
    dropped: Iterable[Any],
) -> Generator[None, SessionRequest[Any], Broken]:
    """A full request names all that is wanted, another one what changed and what is not."""
    is_incremental = session.is_incremental
    moved, gone = list(changed), list(dropped)
    request = yield
    if (request.session_epoch > 0) is not is_incremental:
        return f"{request} is incremental: {is_incremental}"
    sent = [key for key in moved if key in wanted] if is_incremental else list(wanted)
    if request.send != sent:
        return f"{request.send} are named, not {sent}"
    kept = [key for key in request.forget if key in wanted or key not in gone]
    return f"{kept} are wanted and forgotten" if kept else None


@of_method(FollowerSession, "answered")
def answered(session: Following, error_code: int, session_id: int) -> Generator[None, bool, Broken]:
    """A session that its leader does not know is begun anew, any other goes on."""
    was_incremental = session.is_incremental
    goes_on = yield
    if goes_on is not (error_code == ErrorCode.NONE):
        return f"error {error_code}, it goes on: {goes_on}"
    if goes_on:
        is_right = session.is_incremental is (was_incremental or session_id > 0)
    else:
        is_right = session.is_incremental is (was_incremental and error_code not in _LOST)
    return None if is_right else f"error {error_code}: is incremental {session.is_incremental}"


@of_function(closest.closest_replica)
def closest_replica(
    partition: Partition,
    *,
    client_rack: str,
    fetch_offset: int,
    rack_of: Callable[[int], str | None],
) -> Generator[None, int, Broken]:
    """A reader is sent to a member of the Isr in its rack that has the offset, never elsewhere."""
    chosen = yield
    there = {
        replica: follower
        for replica, follower in partition.followers.items()
        if replica in partition.isr.isr and rack_of(replica) == client_rack
        if follower.log_start_offset <= fetch_offset <= follower.log_end_offset
    }
    is_asked = client_rack and partition.is_leader and rack_of(partition.broker_id) != client_rack
    if not is_asked or not there:
        return None if chosen == -1 else f"rack {client_rack!r} is sent to {chosen}"
    furthest = max(follower.log_end_offset for follower in there.values())
    if all(replica != chosen or one.log_end_offset < furthest for replica, one in there.items()):
        return f"{client_rack} is sent to {chosen}, in its rack are {there}"
    return None


@of_function(quotas.is_throttled_replica)
def is_throttled_replica(
    entries: Sequence[str], *, partition: int, broker_id: int
) -> Generator[None, bool, Broken]:
    """A replica is throttled where the list names it, or all."""
    is_throttled = yield
    named = [tuple(map(int, each.split(":"))) for each in entries if each != "*"]
    wanted = len(named) < len(entries) or (partition, broker_id) in named
    return None if is_throttled is wanted else f"{partition}:{broker_id} in {list(entries)}"


@of_method(ReplicationQuota, "record")
def record(quota: ReplicationQuota, size_bytes: int, now_ms: int) -> Generator[None, None, Broken]:
    """What was transferred is to be paid for at the limit."""
    room = quota.room_bytes(now_ms)
    yield
    after = quota.room_bytes(now_ms)
    if not quota.is_limited or size_bytes <= 0:
        return None
    window_ms = quota._window_ms  # noqa: SLF001 -- nothing public has it
    window = quota.limit_bytes_per_second * window_ms // 1000 + 1
    if after > max(room - size_bytes, -window) + 1:
        return f"{size_bytes} bytes leave {after} of {room} to transfer"
    return None


@of_method(ReplicationQuota, "is_exceeded")
def is_exceeded(quota: ReplicationQuota, now_ms: int) -> Generator[None, bool, Broken]:
    """A transfer waits while more was transferred than the limit lets through, and only then."""
    waits = yield
    room = quota.room_bytes(now_ms)
    if not quota.is_limited:
        return "there is no limit, and it waits" if waits else None
    is_right = room == 0 or waits is (room < 0)  # a part of a byte shows as none
    return None if is_right else f"{room} bytes are left, it waits: {waits}"


@of_method(ReplicationQuota, "wait_ms")
def wait_ms(quota: ReplicationQuota, now_ms: int) -> Generator[None, int, Broken]:
    """After its wait a transfer is let in, and not a millisecond sooner."""
    waits_ms = yield
    is_let_in = not quota.is_exceeded(now_ms + waits_ms)
    is_shortest = waits_ms == 0 or quota.is_exceeded(now_ms + waits_ms - 1)
    return None if is_let_in and is_shortest else f"{waits_ms} ms at {now_ms}"


@of_function(requests.follower_request)
def follower_request(
    settings: requests.FetchSettings,
    plan: SessionRequest[TopicIdPartition],
    ready: Mapping[TopicIdPartition, Followed],
    wait_ms: int,
) -> Generator[None, FetchRequest, Broken]:
    """A follower asks from the end of its logs on, in their leader epochs, and waits its time."""
    request = yield
    if not 0 <= request.max_wait_ms <= settings.max_wait_ms:
        return f"it waits {request.max_wait_ms} of {settings.max_wait_ms} ms"
    named = {
        (topic.topic_id, part.partition): part
        for topic in request.topics
        for part in topic.partitions
    }
    if named.keys() != dict.fromkeys(plan.send).keys():
        return f"{plan.send} are asked for, named are {list(named)}"
    for key, part in named.items():
        entry, limit = ready[key], part.partition_max_bytes
        asked = (part.fetch_offset, part.log_start_offset, part.last_fetched_epoch)
        if part.current_leader_epoch != entry.leader_epoch or asked != entry.replica.position():
            return f"{entry.replica.tp} is asked for as {part}"
        if limit != min(entry.share_bytes, settings.partition_max_bytes):
            return f"{entry.replica.tp} may have {limit} bytes"
    return None
