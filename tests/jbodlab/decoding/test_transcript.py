"""A capture becomes the requests and responses in it."""

from __future__ import annotations

from jbodlab.decoding.transcript import Transcript
from tests.jbodlab.captured import Capture, capture_file
from tests.jbodlab.decoding.test_frames import request, response, sized

ASKED, ANSWERED = sized(request(1, topics=[])), sized(response(1, clusterId="a"))


def kinds(transcript: Transcript) -> list[tuple[str, str | None, bool]]:
    return [(one.frame.kind, one.frame.api, one.frame.error is None) for one in transcript]


def test_frames_come_in_the_order_in_which_they_were_complete() -> None:
    capture = Capture().handshake().sends("client", ASKED[:7]).sends("client", ASKED[7:])
    seen = list(Transcript(capture.sends("server", ANSWERED).file(), port=None))
    assert [one.frame.kind for one in seen] == ["request", "response"]
    assert (seen[1].frame.body or {})["clusterId"] == "a"
    assert [round(one.at_s % 1, 3) for one in seen] == [0.003, 0.004]


def test_a_size_in_a_segment_of_its_own_is_waited_for() -> None:
    capture = Capture().handshake().sends("client", ASKED[:4]).sends("client", ASKED[4:])
    assert kinds(Transcript(capture.file(), port=None)) == [("request", "Metadata", True)]


def test_connections_do_not_mix() -> None:
    one = Capture(("127.0.0.1", 50_001)).handshake().sends("client", ASKED)
    other = Capture(("127.0.0.1", 50_002)).handshake().sends("client", ASKED)
    one.sends("server", ANSWERED)
    found = kinds(Transcript(capture_file(one.packets + other.packets), port=None))
    assert [kind for kind, _, good in found if good] == ["request", "response", "request"]


def test_what_does_not_begin_like_kafka_is_left_out_unless_its_port_is_named() -> None:
    capture = Capture().handshake().sends("client", b"GET / HTTP/1.1\r\n\r\n")
    content = capture.sends("server", b"HTTP/1.1 200 OK\r\n\r\n").file()
    transcript = Transcript(content, port=None)
    assert kinds(transcript) == []
    assert [str(one) for one in transcript.left_out] == ["127.0.0.1:50000 -> 127.0.0.1:9092"]
    named = Transcript(content, port=9092)
    assert [good for _, _, good in kinds(named)] == [False, False]
    assert named.left_out == []


def test_without_a_handshake_the_first_request_must_be_a_good_one() -> None:
    """Else the ends may be mistaken: an answer's size and correlation id look like a header."""
    good = Capture().sends("client", ASKED[:20]).sends("client", ASKED[20:])
    assert kinds(Transcript(good.file(), port=None)) == [("request", "Metadata", True)]
    mistaken = Capture(("127.0.0.1", 100), ("127.0.0.1", 60_000)).sends("server", ANSWERED)
    transcript = Transcript(mistaken.file(), port=None)
    assert kinds(transcript) == []
    assert len(transcript.left_out) == 1
    named = Transcript(mistaken.sends("client", ASKED).file(), port=60_000)
    assert kinds(named) == [("response", None, True), ("request", "Metadata", True)]


def test_a_gap_ends_its_direction() -> None:
    capture = Capture().handshake().sends("client", ASKED).skips("client", 5)
    capture.sends("client", ASKED).sends("server", ANSWERED)
    found = [one.frame for one in Transcript(capture.file(), port=None)]
    assert [frame.error for frame in found] == [
        None,
        None,
        "5 bytes are missing in the capture; the rest is left out",
    ]


def test_a_frame_that_the_end_cuts_is_told() -> None:
    capture = Capture().handshake().sends("client", ASKED).sends("server", ANSWERED[:-1])
    found = kinds(Transcript(capture.file(), port=None))
    assert found == [("request", "Metadata", True), ("response", None, False)]
