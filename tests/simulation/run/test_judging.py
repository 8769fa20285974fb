"""A cluster that is well answers as Apache Kafka does; one that does not is told of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from conformance.core.catalogue import Variant, variants
from conformance.core.every_case import EVERY_CASE
from conformance.core.expectations import Observation as CaseSeen
from conformance.errors import NotInTimeError
from protocol.faults.model import DiskMode, NetworkMode
from protocol.ids import TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS
from simulation.core.draw_judged import CONFIGS
from simulation.core.observation import (
    Observation,
    ObservedLogDir,
    ObservedNode,
    ObservedPartition,
)
from simulation.core.plan import Ending
from simulation.core.verdict import Verdict
from simulation.run.judging import NOT_ASKED, Observe, drawn, observed, why_not_judged
from simulation.simulated_run import simulate
from tests.simulation.run.played import found, plan_of, story

EVERY_VARIANT = list(variants(EVERY_CASE, dict.fromkeys(range(100), (0, 30))))
NOTHING: CaseSeen = []
LOST = ObservedPartition(leader=-1, leader_epoch=3, replicas=(1,), isr=(1,), offline_replicas=(1,))


@pytest.mark.parametrize(
    ("seen", "why_not"),
    [
        (Observation(now_ms=0), ""),
        (
            Observation(now_ms=0, metadata={1: {TopicPartition(CONSUMER_OFFSETS, 0): LOST}}),
            "__consumer_offsets is lost",
        ),
        (Observation(now_ms=0, metadata={1: {TopicPartition("orders", 0): LOST}}), ""),
        (
            Observation(now_ms=0, nodes={"broker-1": ObservedNode(state="stopped")}),
            "broker-1 is down",
        ),
        (
            Observation(now_ms=0, log_dirs={(1, "d2"): ObservedLogDir(error="NONE")}),
            "",
        ),
        (
            Observation(
                now_ms=0, log_dirs={(1, "d2"): ObservedLogDir(error="NONE", is_cordoned=True)}
            ),
            "d2 of broker-1 is cordoned or offline",
        ),
        (
            Observation(
                now_ms=0, log_dirs={(2, "d1"): ObservedLogDir(error="KAFKA_STORAGE_ERROR")}
            ),
            "d1 of broker-2 is cordoned or offline",
        ),
    ],
)
def test_what_is_not_whole_is_not_judged(seen: Observation, why_not: str) -> None:
    assert why_not_judged(seen, [DiskMode.EIO, NetworkMode.CUT]) == why_not


def test_who_may_have_dead_connections_is_not_judged() -> None:
    """Seed 987369: a follower asked its leader by one, and a coordinator waited too long for it."""
    assert why_not_judged(Observation(now_ms=0), [DiskMode.EIO, NetworkMode.HALF_OPEN])


def test_small_groups_of_cases_come_as_often_as_large_ones() -> None:
    groups = Counter(
        each.case.group for seed in range(400) for each in drawn(EVERY_VARIANT, 2, Random(seed))
    )
    sizes = Counter(each.case.group for each in EVERY_VARIANT)
    assert max(sizes.values()) > 20 * min(sizes.values())
    assert max(groups.values()) < 6 * min(groups.values())


def test_no_case_is_drawn_twice_and_all_are_in_the_end() -> None:
    def names(chosen: list[Variant]) -> list[str]:
        return [each.case.name for each in chosen]

    found = names(drawn(EVERY_VARIANT, 1_000_000, Random(1)))
    assert sorted(found) == sorted(dict.fromkeys(names(EVERY_VARIANT)))


async def test_a_case_that_could_not_be_carried_out_is_tried_once_more() -> None:
    """A broker's first request to the controller was lost with a dead connection (seed 746016)."""
    chosen = EVERY_VARIANT[:3]
    tried: list[tuple[str, list[str]]] = []

    def new_trial(suffix: str) -> Observe:
        async def observe(variants: Sequence[Variant]) -> dict[str, CaseSeen | str]:
            tried.append((suffix, [each.name for each in variants]))
            never, once = chosen[1].name, chosen[2].name
            failing = (never, once) if len(tried) == 1 else (never,)
            return {each.name: "not made" if each.name in failing else NOTHING for each in variants}

        return observe

    seen = await observed(chosen, new_trial)

    names = [each.name for each in chosen]
    assert [each for _, each in tried] == [names, names[1:]]
    assert tried[0][0] != tried[1][0]
    assert [seen[each.name] for each in chosen] == [NOTHING, "not made", NOTHING]


@pytest.mark.parametrize("code", [7, 14, 16, 19, 69])
async def test_a_case_with_an_answer_that_may_be_of_the_moment_is_tried_once_more(
    code: int,
) -> None:
    """The lost request was answered for who sent it (seed 146); a group had gone (920066)."""
    (variant,) = EVERY_VARIANT[:1]
    late: CaseSeen = [{"came": [{"body": {"topics": [{"errorCode": code}]}}]}]
    answers = [late, NOTHING]

    def new_trial(_: str) -> Observe:
        async def observe(_: Sequence[Variant]) -> dict[str, CaseSeen | str]:
            return {variant.name: answers.pop(0)}

        return observe

    assert await observed([variant], new_trial) == {variant.name: NOTHING}
    assert answers == []
    answers += [late, late]
    assert await observed([variant], new_trial) == {variant.name: late}


async def test_cases_are_tried_once_more_that_had_no_coordinator_in_time() -> None:
    """The request that was to make its topic was lost on a dead connection (seed 920025)."""
    (variant,) = EVERY_VARIANT[:1]
    tried: list[str] = []

    def new_trial(suffix: str) -> Observe:
        async def observe(_: Sequence[Variant]) -> dict[str, CaseSeen | str]:
            tried.append(suffix)
            if len(tried) != 2:
                raise NotInTimeError("there is no coordinator")
            return {variant.name: NOTHING}

        return observe

    assert await observed([variant], new_trial) == {variant.name: NOTHING}
    tried.append("so that none comes in time")
    with pytest.raises(NotInTimeError):
        await observed([variant], new_trial)


def test_what_is_never_asked_is_a_case_that_there_is() -> None:
    assert set(NOT_ASKED) <= {each.name for each in EVERY_CASE}


def judged(cases: int, **configs: str) -> Verdict:
    named = {name.replace("_", "."): value for name, value in configs.items()}
    plan = plan_of(
        """
        - until: {count: {workload: load, at_least: 5}}
        - fault: {id: dead, broker: 1, log_dir: of a-0, mode: eio}
        - until: {leader: {of: a-0, is: 2}}
        """,
        brokers=3,
        rest="workloads: [{name: load, topic: a}]",
    )
    cluster = replace(plan.cluster, configs={**CONFIGS, **named})
    return simulate(replace(plan, cluster=cluster, ending=Ending(judged_cases=cases)), 0).verdict


def test_a_cluster_that_was_broken_answers_as_kafka_does_once_it_is_well() -> None:
    verdict = judged(20)
    assert found(verdict) == []
    assert "20 cases were held against Kafka's answers" in story(verdict)


def test_one_that_answers_otherwise_is_told_of_with_the_case() -> None:
    """Here no broker keeps fetch sessions."""
    texts = found(judged(60, max_incremental_fetch_session_cache_slots="0"))
    assert any(text.startswith("Kafka's answers: sessions/") for text in texts)
