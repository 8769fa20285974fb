"""What one group of the classic protocol promises: who leads, what is chosen, who may go on.

Source: ClassicGroup.java, ClassicGroupState.java; KIP-345, KIP-394.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from typing import Final

from broker.core.groups import group_metadata
from broker.core.groups.classic_group import ClassicGroup, GroupState, Member
from broker.core.groups.subscription import subscription_of
from protocol.errors import ErrorCode, Malformed
from protocol.messages.group_records import GroupMetadataValue
from protocol.stored_records import decode_versioned
from simulation.contracts.contract import Broken, invariant, of_function, of_method

_NEXT: Final = {
    "Empty": "PreparingRebalance",
    "PreparingRebalance": "CompletingRebalance Empty",
    "CompletingRebalance": "Stable PreparingRebalance",
    "Stable": "PreparingRebalance",
}


@invariant(ClassicGroup, "add", "remove", "change", "replace_id")
def members_and_what_is_known_of_them(group: ClassicGroup) -> Broken:
    """A group knows how many members support each protocol, who is static, and who leads."""
    counts = Counter(
        name
        for each in group.members.values()
        for name in dict.fromkeys(name for name, _ in each.protocols)
    )
    if group._supporters != counts:  # noqa: SLF001 -- what they are for shows late
        return f"supporters are {group._supporters}, not {counts}"  # noqa: SLF001 -- as above
    static = {
        each.instance_id: each.member_id
        for each in group.members.values()
        if each.instance_id is not None
    }
    if group.instances != static:
        return f"static members are {group.instances}, not {static}"
    if group.pending.keys() & group.members.keys():
        return f"{list(group.pending)} are to join, and some are members"
    is_led = group.leader_id is None or group.leader_id in group.members
    return None if is_led else f"{group.leader_id} leads and is no member"


@of_method(ClassicGroup, "move_to")
def move_to(group: ClassicGroup, state: GroupState, wall_ms: int) -> Generator[None, None, Broken]:
    """A group goes its way: it prepares, completes, is stable, and prepares again."""
    before = group.state
    yield
    if (group.state, group.previous_state, group.state_since_ms) != (state, before, wall_ms):
        return f"{before} to {state}: {group.state} after {group.previous_state}"
    is_way = state.value in _NEXT.get(before.value, "").split()
    return None if is_way else f"it goes from {before} to {state}"


@of_method(ClassicGroup, "add")
def add(group: ClassicGroup, member: Member, protocol_type: str) -> Generator[None, None, Broken]:
    """The first member says what a group is, and leads it; later ones come behind."""
    ids, leader, kind = list(group.members), group.leader_id, group.protocol_type
    yield
    if list(group.members) != [*ids, member.member_id]:
        return f"{member.member_id} comes to {ids}: {list(group.members)}"
    wanted = (leader or member.member_id, kind if ids else protocol_type)
    held = (group.leader_id, group.protocol_type)
    return None if held == wanted else f"{held}, not {wanted}"


@of_method(ClassicGroup, "remove")
def remove(group: ClassicGroup, member_id: str) -> Generator[None, None, Broken]:
    """Of a member that goes nothing is left; if it led, the one that came first does."""
    rest = [each for each in group.members if each != member_id]
    leads = group.leader_id == member_id and member_id in group.members
    leader = group.leader_id
    yield
    if list(group.members) != rest or {member_id} & {*group.pending, *group.unsynced}:
        return f"without {member_id} there are {list(group.members)}, {list(group.pending)}"
    wanted = (rest[0] if rest else None) if leads else leader
    return None if group.leader_id == wanted else f"{group.leader_id} leads, not {wanted}"


@of_method(ClassicGroup, "elect_joined_leader")
def elect_joined_leader(group: ClassicGroup) -> Generator[None, bool, Broken]:
    """Only who joined can assign: a leader that did not is replaced by the first that did."""
    before, joined = group.leader_id, list(group.join_waiters)
    is_led = yield
    wanted = before if before in joined or not joined else joined[0]
    if group.leader_id != wanted or is_led is not bool(joined):
        return f"{group.leader_id} leads, not {wanted}: {is_led}, {joined} joined"
    return None


@of_method(ClassicGroup, "begin_generation")
def begin_generation(group: ClassicGroup, wall_ms: int) -> Generator[None, None, Broken]:
    """Each join phase ends with the next generation, in which all are to ask for their share."""
    before = group.generation
    yield
    if group.generation - before != 1:
        return f"generation {group.generation} after {before}"
    state = GroupState.COMPLETING_REBALANCE if group.members else GroupState.EMPTY
    if group.state is not state or set(group.unsynced) != set(group.members):
        return f"{group.state} with {list(group.members)}, {list(group.unsynced)} are to ask"
    names = {name for each in group.members.values() for name, _ in each.protocols}
    is_chosen = group.protocol_name in names if names else group.protocol_name is None
    return None if is_chosen else f"the protocol is {group.protocol_name} of {sorted(names)}"


@of_method(ClassicGroup, "selected_protocol")
def selected_protocol(group: ClassicGroup) -> Generator[None, str, Broken]:
    """The protocol is one that all know, and that most prefer among those."""
    chosen = yield
    lists = [[name for name, _ in each.protocols] for each in group.members.values()]
    common = set(lists[0]).intersection(*lists[1:])
    votes = Counter(min(common, key=names.index) for names in lists)
    if votes[chosen] != max(votes.values()):
        return f"{chosen} is chosen, the votes are {dict(votes)}"
    return None


@of_method(ClassicGroup, "supports")
def supports(
    group: ClassicGroup, protocol_type: str, names: Iterable[str]
) -> Generator[None, bool, Broken]:
    """A member must share the type of its group, and a protocol that all know."""
    names = list(names)
    told = yield
    wanted = bool(protocol_type and names)
    if group.state is not GroupState.EMPTY:
        known = [{name for name, _ in each.protocols} for each in group.members.values()]
        shared = [name for name in names if all(name in each for each in known)]
        wanted = bool(shared) and protocol_type == group.protocol_type
    return None if told is wanted else f"{told} for {names} of {protocol_type} in {group.state}"


@of_method(ClassicGroup, "read_subscribed_topics")
def read_subscribed_topics(group: ClassicGroup) -> Generator[None, frozenset[str] | None, Broken]:
    """A group reads what any of its members subscribes to."""
    told = yield
    if group.protocol_type != "consumer" or (group.members and group.protocol_name is None):
        return None if told is None else f"{told} of a group of {group.protocol_type}"
    topics = frozenset[str]()
    try:
        for member in group.members.values():
            said = dict(member.protocols).get(group.protocol_name or "", b"")
            topics |= frozenset(subscription_of(bytes(said)).topics)
    except Malformed:
        # Somebody says what nobody reads, or a version whose fields are unknown.
        return None
    return None if told == topics else f"{told}, not {sorted(topics)}"


@of_method(ClassicGroup, "generation_error")
def generation_error(
    group: ClassicGroup, member_id: str, instance_id: str | None, generation: int
) -> Generator[None, ErrorCode, Broken]:
    """Only members of this generation go on; who has another's instance id is fenced first."""
    code = yield
    wanted = refusal(group, member_id, instance_id)
    if wanted is ErrorCode.NONE and generation - group.generation:
        wanted = ErrorCode.ILLEGAL_GENERATION
    if code is not wanted:
        return f"{code.name}, not {wanted.name}: {member_id} of {generation}"
    return None


