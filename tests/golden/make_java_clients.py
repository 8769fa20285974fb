"""Has the Java clients of 4.3.1 work against a broker of that release: ``java_clients.jsonl.gz``.

A line for each request and its answer, of the APIs by which groups of the consumer protocol and
transactions of the second version go, as the broker wrote them down.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.peer.kafka import BUILD_DIR, fetch
from protocol.apis import APIS, BY_NAME
from protocol.errors import ErrorCode
from protocol.messages.metadata import MetadataRequest
from protocol.messages.topics import CreatableTopic, CreateTopicsRequest
from tests.golden.kraft_broker import RELEASE, kraft_broker
from tests.golden.made import Made, run_java, write_vectors
from tests.golden.vectors import load_vectors

NAME: Final = "java_clients"
APIS_KEPT: Final = (
    "ConsumerGroupHeartbeat",
    "OffsetFetch",
    "OffsetCommit",
    "InitProducerId",
    "Produce",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "TxnOffsetCommit",
    "EndTxn",
)
CLIENTS: Final = ("producer", "reader", "first", "second")
_LOADING: Final = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
_KEYS_KEPT: Final = [BY_NAME[name].key for name in APIS_KEPT]
_PROGRAM: Final = Path(__file__).with_name("RecordClients.java")
_SAID: Final = "Completed request:"


def recorded() -> Iterator[dict[str, Any]]:
    """Run the clients; yield what they asked, in the order of the answers."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "requests.log"
        with kraft_broker(log) as client:
            topic = CreatableTopic(name="orders", num_partitions=2, replication_factor=1)
            client.request(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5)
            libs, classes = fetch(BUILD_DIR, RELEASE), Path(folder) / "classes"
            compiler = ["javac", "-d", str(classes), "-cp", f"{libs}/*", str(_PROGRAM)]
            subprocess.run(compiler, check=True, capture_output=True)
            class_path = f"{classes}{os.pathsep}{libs}/*"
            (broker,) = client.request(MetadataRequest(topics=[]), 12).brokers
            run_java(class_path, "RecordClients", f"{broker.host}:{broker.port}")
        for line in log.read_text().splitlines():
            _, said, told = line.partition(_SAID)
            if said:
                yield from _kept(json.loads(told))


def _kept(told: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Leave out other clients, as the broker's own, and what is asked until all is loaded."""
    header, answer = told["requestHeader"], told["response"]
    is_kept = header["requestApiKey"] in _KEYS_KEPT and header["clientId"] in CLIENTS
    if is_kept and answer.get("errorCode") not in _LOADING:
        yield {
            "client": header["clientId"],
            "api": APIS[header["requestApiKey"]].name,
            "version": header["requestApiVersion"],
            "request": told["request"],
            "response": answer,
        }


def made() -> Made:
    """Compare which requests of which version each client sent; the rest is a run's own."""
    stands, found = load_vectors(NAME), list(recorded())
    differing = sorted(_asked(stands) ^ _asked(found))
    return Made(f"{len(found)} exchanges", differing, functools.partial(write_vectors, NAME, found))


def _asked(exchanges: list[dict[str, Any]]) -> set[str]:
    return {f"{one['client']} {one['api']} v{one['version']}" for one in exchanges}
