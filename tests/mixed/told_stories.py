"""Plays the recorded stories with brokers of jbodlab, and compares what the real controller said.

Left out is the spare, which was not there when the stories were recorded, what broker 1 may not
answer any more as it leaves in chapter 13, and with broker 1 not the controller, what follows from
that: in chapter 13 the old controller lives on and tells that broker 1 left and which Isrs were
changed, and in chapter 19 it misses broker 1 only when ZooKeeper does.
A broker of jbodlab that has lost all its log dirs ends its session with ZooKeeper, so that the tool
of chapter 17 finds it gone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.differential.story import Chapter, Story
from tests.differential.story_lab import BROKER_IDS
from tests.differential.told import Request, ToolRun, Transcript, last_leaders, transcript
from tests.golden.make_transcripts import differences
from tests.kafka_tools.tools import KafkaTools, Printed
from tests.mixed.story_lab import SPARE, mixed_story_lab

RETURN: Final = "13-dir-repaired-restart"
LOST: Final = "17-all-dirs-fail"
FAILOVER: Final = "19-controller-failover"


class Compared(NamedTuple):
    """One story beside its recording."""

    story: str
    requests: int
    """So many were compared, to all three brokers."""
    rows: int
    """Of partitions in these."""
    differences: tuple[str, ...]


class ToolsBesideSpare(KafkaTools):
    """The tools, which ask three brokers where the recorded ones asked all."""

    def run_bare(
        self, tool: str, words: Sequence[str], stdin: str = "", until: str = ""
    ) -> Printed:
        named = ["--broker-list", "1,2,3"] if tool == "kafka-log-dirs" else []
        printed = super().run_bare(tool, [*words, *named], stdin, until)
        return replace(printed, out=printed.out.replace("on brokers 1,2,3,4", "on brokers 1,2,3"))


def play(folder: Path, build_dir: Path, own_ids: Sequence[int]) -> list[Compared]:
    """Play all stories with these brokers jbodlab's; return how each compares."""
    (folder / "tools").mkdir(parents=True)
    with mixed_story_lab(folder, own_ids) as lab:
        tools = ToolsBesideSpare("3.9.2", build_dir, folder / "tools", lab.bootstrap)
        try:
            story = Story(lab, tools)
            story.tell()
        finally:
            tools.close()
    told = {name: chapter.requests for name, chapter in story.chapters.items()}
    (folder / "told.json").write_text(json.dumps(told))
    return [
        compared(name, chapter, transcript(name), own_ids, folder / "data")
        for name, chapter in story.chapters.items()
    ]


def compared(
    name: str, chapter: Chapter, stands: Transcript, own_ids: Sequence[int], data: Path
) -> Compared:
    """Compare one chapter."""
    told = {broker: without_spare(each) for broker, each in chapter.requests.items()}
    recorded = {broker: without_spare(each) for broker, each in stands.requests.items()}
    if name == RETURN:
        for broker in BROKER_IDS if 1 in own_ids else (1,):
            told[broker] = _returned(broker, told[broker])
            recorded[broker] = _returned(broker, recorded[broker])
    if 3 in own_ids and name == LOST:
        stands = replace(stands, tools={"topics": [_without_broker_3(*stands.tools["topics"])]})
    chapter, stands = replace(chapter, requests=told), replace(stands, requests=recorded)
    found = tuple(_differences(name, chapter, stands, own_ids, data))
    requests = [request for each in told.values() for request in each]
    rows = sum(len(request["partitions"]) for request in requests)
    return Compared(name, len(requests), rows, found)


def _differences(
    name: str, chapter: Chapter, stands: Transcript, own_ids: Sequence[int], data: Path
) -> Iterator[str]:
    if 1 in own_ids and name == FAILOVER:
        if last_leaders(chapter.requests[2]) != last_leaders(stands.requests[2]):
            yield "broker 2 was told of other leaders at the end"
        return
    yield from differences(name, chapter, stands, data)


def without_spare(requests: Sequence[Request]) -> list[Request]:
    """Leave out the spare where it lives, and what brokers are told as it comes or goes."""
    kept: list[Request] = []
    for told in requests:
        live = [each for each in told.get("live", ()) if each != SPARE]
        request = {**told, "live": live} if "live" in told else told
        if not (kept and _only_names_brokers(request) and request == kept[-1]):
            kept.append(request)
    return kept


def _returned(broker_id: int, requests: Sequence[Request]) -> list[Request]:
    """Leave out what the old controller, where it lives on, says once broker 1 has left.

    Of what broker 1 is told while it leaves, whoever's it is, the first two are answered for sure.
    """
    count = 2 if broker_id == 1 else 4
    since = requests[count:]
    return [*requests[:count], *(each for each in since if each["controllerEpoch"] > 1)]


def _only_names_brokers(request: Mapping[str, Any]) -> bool:
    return request["api"] == "UpdateMetadata" and not request["partitions"]


def _without_broker_3(run: ToolRun) -> ToolRun:
    """Take it out of what the tool was told while ZooKeeper waited for it."""
    return replace(run, out=[re.sub(r"(?<=\tIsr: )\S+", "1,2", line) for line in run.out])
