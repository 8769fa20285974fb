"""librdkafka, through confluent-kafka, as the idempotent load of the restart rounds.

A producer that a fatal error ends is followed by the next one, so that one error is one count.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from tests.restarts.pace import Pace
from tests.restarts.script import Told, tell, told_of, value

POLL_S = 0.005
FLUSH_S = 120
CONFIG = {
    "enable.idempotence": True,
    "acks": "all",
    "linger.ms": 1,
    "message.timeout.ms": 0,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
    # When it begins another epoch, and why: `said_of_epochs` of ``loads``.
    "log_level": 7,
    "debug": "eos",
}


class LibrdkafkaLoad:
    """One producer after the other, each as long as no fatal error ends it."""

    def __init__(self, bootstrap: str, topics: list[str], partitions: int) -> None:
        self._config = {**CONFIG, "bootstrap.servers": bootstrap, "error_cb": self._on_error}
        self._places = [(topic, number) for topic in topics for number in range(partitions)]
        self._number = 0
        self._sent: Counter[tuple[str, int]] = Counter()
        self._acked: Counter[tuple[str, int]] = Counter()
        self._failed: dict[tuple[str, int], list[int]] = {}
        self._fatal: str | None = None
        self._producer = Producer(self._config)

    def run(self, stop: threading.Event, rate: int) -> None:
        """Send ``rate`` records a second, over all partitions in turn, until told to stop."""
        pace = Pace(rate)
        turn = 0
        while not stop.is_set():
            for _ in range(pace.due()):
                self._send(*self._places[turn % len(self._places)])
                turn += 1
            self._producer.poll(POLL_S)
            if self._fatal is not None:
                self._begin_anew()
            if pace.reports():
                tell(Told("acked", place, count) for place, count in self._acked.items())
        self._end()

    def _send(self, topic: str, partition: int) -> None:
        place = (topic, partition)
        number = self._sent[place]
        try:
            self._producer.produce(
                topic,
                value(self._number, number),
                partition=partition,
                on_delivery=partial(self._on_delivery, self._number, place, number),
            )
        except BufferError:
            return  # The queue is full: the brokers are away.
        except KafkaException as error:
            self._note_fatal(error.args[0])
            return
        self._sent[place] += 1

    def _on_delivery(
        self, producer: int, place: tuple[str, int], number: int, error: KafkaError | None, _: Any
    ) -> None:
        if error is None:
            self._acked[place] += 1
        elif producer == self._number:
            self._failed.setdefault(place, []).append(number)

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._note_fatal(error)

    def _note_fatal(self, error: KafkaError) -> None:
        if self._fatal is None:
            self._fatal = error.str()

    def _begin_anew(self) -> None:
        self._end()
        self._number += 1
        self._producer = Producer(self._config)

    def _end(self) -> None:
        """Have every record delivered or failed, and tell which."""
        left = self._producer.flush(FLUSH_S)
        fatal, self._fatal = self._fatal, None
        if fatal is not None or left:
            tell([told_of(f"fatal {fatal or f'{left} records neither delivered nor failed'}")])
        tell(Told("acked", place, count) for place, count in self._acked.items())
        for place, count in self._sent.items():
            failed = self._failed.get(place, [])
            tell([Told("ended", place, self._number, count, tuple(failed))])
        self._sent.clear()
        self._failed.clear()


def main() -> None:
    """Run until stdin ends."""
    bootstrap, rate, partitions, *topics = sys.argv[1:]
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    LibrdkafkaLoad(bootstrap, topics, int(partitions)).run(stop, int(rate))


if __name__ == "__main__":
    main()
