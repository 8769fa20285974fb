"""What people see while brokers load their log dirs."""

from __future__ import annotations

from typing import Any

from jbodlab.asking.control import ControlClient
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.loading import LoadingWatch, loading_words


class Broker(ControlClient):
    """Answers what it was given; nothing at all when that is None."""

    def __init__(self, answer: dict[str, Any] | None) -> None:
        super().__init__(1, 0)
        self.answer = answer

    def status(self) -> dict[str, Any]:
        if self.answer is None:
            raise LabError(ExitCode.NOT_RUNNING, "does not answer")
        return self.answer


def test_words_name_the_dirs_that_are_not_done() -> None:
    remaining = {
        "d1": {"logs": 3, "segments": 1},
        "d2": {"logs": 0, "segments": 0},
        "d3": {"logs": 1, "segments": 0},
    }
    assert loading_words(remaining) == "d1: 3 logs and 1 segment of one, d3: 1 log"


def test_a_watch_tells_every_step_once() -> None:
    broker = Broker(None)
    shown: list[str] = []
    watch = LoadingWatch([broker], shown.append, every_ms=0)
    assert not watch()
    broker.answer = {"loading": {"d1": {"logs": 2, "segments": 0}}}
    assert watch()
    assert not watch()
    broker.answer = {"loading": {"d1": {"logs": 1, "segments": 0}}}
    assert watch()
    broker.answer = {}
    assert not watch()
    assert shown == ["broker 1 loads d1: 2 logs", "broker 1 loads d1: 1 log"]


def test_a_watch_does_not_ask_all_the_time() -> None:
    broker = Broker({"loading": {"d1": {"logs": 2, "segments": 0}}})
    shown: list[str] = []
    assert not LoadingWatch([broker], shown.append, every_ms=60_000)()
    assert shown == []
