"""Contracts stand around their rules while they are entered, and change nothing of them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Generator
from contextlib import suppress

import pytest

from broker.core import isr
from broker.core.isr import effective_min_insync_replicas
from broker.core.partition import Partition
from controller.core.machine import SERVED
from controller.core.quorum import describe_quorum
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.cluster import DescribeQuorumRequest
from simulation.contracts.contract import (
    NAME,
    Broken,
    Contract,
    Contracts,
    invariant,
    of_function,
    of_method,
)


class Counter:
    """A subject."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, number: int, *, at_most: int = 100) -> int:
        """Add, unless that is too much."""
        if number > at_most:
            raise ValueError(number)
        self.count += number
        return self.count

    async def add_later(self, number: int) -> int:
        """Add, unless that is too much, when others had a turn."""
        await asyncio.sleep(0)
        return self.add(number)

    @property
    def half(self) -> int:
        """Half of it."""
        return self.count // 2

    @classmethod
    def at(cls, count: int) -> Counter:
        """Return one that has counted already."""
        counter = cls()
        counter.count = count
        return counter


class NamedCounter(Counter):
    """Inherits the rule."""


@of_method(Counter, "add")
def add(counter: Counter, number: int, *, at_most: int = 100) -> Generator[None, int, Broken]:
    """What is returned is more by the number."""
    before = counter.count
    after = yield
    return None if after == before + number != 13 else f"{after}"


@of_method(Counter, "at")
def at(kind: type[Counter], count: int) -> Generator[None, Counter, Broken]:
    """It begins where it was told, and small."""
    made = yield
    return None if type(made) is kind and made.count == count < 10 else f"{made.count}"


@of_method(Counter, "add_later")
def add_later(counter: Counter, number: int) -> Generator[None, int, Broken]:
    """Nobody else adds meanwhile."""
    before = counter.count
    try:
        after = yield
    except ValueError:
        return f"{number} is too much"
    return None if after == before + number else f"{after} after {before}"


@of_method(Counter, "half")
def half(counter: Counter) -> Generator[None, int, Broken]:
    """Twice the half is no more."""
    found = yield
    return f"{found}" if found * 2 > counter.count or counter.count == 4 else None


@invariant(Counter, "add")
def is_small(counter: Counter) -> Broken:
    """It is small."""
    return f"{counter.count} is large" if counter.count > 50 else None


def watched(*contracts: Contract) -> Contracts:
    return Contracts(contracts, now_us=lambda: 7)


def test_what_breaks_a_promise_is_told_with_the_promise_and_the_time() -> None:
    counter = Counter()
    with watched(add) as contracts:
        assert counter.add(12) == 12
        assert contracts.found == []
        assert counter.add(1) == 13
    (found,) = contracts.found
    assert (found.checker, found.at_us) == (NAME, 7)
    assert found.text == (
        "Counter.add breaks its promise (What is returned is more by the number): 13"
    )
    assert contracts.met == {"Counter.add": 2}


def test_nobody_looks_before_and_after() -> None:
    counter, before = Counter(), Counter.add
    with watched(add):
        assert Counter.add is not before
    assert Counter.add is before
    assert counter.add(13) == 13


def test_a_class_that_inherits_a_rule_is_watched_alone() -> None:
    @of_method(NamedCounter, "add")
    def inherited(_: Counter, number: int) -> Generator[None, int, Broken]:
        """Never."""
        yield
        return f"added {number}"

    with watched(inherited) as contracts:
        Counter().add(1)
        assert contracts.found == []
        NamedCounter().add(2)
    assert len(contracts.found) == 1
    assert "add" not in vars(NamedCounter)


def test_a_property_is_a_rule_too() -> None:
    counter = Counter()
    with watched(half) as contracts:
        counter.count = 6
        assert counter.half == 3
        assert contracts.found == []
        counter.count = 4
        assert counter.half == 2
    assert len(contracts.found) == 1


def test_a_method_of_a_class_is_a_rule_too() -> None:
    with watched(at) as contracts:
        assert NamedCounter.at(9).count == 9
        assert contracts.found == []
        assert Counter.at(10).count == 10
    assert len(contracts.found) == 1
    assert Counter.at(10).count == 10


