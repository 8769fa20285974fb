"""What makes the transcripts anew: their text, what a broker's log tells, what counts as alike."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.differential.story import Chapter
from tests.differential.told import FOLDER, Request, transcript
from tests.golden.kafka_lab import RequestLog
from tests.golden.make_transcripts import content, differences
from tests.golden.transcript_text import transcript_text
from tests.kafka_tools.tools import Printed

RETURN = "13-dir-repaired-restart"
LOST = "17-all-dirs-fail"


def stands(name: str) -> Chapter:
    """Return a chapter in which all came as it was recorded."""
    recorded = transcript(name)
    return Chapter(
        requests={broker: list(each) for broker, each in recorded.requests.items()},
        printed={
            key: [Printed(run.code, "\n".join(run.out) + "\n") for run in runs]
            for key, runs in recorded.tools.items()
        },
        exit_code=recorded.other.get("exit_code"),
    )


def found(name: str, chapter: Chapter) -> list[str]:
    return [line.split(" said ")[0] for line in differences(name, chapter, transcript(name))]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_transcript_is_written_as_it_stands(path: Path) -> None:
    chapter = stands(path.stem)

    assert list(differences(path.stem, chapter, transcript(path.stem))) == []
    assert transcript_text(content(path, chapter)) == path.read_text(encoding="utf-8")


def test_what_a_broker_was_told_otherwise_is_found() -> None:
    chapter = stands("05-move-within-broker")
    chapter.requests[2] = chapter.requests[2][1:]

    assert found("05-move-within-broker", chapter) == [
        "broker 2 was told otherwise, in 2 requests for 3"
    ]


def test_what_a_tool_said_and_how_a_broker_ended_is_found() -> None:
    chapter = replace(stands(LOST), exit_code=0)
    (printed,) = chapter.printed["topics"]
    chapter.printed["topics"] = [replace(printed, out=printed.out.replace("Isr: 1,3,2", "Isr: 1"))]

    assert found(LOST, chapter) == ["topics 1", "the broker ended with 0 for 1"]


def test_the_order_within_an_isr_is_that_of_a_run() -> None:
    chapter = stands(LOST)
    (printed,) = chapter.printed["topics"]
    out = printed.out.replace("Isr: 1,3,2", "Isr: 1,2,3")
    chapter.printed["topics"] = [replace(printed, out=out)]

    assert out != printed.out
    assert found(LOST, chapter) == []

    told = chapter.requests[2][0]
    (name, row), *others = told["partitions"].items()
    turned = {name: [*row[:2], row[2][::-1], *row[3:]], **dict(others)}
    chapter.requests[2] = [{**told, "partitions": turned}, *chapter.requests[2][1:]]
    assert len(row[2]) > 1
    assert found(LOST, chapter) == []


def test_who_comes_back_together_is_that_of_a_run_but_not_that_they_do() -> None:
    chapter = stands(RETURN)
    told = chapter.requests[2]
    at = max(index for index, each in enumerate(told) if len(each["partitions"]) > 1)
    parts: list[Request] = [
        {**told[at], "partitions": {name: row}} for name, row in told[at]["partitions"].items()
    ]
    chapter.requests[2] = [*told[:at], *reversed(parts), *told[at + 1 :]]
    assert found(RETURN, chapter) == []

    fewer = chapter.requests[2] = [*told[:at], *parts[1:], *told[at + 1 :]]
    counts = f"{len(fewer)} requests for {len(told)}"
    assert found(RETURN, chapter) == [f"broker 2 was told otherwise, in {counts}"]


def logged(api: str, request: dict[str, Any], response: dict[str, Any]) -> str:
    header = {"requestApiKeyName": api, "correlationId": 1}
    entry = {"requestHeader": header, "request": request, "response": response}
    return f"Completed request:{json.dumps(entry)}\n"


def test_a_request_log_is_read_on_from_where_it_was_read_to(tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    log = RequestLog(path)
    assert log.told() == []

    told = logged("UPDATE_METADATA", {"topicStates": []}, {"errorCode": 0})
    fetched = logged("FETCH", {"topics": ["UPDATE_METADATA"]}, {})
    stopped = logged("STOP_REPLICA", {"topicStates": []}, {"partitionErrors": []})
    path.write_text(fetched + told + stopped[:20])
    assert [each.api for each in log.told()] == ["UpdateMetadata"]

    path.write_text(fetched + told + stopped)
    assert [each.api for each in log.told()] == ["UpdateMetadata", "StopReplica"]
    assert [each.api for each in log.told()] == ["UpdateMetadata", "StopReplica"]
