"""Stories of a group of the classic protocol, for its contracts."""

from __future__ import annotations

from collections.abc import Callable

from broker.core.groups.decision import Decision
from broker.core.groups.membership import Committer
from protocol.errors import ErrorCode
from tests.broker.core.groups.lab import DELAY_MS, GROUP, REBALANCE_MS, SESSION_MS, Lab


def lab_of(*, static: bool = False, **config: int) -> tuple[Lab, list[str]]:
    """Return a group with two members, the first of which leads it; it is stable."""
    lab = Lab(**config)
    if static:
        joins = [lab.join(instance_id=name) for name in ("a", "b")]
    else:
        joins = [lab.join(lab.id_for()) for _ in range(2)]
    lab.later(2 * DELAY_MS)
    ids = [lab.joined(each).member_id for each in joins]
    lab.sync(ids[1])
    lab.sync(ids[0], dict.fromkeys(ids, b"share"))
    return lab, ids


def stable() -> None:
    lab_of()


def beats() -> None:
    lab, ids = lab_of()
    lab.later(1)
    lab.heartbeat(ids[1])


def joins_again() -> None:
    lab, ids = lab_of()
    lab.join(ids[0])
    lab.heartbeat(ids[1])
    lab.join(ids[1])


def one_is_silent() -> None:
    lab, ids = lab_of()
    lab.later(SESSION_MS // 2)
    lab.heartbeat(ids[0])
    lab.later(SESSION_MS // 2 + 1)


def one_leaves() -> None:
    lab, ids = lab_of()
    lab.join(ids[0])
    lab.leave(ids[1])


def a_stranger_leaves() -> None:
    lab, _ = lab_of()
    lab.leave("nobody")


def nobody_asks_for_shares() -> None:
    lab = Lab()
    waiters = [lab.join(lab.id_for(), session_timeout_ms=2 * REBALANCE_MS) for _ in range(2)]
    lab.later(2 * DELAY_MS)
    lab.sync(lab.joined(waiters[1]).member_id)
    lab.later(REBALANCE_MS)


def one_asks_twice_for_its_share() -> None:
    lab = Lab()
    waiters = [lab.join(lab.id_for()) for _ in range(2)]
    lab.later(2 * DELAY_MS)
    for _ in range(2):
        lab.sync(lab.joined(waiters[1]).member_id)


def static_one_comes_back() -> None:
    lab, ids = lab_of(static=True)
    lab.join(ids[0], instance_id="a")
    lab.join(instance_id="a")


def goes_over() -> None:
    lab, ids = lab_of()
    lab.join(ids[0])
    lab.groups.dissolve(lab.group, Decision(lab.now_ms, lab.wall_ms))


def commits(generation: int) -> Callable[[], object]:
    def use() -> None:
        lab, ids = lab_of()
        lab.later(1)
        committer = Committer(member_id=ids[0], generation=generation, is_transactional=False)
        lab.groups.validate_commit(GROUP, committer, lab.now_ms)

    return use


def loads() -> None:
    lab_of()[0].reloaded()


def deletes() -> None:
    lab, ids = lab_of()
    lab.leave(*ids)
    assert lab.groups.deletion_error(GROUP) is ErrorCode.NONE
    lab.groups.offsets_gone(GROUP)


def nobody_comes() -> None:
    lab = Lab()
    lab.id_for()
    lab.later(SESSION_MS + 1)


def static_leader_comes_back(*, while_it_assigns: bool) -> Callable[[], object]:
    def use() -> None:
        lab, ids = lab_of(static=True)
        if while_it_assigns:
            lab.join(ids[0], instance_id="a")
            lab.join(ids[1], instance_id="b")
        lab.join(instance_id="a")

    return use
