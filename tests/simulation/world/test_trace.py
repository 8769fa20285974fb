"""The hash of all that happened."""

from __future__ import annotations

from simulation.world.trace import Trace


def traced(*events: tuple[int, str, str, bytes]) -> str:
    trace = Trace()
    for at_us, node, what, content in events:
        trace.note(at_us, node, what, (content,))
    return trace.hexdigest()


def test_time_place_deed_content_and_order_count():
    base = (1, "broker-1", "append", b"x")
    other = (1, "broker-2", "append", b"x")
    hashes = [
        traced(base, other),
        traced(other, base),
        traced(base),
        traced((2, *base[1:]), other),
        traced((1, "broker-1", "sync", b"x"), other),
        traced((1, "broker-1", "append", b"y"), other),
    ]
    assert len(set(hashes)) == len(hashes)
    assert traced(base, other) == hashes[0]


def test_how_content_is_cut_does_not_count():
    whole, cut = Trace(), Trace()
    whole.note(1, "a", "rx", (b"xyz",))
    cut.note(1, "a", "rx", (b"x", bytearray(b"yz")))
    assert whole.hexdigest() == cut.hexdigest()


def test_the_last_events_are_kept_in_words():
    trace = Trace(last_events=2)
    for number in range(3):
        trace.note(1_500_000 + number, "broker-1", f"append {number}", (b"abc",))
    assert [str(event) for event in trace.last] == [
        "    1.500001 broker-1: append 1 (3 bytes)",
        "    1.500002 broker-1: append 2 (3 bytes)",
    ]
    assert trace.events_count == 3
