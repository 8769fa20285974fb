"""What each test costs, printed after a run: the clock's seconds beside the processor's.

A busy machine lengthens the clock's seconds and leaves the processor's nearly as they are, so what
is to be made cheaper shows in the latter. On a quiet machine the difference is waiting.
"""

from __future__ import annotations

import json
import os
import resource
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

SHOWN: Final = 10
TICKS_PER_S: Final = 100
"""In what /proc counts processor time: USER_HZ, which is 100 on every Linux."""
_HEAD: Final = "slowest files, then tests: seconds by the clock, of processor, of its processes'"


@dataclass(slots=True)
class Cost:
    """What one test or one file took, in seconds."""

    clock_s: float = 0.0
    own_s: float = 0.0
    """Of the processor, by the process of the test."""
    processes_s: float = 0.0
    """Of the processor, by the processes that it started."""

    def add(self, clock_s: float, own_s: float, processes_s: float) -> None:
        """Count one phase of a test."""
        self.clock_s += clock_s
        self.own_s += own_s
        self.processes_s += processes_s


@dataclass(slots=True, eq=False)
class Costs:
    """The plugin of pytest: measures where tests run, adds up and prints where they are reported.

    With ``file`` every test's cost is written there, as JSON.
    """

    file: str | None = None
    runs_tests: bool = True
    """False where others do: a look at all processes, at each start that they tell, is dear."""
    _seen: tuple[float, float] = (0.0, 0.0)
    _by_test: dict[str, Cost] = field(default_factory=lambda: defaultdict(Cost))

    def pytest_runtest_logstart(self) -> None:
        """Begin a test."""
        if self.runs_tests:
            self._seen = processor_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach what the test took to its last report; xdist carries it to where it is printed."""
        report = yield
        if report.when != "teardown":
            return report
        before, self._seen = self._seen, processor_s()
        vars(report)["processor_s"] = [
            now - then for now, then in zip(self._seen, before, strict=True)
        ]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a phase of a test, wherever it ran."""
        own_s, processes_s = getattr(report, "processor_s", (0.0, 0.0))
        self._by_test[report.nodeid].add(report.duration, own_s, processes_s)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print what was slowest."""
        by_file: dict[str, Cost] = defaultdict(Cost)
        total = Cost()
        for name, cost in self._by_test.items():
            for each in (by_file[name.partition("::")[0]], total):
                each.add(cost.clock_s, cost.own_s, cost.processes_s)
        terminalreporter.section(_HEAD)
        for costs in (by_file, self._by_test, {"all tests": total}):
            for line in slowest(costs):
                terminalreporter.write_line(line)
        if self.file:
            content = {name: asdict(cost) for name, cost in self._by_test.items()}
            Path(self.file).write_text(json.dumps(content, indent=1), encoding="utf-8")


def slowest(costs: Mapping[str, Cost]) -> Iterator[str]:
    """Return a line for each that took longest by the clock, the longest first."""
    for name, cost in sorted(costs.items(), key=lambda each: -each[1].clock_s)[:SHOWN]:
        yield f"{cost.clock_s:7.1f} {cost.own_s:7.1f} {cost.processes_s:7.1f}  {name}"


def processor_s() -> tuple[float, float]:
    """Return the processor seconds of this process, and of all that it started, ended or not."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    live_s = sum(map(_ticks, _descendants("self"))) / TICKS_PER_S if _has_children() else 0.0
    return own.ru_utime + own.ru_stime, ended.ru_utime + ended.ru_stime + live_s


def _has_children() -> bool:
    """Tell whether this process has any, and reap none: most tests start none, looks are dear."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _descendants(pid: str) -> Iterator[str]:
    """Return the processes that a process started, and theirs; those that end meanwhile or not."""
    children: list[str] = []
    with suppress(OSError):
        for thread in Path("/proc", pid, "task").iterdir():
            children += (thread / "children").read_text(encoding="ascii").split()
    for child in children:
        yield child
        yield from _descendants(child)


def _ticks(pid: str) -> int:
    """Return the ticks of a process and of its ended children: fields 14 to 17 of its stat."""
    with suppress(OSError):
        after_name = Path("/proc", pid, "stat").read_text(encoding="utf-8").rpartition(")")[2]
        return sum(map(int, after_name.split()[11:15]))
    return 0
