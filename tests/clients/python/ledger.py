"""What the Python programs of the report card share, by the same rules as ``../go/ledger``.

They write numbered records per key, hold what is read against what was written, and tell on stdout
how each item went.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

KEYS: Final = 12
PARTITIONS: Final = 6
REPLICAS: Final = 3
HALF: Final = 600
PACE_S: Final = 0.001
DEADLINE_S: Final = 120
ABORTS_EVERY: Final = 3
CONFIGS: Final = {"min.insync.replicas": "2"}


class MissedError(Exception):
    """A client did not do what it promises."""


class Ledger:
    """What was written and read of each key. Any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written = [0] * KEYS
        self._seen = [0] * KEYS
        self._errors: list[str] = []
        self.again = 0

    @property
    def written(self) -> int:
        """How many records there are."""
        return sum(self._written)

    @property
    def is_read(self) -> bool:
        """Whether each of them was read."""
        return self._written == self._seen

    @property
    def has_failed(self) -> bool:
        """Whether an error was given to the application: what is written then need not come."""
        return bool(self._errors)

    def next(self) -> tuple[bytes, bytes]:
        """Return key and value of the next record."""
        with self._lock:
            key = sum(self._written) % KEYS
            self._written[key] += 1
            return str(key).encode(), str(self._written[key] - 1).encode()

    def read(self, key: bytes | None, value: bytes | None) -> None:
        """Take a record: no key may leave a number out."""
        number, of = int(value or b"-1"), int(key or b"-1")
        with self._lock:
            if number < self._seen[of]:
                self.again += 1
            elif number > self._seen[of]:
                self._errors.append(f"key {of}: {number} came before {self._seen[of]}")
            else:
                self._seen[of] += 1

    def fail(self, error: object) -> None:
        """Take an error that a client gave to the application."""
        self._errors.append(f"{type(error).__name__}: {error}")

    def judge(self, *, exactly: bool) -> None:
        """Raise MissedError unless all was read, in order, and if ``exactly`` nothing twice."""
        if self._errors:
            raise MissedError(f"{len(self._errors)} errors, the first: {self._errors[0]}")
        if not self.is_read:
            raise MissedError(f"{self.written - sum(self._seen)} records are lost")
        if exactly and self.again:
            raise MissedError(f"{self.again} records are there twice")

    def write(
        self,
        topic: str,
        send: Callable[[bytes, bytes], object],
        group: str = "",
        transactional_id: str = "",
    ) -> None:
        """Send HALF records, on until a disk is dealt with, and HALF more.

        Args:
            topic: that they go to in the end.
            send: takes key and value.
            group: reads them meanwhile.
            transactional_id: copies them to ``topic`` meanwhile.
        """
        for _ in range(HALF):
            self._one(send)
        done = halfway(topic, group, transactional_id)
        while not done.is_set():
            self._one(send)
        for _ in range(HALF):
            self._one(send)

    def _one(self, send: Callable[[bytes, bytes], object]) -> None:
        send(*self.next())
        threading.Event().wait(PACE_S)

    def until(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait for a condition; an error that the application got meanwhile ends the waiting."""
        end = time.monotonic() + DEADLINE_S
        while not condition():
            if self._errors:
                self.judge(exactly=False)
            if time.monotonic() > end:
                raise MissedError(f"not so after {DEADLINE_S} s: {what}")
            threading.Event().wait(0.02)


def halfway(topic: str, group: str, transactional_id: str) -> threading.Event:
    """Say that a disk may break, under whatever; return what is set once that is done."""
    done = threading.Event()

    def answered() -> None:
        sys.stdin.readline()
        done.set()

    tell({"halfway": topic, "group": group, "transactional_id": transactional_id})
    threading.Thread(target=answered, daemon=True).start()
    return done


def tell(line: Mapping[str, object]) -> None:
    """Print one line."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def run(version: str, items: Mapping[str, Callable[[list[str], str], str]]) -> None:
    """Run what the command line names: BOOTSTRAP PREFIX ITEM... ."""
    bootstrap, prefix, *names = sys.argv[1:]
    tell({"version": version})
    for item in names:
        passed = True
        try:
            told = items[item](bootstrap.split(","), prefix)
        except Exception as error:  # noqa: BLE001 - whatever a client raises is what its row says
            passed, told = False, f"{type(error).__name__}: {error}"
        tell({"item": item, "ok": passed, "told": told})


def thread(work: Callable[[], Any], ledger: Ledger) -> threading.Thread:
    """Start work beside; what it raises is an error to the application."""

    def guarded() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - a thread has nobody else to tell
            ledger.fail(error)

    made = threading.Thread(target=guarded, daemon=True)
    made.start()
    return made
