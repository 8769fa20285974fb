import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.byte_budget import ByteBudget, Claim

LIMIT = 100


def test_a_claim_waits_until_there_is_room_and_is_told() -> None:
    budget, granted = ByteBudget(LIMIT), list[str]()
    first, second = claim(60, granted, "first"), claim(60, granted, "second")
    assert budget.claim(first)
    assert not budget.claim(second)
    assert (budget.held_bytes, budget.waiting_count) == (60, 1)
    budget.give_up(first)
    assert granted == ["second"]
    assert (budget.held_bytes, budget.waiting_count) == (60, 0)


def test_nobody_passes_who_waits_even_with_a_claim_that_would_fit() -> None:
    budget, granted = ByteBudget(LIMIT), list[str]()
    holder = claim(60, granted, "holder")
    budget.claim(holder)
    assert not budget.claim(claim(80, granted, "large"))
    assert not budget.claim(claim(1, granted, "small"))
    budget.give_up(holder)
    assert granted == ["large", "small"]


def test_a_claim_larger_than_the_limit_is_granted_alone() -> None:
    budget, granted = ByteBudget(LIMIT), list[str]()
    small, large = claim(1, granted, "small"), claim(LIMIT + 1, granted, "large")
    behind = claim(1, granted, "behind")
    budget.claim(small)
    assert not budget.claim(large)
    assert not budget.claim(behind)
    budget.give_up(small)
    assert granted == ["large"]
    budget.give_up(large)
    assert granted == ["large", "behind"]


def test_who_gives_up_while_waiting_lets_those_behind_pass() -> None:
    budget, granted = ByteBudget(LIMIT), list[str]()
    budget.take(50)
    large = claim(60, granted, "large")
    assert not budget.claim(large)
    assert not budget.claim(claim(50, granted, "small"))
    budget.give_up(large)
    assert granted == ["small"]
    assert budget.held_bytes == LIMIT


def test_what_is_there_counts_beyond_the_limit_and_makes_claims_wait() -> None:
    budget, granted = ByteBudget(LIMIT), list[str]()
    budget.take(LIMIT + 20)
    assert budget.free_bytes == 0
    assert not budget.claim(claim(1, granted, "waits"))
    budget.give_back(20)
    assert granted == []
    budget.give_back(1)
    assert granted == ["waits"]


def test_a_negative_limit_is_none() -> None:
    assert ByteBudget(-1).claim(claim(1 << 40, [], "all"))


def test_whoever_is_short_of_room_is_told_of() -> None:
    told: list[int] = []
    budget = ByteBudget(LIMIT, lambda: told.append(1))
    budget.claim(claim(LIMIT, [], "first"))
    assert told == []
    budget.claim(claim(1, [], "second"))
    assert told == [1]


def test_bytes_that_nobody_held_are_not_given_back() -> None:
    with pytest.raises(AssertionError, match="given back that nobody held"):
        ByteBudget(LIMIT).give_back(1)


@given(
    st.lists(st.tuples(st.integers(1, LIMIT * 2), st.integers(0, 30), st.booleans()), max_size=40)
)
def test_everyone_is_served_in_the_end_and_only_a_single_large_claim_passes_the_limit(
    steps: list[tuple[int, int, bool]],
) -> None:
    """Each step asks for a size, perhaps after the oldest holder or a waiting one gave up."""
    budget = ByteBudget(LIMIT)
    holding: list[Claim] = []
    waiting: list[Claim] = []

    def ask(size_bytes: int) -> None:
        def granted() -> None:
            assert waiting.pop(0) is asked, "first come, first served"
            holding.append(asked)

        asked = Claim(size_bytes, granted)
        waiting.append(asked)
        if budget.claim(asked):
            assert waiting == [asked], "nobody is passed"
            granted()

    def check() -> None:
        held = [each.size_bytes for each in holding]
        assert budget.held_bytes == sum(held) >= 0
        assert budget.held_bytes <= LIMIT or len(held) == 1
        assert budget.waiting_count == len(waiting)
        assert not waiting or holding, "somebody waits for nobody"

    for size_bytes, pick, gives_up in steps:
        ask(size_bytes)
        check()
        if gives_up and waiting:
            budget.give_up(waiting.pop(pick % len(waiting)))
        elif gives_up:
            budget.give_up(holding.pop(pick % len(holding)))
        check()
    while holding:
        budget.give_up(holding.pop(0))
        check()
    assert not waiting
    assert budget.held_bytes == 0


def claim(size_bytes: int, granted: list[str], name: str) -> Claim:
    return Claim(size_bytes, lambda: granted.append(name))