def test_what_a_rule_raises_is_raised_and_is_no_broken_promise() -> None:
    with watched(add) as contracts, pytest.raises(ValueError, match=r"^200$"):
        Counter().add(200)
    assert contracts.found == []


def test_what_a_rule_raises_leaves_no_garbage_that_has_to_be_looked_for() -> None:
    counter = Counter()
    with watched(add, *is_small):
        gc.collect()
        gc.disable()
        try:
            with suppress(ValueError):
                counter.add(3, at_most=2)
            assert gc.collect() == 0
        finally:
            gc.enable()


def test_a_promise_may_ask_what_is_raised() -> None:
    @of_method(Counter, "add")
    def always(*_: object) -> Generator[None, int, Broken]:
        """It never refuses."""
        try:
            yield
        except ValueError as error:
            return f"refused {error}"
        return None

    with watched(always) as contracts, pytest.raises(ValueError, match=r"^200$"):
        Counter().add(200)
    assert [each.text.rpartition(": ")[2] for each in contracts.found] == ["refused 200"]


def test_a_promise_that_cannot_read_what_came_is_broken() -> None:
    @of_method(Counter, "add")
    def unreadable(counter: Counter, number: int) -> Generator[None, int, Broken]:
        """It can be read."""
        assert number != 1
        yield
        return None if counter.count / (number - 2) else ""

    counter = Counter()
    with watched(unreadable) as contracts:
        assert counter.add(1) == 1
        assert counter.add(2) == 3
    told = [each.text.partition("): ")[2] for each in contracts.found]
    assert told[0].startswith("it cannot be asked before: AssertionError")
    assert told[1] == "it cannot be asked after: ZeroDivisionError('division by zero')"


def test_an_invariant_holds_after_each_method_that_may_break_it() -> None:
    counter = Counter()
    with watched(*is_small) as contracts:
        counter.add(50)
        assert contracts.found == []
        for _ in range(10):
            counter.add(1)
    assert [each.text.rpartition(": ")[2] for each in contracts.found] == [
        "51 is large",
        "52 is large",
        "53 is large",
    ], "of one contract only the first are told"


def test_several_contracts_of_one_rule_are_all_asked() -> None:
    with watched(add, *is_small) as contracts:
        Counter().add(60)
        Counter().add(13)
    assert contracts.met == {"Counter.add": 4}
    assert len(contracts.found) == 2


def test_a_function_is_watched_wherever_its_name_was_imported() -> None:
    @of_function(isr.effective_min_insync_replicas)
    def needed(*_: object) -> Generator[None, int, Broken]:
        """Never."""
        found = yield
        return str(found)

    partition = Partition(TopicPartition("orders", 0), BrokerId(1))
    with watched(needed) as contracts:
        assert partition.required_isr_count == 0
        assert isr.effective_min_insync_replicas(2, 3) == 2
    assert [each.text[-3:] for each in contracts.found] == [": 0", ": 2"]
    assert isr.effective_min_insync_replicas is effective_min_insync_replicas


def test_an_error_of_the_author_is_one_of_the_author() -> None:
    @of_method(Counter, "add")
    def twice(*_: object) -> Generator[None, int, Broken]:
        """Yield twice."""
        yield
        yield
        return None

    with watched(twice), pytest.raises(AssertionError, match=r"the contract of Counter\.add"):
        Counter().add(1)


def test_a_function_in_a_table_of_rules_is_watched_there() -> None:
    @of_function(describe_quorum)
    def never(*_: object) -> Generator[None, None, Broken]:
        """Never."""
        yield
        return "asked"

    with watched(never):
        assert SERVED[DescribeQuorumRequest] is not describe_quorum
    assert SERVED[DescribeQuorumRequest] is describe_quorum


async def test_a_rule_that_waits_is_looked_at_when_it_is_over() -> None:
    counter = Counter()
    with Contracts([add_later], now_us=lambda: 7) as contracts:
        assert await counter.add_later(1) == 1
        assert contracts.found == []
        await asyncio.gather(counter.add_later(1), counter.add_later(1))
        assert [each.text.rpartition(": ")[2] for each in contracts.found] == ["3 after 1"]
        with suppress(ValueError):
            await counter.add_later(101)
    assert contracts.found[-1].text.endswith("101 is too much")
    assert contracts.met == {"Counter.add_later": 4}
