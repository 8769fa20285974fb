"""Runs one client program against a cluster, and breaks a disk where the program says it may.

A program is called with BOOTSTRAP PREFIX ITEM... . It tells one JSON object a line
(``results.read_line``): its version once, each item's result, and ``halfway`` while it writes to a
topic, with the group that reads it and who copies it in transactions. Then it writes on until it
reads a line on stdin, and a good deal longer.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tests.clients.disks import fail_disk_of_leader, fail_disks_of_coordinators
from tests.clients.programs import ADMIN
from tests.clients.results import Halfway, ItemResult, Outcome, Version, read_line
from tests.integration.labs import Lab

DEADLINE_S: Final = 600
"""For all items of a program."""
WHOLE: Final = "healthy"
FAILING: Final = "a leader's disk fails"
COORDINATING: Final = "a coordinator's disk fails"
WORLDS: Final = (WHOLE, FAILING, COORDINATING)
STDERR_SHOWN: Final = 300
"""Characters of what a program that ended before its time wrote last."""


def run_program(
    client: str,
    command: Sequence[str],
    items: Sequence[str],
    lab: Lab,
    *,
    world: str,
    log: Path,
) -> Outcome:
    """Run all items of a program in one of ``WORLDS``; ``log`` gets what it writes to stderr.

    Where disks break, its administrator comes last: he finds them broken.
    """
    prefix = client.lower().replace(" ", "-")
    ordered = sorted(items, key=lambda item: item == ADMIN) if world == FAILING else items
    words = [*command, ",".join(lab.servers), prefix, *ordered]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
    timer = threading.Timer(DEADLINE_S, process.kill)
    timer.start()
    try:
        version, results = _converse(process, lambda halfway: _break(lab, world, halfway))
        process.wait()
    finally:
        timer.cancel()
        process.kill()
        process.wait()
    missing = [item for item in items if item not in {each.item for each in results}]
    ended = f"the program ended with {process.returncode}: {_end_of(log)}"
    results += [ItemResult(item, passed=False, told=ended) for item in missing]
    return Outcome(client, version, world, tuple(results))


def _break(lab: Lab, world: str, halfway: Halfway) -> None:
    if world == FAILING:
        fail_disk_of_leader(lab, halfway.topic)
    elif world == COORDINATING:
        fail_disks_of_coordinators(lab, halfway)


def _converse(
    process: subprocess.Popen[str], at_halfway: Callable[[Halfway], None]
) -> tuple[str, list[ItemResult]]:
    assert process.stdout is not None
    assert process.stdin is not None
    version, results = "", list[ItemResult]()
    with process.stdin as answers, process.stdout as lines:
        for line in lines:
            match read_line(line):
                case Version(text):
                    version = text
                case Halfway() as halfway:
                    at_halfway(halfway)
                    answers.write("\n")
                    answers.flush()
                case ItemResult() as result:
                    results.append(result)
    return version, results


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace").strip()[-STDERR_SHOWN:]
