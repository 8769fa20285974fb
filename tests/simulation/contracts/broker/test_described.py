"""What the contracts of a broker's answers about its logs say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from broker.engine.serve.describe import Describe
from broker.engine.types import LeaderHint, LogDirDescription
from protocol.errors import ErrorCode
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.simulation.contracts.broker.lab_story import OTHER, Story, told
from tests.simulation.contracts.wrong_rules import answers

LOG_DIRS: Final = Describe.log_dirs


async def describes(lab: Lab) -> None:
    """The one log dir has a log and its future log, the other one is offline in the end."""
    lab[1].set_move_limit(1)
    lab[1].state.quotas.moves.record(1 << 40, lab[1].state.now_ms())
    await lab[1].engine.moves.alter([(ORDERS, lab[1].paths[1])])
    lab[1].engine.describe.log_dirs(None)
    lab[1].engine.describe.log_dirs({ORDERS.topic: [0]})
    lab[1].log_dirs[lab[1].paths[1]].fail("test", OSError("broken"))
    lab[1].engine.describe.log_dirs(None)


def changes(
    change: Callable[[LogDirDescription], LogDirDescription],
) -> Callable[..., list[LogDirDescription]]:
    def rule(describe: Any, topics: Any) -> list[LogDirDescription]:
        return [change(each) for each in LOG_DIRS(describe, topics)]

    return rule


def describes_all(describe: Any, _: object) -> Sequence[LogDirDescription]:
    return LOG_DIRS(describe, None)


def has_no_lag(described: LogDirDescription) -> LogDirDescription:
    return replace(described, replicas=[replace(r, offset_lag=0) for r in described.replicas])


def holds_nothing(described: LogDirDescription) -> LogDirDescription:
    return replace(described, replicas=[])


def is_online(described: LogDirDescription) -> LogDirDescription:
    return replace(described, error_code=ErrorCode.NONE)


def is_cordoned(described: LogDirDescription) -> LogDirDescription:
    return replace(described, is_cordoned=True)


async def asks_for_what_is_elsewhere(lab: Lab) -> None:
    await lab[1].fetch(tp=OTHER._replace(topic="nowhere"))
    lab[1].log_dirs[await lab[1].dir_of() or ""].fail("test", OSError("broken"))
    await lab[1].fetch()


async def asks_who_leads(lab: Lab) -> None:
    lab[1].state.leader_hint(ORDERS)


def wrong_rules() -> Iterator[tuple[str, Callable[..., object], Story]]:
    yield "Describe.log_dirs", answers([]), describes
    yield "Describe.log_dirs", describes_all, describes
    for change in (has_no_lag, holds_nothing, is_online, is_cordoned):
        yield "Describe.log_dirs", changes(change), describes
    for code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
        yield "EngineState.absence", answers(code), asks_for_what_is_elsewhere
    yield "EngineState.leader_hint", answers(LeaderHint(1, -1)), asks_who_leads
    yield "EngineState.leader_hint", answers(LeaderHint(2, 0)), asks_who_leads


@pytest.mark.parametrize(("rule", "wrong", "story"), list(wrong_rules()))
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., object], story: Story
) -> None:
    assert not told(None, rule, story)
    assert told(wrong, rule, story)[0].startswith(f"{rule} breaks its promise")