@of_method(ClassicGroup, "member_error")
def member_error(
    group: ClassicGroup, member_id: str, instance_id: str | None
) -> Generator[None, ErrorCode, Broken]:
    """Who is no member is told so, and a static one whose place another has is fenced."""
    code = yield
    wanted = refusal(group, member_id, instance_id)
    return None if code is wanted else f"{code.name}, not {wanted.name}: {member_id}"


def refusal(group: ClassicGroup, member_id: str, instance_id: str | None) -> ErrorCode:
    """Return why somebody is no member of a group; NONE for one that is."""
    holders = [each.member_id for each in group.members.values() if each.instance_id == instance_id]
    if instance_id is not None and holders and member_id not in holders:
        return ErrorCode.FENCED_INSTANCE_ID
    is_static = instance_id is None or bool(holders)
    is_member = is_static and member_id in group.members
    return ErrorCode.NONE if is_member else ErrorCode.UNKNOWN_MEMBER_ID


@of_method(ClassicGroup, "have_all_joined")
def have_all_joined(group: ClassicGroup) -> Generator[None, bool, Broken]:
    """A join phase has all when nobody is missing that was, or was asked to come."""
    told = yield
    missing = {*group.members, *group.pending} - set(group.join_waiters)
    return None if told is not bool(missing) else f"{told}, {sorted(missing)} are missing"


@of_method(ClassicGroup, "rebalance_timeout_ms")
def rebalance_timeout(group: ClassicGroup) -> Generator[None, int, Broken]:
    """A group waits as long as its slowest member asks for."""
    told = yield
    wanted = [each.rebalance_timeout_ms for each in group.members.values()] or [0]
    return None if told == sorted(wanted)[-1] else f"{told} of {wanted}"


# The log.


@of_function(group_metadata.stored_group)
def stored_group(group_id: str, value: GroupMetadataValue) -> Generator[None, ClassicGroup, Broken]:
    """A group that is loaded is the one that was stored: stable, or empty without members."""
    group = yield
    members = [
        (row.member_id, row.group_instance_id, bytes(row.assignment), row.session_timeout)
        for row in value.members
    ]
    held = [
        (each.member_id, each.instance_id, each.assignment, each.session_timeout_ms)
        for each in group.members.values()
    ]
    state = "Stable" if members else "Empty"
    told = (value.generation, value.protocol, value.leader, state, members)
    known = (group.generation, group.protocol_name, group.leader_id, group.state.value, held)
    return None if known == told else f"{told} is loaded as {known}"


@of_function(group_metadata.group_record)
def group_record(
    group: ClassicGroup, *, is_led: bool = True
) -> Generator[None, tuple[bytes, bytes | None], Broken]:
    """What is stored of a group is all that who loads it needs."""
    _, value = yield
    if value is None:
        return f"{group.group_id} is stored as gone"
    read = decode_versioned(GroupMetadataValue, value)[0]
    rows = [(each.member_id, bytes(each.assignment)) for each in read.members]
    members = [(each.member_id, each.assignment) for each in group.members.values()]
    told = (read.generation, read.protocol, read.leader, rows)
    leader = group.leader_id if is_led else None
    known = (group.generation, group.protocol_name, leader, members)
    return None if known == told else f"{known} is stored as {told}"
