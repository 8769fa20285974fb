"""What a load says on its stdout, line by line, and what its records hold.

``acked TOPIC PARTITION COUNT``: so many records of this partition were acknowledged by now.
``ended TOPIC PARTITION PRODUCER SENT FAILED``: a producer is over; it sent the numbers from 0 to
SENT - 1, and those of FAILED (with commas, ``-`` for none) were not acknowledged.
``fatal TEXT``: a producer was ended for good, or failed to deliver.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

RECORD_BYTES = 100
NONE_FAILED = "-"


@dataclass(frozen=True, slots=True)
class Told:
    """One line; ``word`` tells which."""

    word: str
    place: tuple[str, int] = ("", 0)
    count: int = 0
    """Acknowledged records; of ``ended`` the number of the producer."""
    sent: int = 0
    failed: tuple[int, ...] = ()
    text: str = ""

    def line(self) -> str:
        """Return it as written."""
        if self.word == "fatal":
            return f"fatal {self.text}"
        topic, partition = self.place
        line = f"{self.word} {topic} {partition} {self.count}"
        if self.word == "acked":
            return line
        return f"{line} {self.sent} {','.join(map(str, self.failed)) or NONE_FAILED}"


def told_of(line: str) -> Told:
    """Read one line.

    Raises:
        ValueError: it is none of the three.
    """
    word, _, rest = line.strip().partition(" ")
    if word == "fatal":
        return Told("fatal", text=rest)
    fields = rest.split(" ")
    if word == "acked" and len(fields) == 3:
        return Told("acked", (fields[0], int(fields[1])), int(fields[2]))
    if word == "ended" and len(fields) == 5:
        failed = () if fields[4] == NONE_FAILED else tuple(map(int, fields[4].split(",")))
        return Told("ended", (fields[0], int(fields[1])), int(fields[2]), int(fields[3]), failed)
    raise ValueError(f"a load said {line!r}")


def tell(lines: Iterable[Told]) -> None:
    """Write lines to stdout at once."""
    print("".join(f"{told.line()}\n" for told in lines), end="", flush=True)  # noqa: T201


def value(producer: int, number: int) -> bytes:
    """Return a record's value: who wrote it, and which of its records in this partition."""
    return f"{producer}:{number}:".encode().ljust(RECORD_BYTES, b".")


def read_value(data: bytes) -> tuple[int, int]:
    """Return producer and number."""
    producer, number, _ = data.split(b":", 2)
    return int(producer), int(number)
