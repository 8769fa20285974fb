from __future__ import annotations

import pytest

from tests.simulation.run.played import found, play, story


def test_steps_follow_each_other_and_wait_for_their_time() -> None:
    verdict = play(
        """
        - {at: 2s, expect: {led: a-0}}
        - wait: 500ms
        - {at: 1min, says: A minute later., expect: {leader: {of: a-0, is: 1}}}
        """
    )

    assert found(verdict) == []
    times = [line.at_ms for line in verdict.story if line.text == "a-0 is led by broker-1"]
    assert 2000 <= times[0] < 2100
    assert 60_000 <= times[1] < 60_100
    assert "A minute later." in story(verdict)


def test_until_waits_for_a_condition_and_tells_how_long() -> None:
    verdict = play(
        """
        - {create_topic: b}
        - until: {led: b-0}
        """
    )

    assert found(verdict) == []
    assert any(line.startswith("b-0 is led by broker-1, after ") for line in story(verdict))


def test_until_fails_at_its_deadline_and_tells_what_was_seen_instead() -> None:
    verdict = play("- {until: {led: no-such-0}, within: 3s}")

    (told,) = found(verdict)
    assert told.startswith("steps: until: {led: no-such-0}, within: 3s: not so after 3")
    assert told.endswith(": there is no no-such-0, says broker-1")


def test_expect_fails_when_the_condition_does_not_hold_now() -> None:
    assert found(play("- expect: {leader_epoch: {of: a-0, is: 7}}")) == [
        "steps: expect: {leader_epoch: {of: a-0, is: 7}}: a-0 has leader epoch 0, says broker-1"
    ]


def test_holds_fails_at_the_first_look_that_denies_it() -> None:
    verdict = play(
        """
        - when: {count: {workload: load, at_least: 20}}
          steps: [{stop_workload: load}]
        - {holds: {count: {workload: load, at_most: 10}}, for: 5s}
        """,
        rest="workloads: [{name: load, topic: a, interval: 50ms}]",
    )

    assert found(verdict)[0].endswith(": load has 11 acknowledged")


def test_holds_is_well_when_nothing_denies_it() -> None:
    verdict = play("- {holds: {full_isr: a}, for: 2s}")

    assert found(verdict) == []
    assert "the Isr of a-0 is [1] of [1], for 2000 ms" in story(verdict)


def test_when_does_its_steps_beside_the_others_once() -> None:
    verdict = play(
        """
        - when: {topic_exists: b}
          steps:
            - delete_topic: b
        - create_topic: b
        - until: {topic_exists: b}
        - until: {not: {topic_exists: b}}
        """
    )

    assert found(verdict) == []
    assert verdict.done["delete_topic"] == 1


def test_a_when_that_never_was_so_is_wrong() -> None:
    verdict = play(
        """
        - when: {topic_exists: no-such-topic}
          steps: [{wait: 1s}]
        """
    )

    assert found(verdict) == ["steps: when: topic_exists: no-such-topic: it never was so"]


def test_the_first_step_that_goes_wrong_is_the_last() -> None:
    verdict = play(
        """
        - {create_topic: a, answers: NONE}
        - create_topic: b
        """
    )

    assert found(verdict) == [
        "steps: create_topic: a: is answered with TOPIC_ALREADY_EXISTS, not NONE"
    ]
    assert "create_topic" in verdict.done
    assert not any(line == "create_topic: b" for line in story(verdict))


def test_a_step_that_may_fail_ends_nothing() -> None:
    verdict = play(
        """
        - {create_topic: a, may_fail: true}
        - {start: 1, may_fail: true}
        - create_topic: b
        """
    )

    assert found(verdict) == []
    assert "create_topic: a: is answered with TOPIC_ALREADY_EXISTS, not NONE" in story(verdict)
    assert "start: broker-1: broker-1 runs" in story(verdict)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_fault_that_met_nothing_is_wrong(seed: int) -> None:
    idle = "fault: {id: idle, broker: 1, log_dir: d2, mode: hang, operations: [truncate]}"

    (wrong,) = found(play(f"- {idle}", seed=seed))

    assert wrong.startswith("faults: the fault idle never met anything: fault: {id: idle, ")


def test_a_step_that_may_fail_does_not_excuse_its_fault() -> None:
    idle = "{id: idle, broker: 1, log_dir: d2, mode: hang, operations: [truncate]}"

    (wrong,) = found(play(f"- {{fault: {idle}, may_fail: true}}"))

    assert wrong.startswith("faults: the fault idle never met anything")


def test_a_step_that_may_fail_is_left_out_when_its_time_is_long_over() -> None:
    verdict = play(
        """
        - wait: 30s
        - {at: 1s, may_fail: true, create_topic: late}
        - {at: 1s, create_topic: wanted}
        - {at: 1s, may_fail: true, edit_journal: copy}
        - {at: 23s, may_fail: true, create_topic: later}
        """
    )

    assert found(verdict) == []
    made = [line for line in story(verdict) if line.startswith("create_topic")]
    assert made[-2:] == ["create_topic: wanted", "create_topic: later"]
    assert "create_topic: late" not in made
    assert "edit_journal: copy" in story(verdict)  # What edits it again must find the copy.


def test_an_order_that_may_fail_is_given_up_when_nobody_answers_it_in_time() -> None:
    verdict = play(
        """
        - pause: controller
        - {at: 1s, may_fail: true, create_topic: late}
        - resume: controller
        - until: {led: late-0}
        """
    )

    assert found(verdict) == []
    (given_up,) = (line for line in verdict.story if "late: nobody answers" in line.text)
    assert 9_000 <= given_up.at_ms < 9_100


def test_a_node_that_nobody_waits_for_any_more_is_killed() -> None:
    verdict = play(
        """
        - pause: broker-1
        - {at: 1s, may_fail: true, stop: broker-1}
        - expect: {node: {node: broker-1, state: stopped}}
        """
    )

    assert found(verdict) == []
    assert "stop: broker-1: nobody answers, it is given up" in story(verdict)


def test_a_client_that_nobody_waits_for_any_more_ends_all_the_same() -> None:
    verdict = play(
        """
        - {at: 500ms, pause: broker-1}
        - {at: 1s, may_fail: true, stop_workload: load}
        - resume: broker-1
        """,
        rest="workloads: [{name: load, topic: a, interval: 50ms, idempotent: true}]",
    )

    assert found(verdict) == []
    assert "stop_workload: load: nobody answers, it is given up" in story(verdict)
