"""The tables of who hosts what."""

from __future__ import annotations

from controller.core.hosting import add_partitions, drop, host, unhost
from controller.core.state import ClusterState, Topic
from tests.controller.core.cluster import tp


def test_new_partitions_are_numbered_on_and_hosted() -> None:
    state = ClusterState()
    state.topics["t"] = Topic(name="t", topic_id=b"i" * 16, configs={})

    add_partitions(state, "t", ((1, 2), (2,)))
    add_partitions(state, "t", ((1,),))

    assert [str(name) for name in state.partitions()] == ["t-0", "t-1", "t-2"]
    assert {b: [str(name) for name in tps] for b, tps in state.hosted.items()} == {
        1: ["t-0", "t-2"],
        2: ["t-0", "t-1"],
    }


def test_what_is_hosted_is_not_to_be_deleted() -> None:
    state = ClusterState()
    state.removed = {1: {tp("t-0"): None, tp("t-1"): None}, 2: {tp("t-0"): None}}

    host(state, tp("t-0"), (1, 2))

    assert state.removed == {1: {tp("t-1"): None}}


def test_a_broker_without_partitions_has_no_entry() -> None:
    state = ClusterState()
    host(state, tp("t-0"), (1, 2))

    unhost(state, tp("t-0"), (1,))
    assert list(state.hosted) == [2]
    drop(state.hosted, 2, tp("t-0"))
    drop(state.hosted, 2, tp("t-0"))
    assert state.hosted == {}
