"""Hypothesis draws steps of any kind, whose names are those of a small cluster."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from protocol.faults.model import DiskFault, DiskMode, NetworkFault, NetworkMode
from simulation.core.actions import Action, Fault, Step, When
from simulation.core.conditions import AllOf, AnyOf, Condition, Not
from simulation.core.plan_words import ACTIONS, CONDITIONS, Word, words_of
from simulation.core.references import Means

NAMES: dict[Means, list[str]] = {
    Means.NODE: ["controller", "broker-1", "leader of orders-0"],
    Means.BROKER: ["broker-3", "follower of orders-0"],
    Means.LOG_DIR: ["d1", "d2", "of orders-0"],
    Means.PARTITIONS: ["orders-0", "orders", "*"],
    Means.TOPIC: ["orders", "no-such-topic"],
    Means.NEW_TOPIC: ["orders", "late"],
    Means.CODE: ["NONE", "KAFKA_STORAGE_ERROR"],
    Means.WORKLOAD: ["load"],
    Means.FAULT: ["dead", "*"],
    Means.FILE: ["meta.properties", "orders-0/*.log"],
    Means.NEW_NAME: ["slow-disk"],
}
RULES = [
    DiskFault(mode=DiskMode.EIO, node="broker-1", log_dir="d1"),
    DiskFault(mode=DiskMode.SLOW, node="leader of orders-0", delay_ms=20),
    DiskFault(mode=DiskMode.EIO, node="broker-2", name="orders-0"),
    NetworkFault(mode=NetworkMode.LATENCY, source="*", target="controller", latency_ms=3),
]
_PLAIN: dict[Any, SearchStrategy[Any]] = {
    str: st.sampled_from(["a", "no", "1", "2s"]),
    int: st.integers(0, 9),
    float: st.floats(0, 9),
    bool: st.booleans(),
}


def steps() -> SearchStrategy[Step]:
    """Draw a step of any kind."""
    return st.builds(
        Step,
        action=actions(),
        at_ms=st.none(),
        says=st.sampled_from([None, "So it is.", "a: {b}"]),
    )


def actions() -> SearchStrategy[Action]:
    """Draw an action of any kind; its fault has a name of its own for a single use."""
    return st.one_of(
        [_built(class_) for class_ in ACTIONS.values() if class_ not in (Fault, When)]
        + [
            st.builds(
                When,
                condition=conditions(),
                steps=st.tuples(st.builds(Step, action=_built(ACTIONS["kill"]))),
            )
        ]
    )


def conditions() -> SearchStrategy[Condition]:
    """Draw a condition of any kind; one that takes bounds has them all."""
    nested = (AllOf, AnyOf, Not)
    leaves = st.one_of([_built(each) for each in CONDITIONS.values() if each not in nested])
    return st.one_of(
        leaves,
        st.builds(AllOf, st.tuples(leaves, leaves)),
        st.builds(Not, st.builds(AnyOf, st.tuples(leaves))),
    )


def _built(class_: type[Any]) -> SearchStrategy[Any]:
    return st.builds(class_, **{word.field: _field(word) for word in words_of(class_)})


def _field(word: Word) -> SearchStrategy[Any]:
    if word.is_duration:
        return st.sampled_from([0, 1, 999, 1000, 60_000, 61_000])
    return _drawn(word.type_)


def _drawn(type_: Any) -> SearchStrategy[Any]:
    if type_ == Condition:
        return conditions()
    arguments = get_args(type_)
    origin = get_origin(type_)
    if origin is typing.Annotated:
        return st.sampled_from(NAMES[arguments[1]])
    if origin is tuple:
        return st.lists(_drawn(arguments[0]), max_size=2).map(tuple)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (typing.Union, types.UnionType):
        return _drawn(arguments[0])
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return st.dictionaries(st.sampled_from(["a.b", "c"]), _drawn(arguments[1]), max_size=2)
    return _PLAIN[type_]
