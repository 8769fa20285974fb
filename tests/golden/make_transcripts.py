"""Has Apache Kafka live through the stories of the transcripts anew, and compares what it said.

The commands, their plans and what a story is about are those of the transcripts that stand. Not
compared is what depends on how requests fall together: which partitions come back into their Isr
with one decision, in which order an Isr lists them, and whether a broker that goes answers what it
is told last.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.peer.kafka import BUILD_DIR
from tests.differential.printed import as_recorded, comparable
from tests.differential.story import Chapter, Story
from tests.differential.told import FOLDER, Request, ToolRun, Transcript, rows, transcript
from tests.golden.kafka_lab import kafka_lab
from tests.golden.made import Made
from tests.golden.transcript_text import transcript_text
from tests.kafka_tools.tools import KafkaTools, Printed

NEW: Final = BUILD_DIR / "golden-transcripts"
"""Where the last run was, with the logs of its nodes."""
_RETURN: Final = "13-dir-repaired-restart"
_BEFORE_RETURN: Final = 11
"""So many requests to brokers 2 and 3 come in one order; those after them name who is back."""
_OLD_CONTROLLER: Final = 1
_ISR: Final = 2
"""Where a row has it."""


def made() -> Made:
    """Play all stories on one cluster."""
    shutil.rmtree(NEW, ignore_errors=True)
    tools_folder = NEW / "tools"
    tools_folder.mkdir(parents=True)
    with kafka_lab(NEW) as lab:
        tools = KafkaTools("3.9.2", BUILD_DIR, tools_folder, lab.bootstrap)
        try:
            story = Story(lab, tools)
            story.tell()
        finally:
            tools.close()
    differing: list[str] = []
    for name, chapter in story.chapters.items():
        differing += (f"{name}: {line}" for line in differences(name, chapter, transcript(name)))
    told = f"{len(story.chapters)} stories told anew, in {NEW}"
    return Made(told, differing, partial(_put, story.chapters))


def differences(
    name: str, chapter: Chapter, stands: Transcript, data: Path = NEW / "data"
) -> Iterator[str]:
    """Yield a line for each broker that was told, and each tool that said, another thing.

    ``data`` is the folder of the log dirs in which the chapter was played.
    """
    for broker_id, old in stands.requests.items():
        new = chapter.requests[broker_id]
        if _settled(name, broker_id, new) != _settled(name, broker_id, old):
            yield f"broker {broker_id} was told otherwise, in {len(new)} requests for {len(old)}"
    for key, runs in stands.tools.items():
        for number, (new, old) in enumerate(zip(chapter.printed[key], runs, strict=True), start=1):
            said, stood = _said(new.code, new.lines, data), _said(old.code, old.out, data)
            if said != stood:
                yield f"{key} {number} said {said} for {stood}"
    if chapter.exit_code != stands.other.get("exit_code"):
        yield f"the broker ended with {chapter.exit_code} for {stands.other.get('exit_code')}"


def _settled(name: str, broker_id: int, requests: Sequence[Request]) -> Any:
    """Return what two runs have alike of what a broker was told."""
    requests = [_with_sorted_isrs(request) for request in requests]
    if name != _RETURN:
        return requests
    if broker_id == _OLD_CONTROLLER:
        return rows([each for each in requests if each["api"] != "StopReplica"])
    return requests[:_BEFORE_RETURN], rows(requests[_BEFORE_RETURN:])


def _with_sorted_isrs(request: Request) -> Request:
    if request["api"] == "StopReplica":
        return request
    sorted_rows = {
        name: [*row[:_ISR], sorted(row[_ISR]), *row[_ISR + 1 :]]
        for name, row in request["partitions"].items()
    }
    return {**request, "partitions": sorted_rows}


def _said(code: int, lines: Sequence[str], data: Path) -> tuple[int, list[str]]:
    """Return what two runs have alike of what a tool said."""
    said = comparable(lines, data)
    return code, [_with_sorted_isr(line) for line in said]


def _with_sorted_isr(line: str) -> str:
    head, mark, tail = line.partition("\tIsr: ")
    isr, _, rest = tail.partition("\t")
    return f"{head}{mark}{sorted(isr.split(','))}{rest}" if mark else line


def _put(chapters: Mapping[str, Chapter]) -> None:
    for name, chapter in chapters.items():
        path = FOLDER / f"{name}.json"
        path.write_text(transcript_text(content(path, chapter)), encoding="utf-8")


def content(path: Path, chapter: Chapter) -> dict[str, Any]:
    """Return the transcript at ``path`` with what was said and told in this chapter."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    said = {key: iter(runs) for key, runs in chapter.printed.items()}
    for run in document.get("tools", []):
        printed: Printed = next(said[run["key"]])
        new = ToolRun(run["command"], printed.code, as_recorded(printed.lines, NEW / "data"))
        run.update(code=new.code, out=new.out)
    if chapter.exit_code is not None:
        document["exit_code"] = chapter.exit_code
    told = {str(broker_id): each for broker_id, each in chapter.requests.items() if each}
    return {**document, "requests": told}
