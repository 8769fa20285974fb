"""Has Kafka's ``MemoryRecordsBuilder`` write the golden batches and message sets anew.

What is written is taken from the words of each vector (header fields, keys, values, headers). Only
the times of records in a batch with LogAppendTime are read from the bytes: no reader tells them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from benchmarks.peer.kafka import BUILD_DIR, fetch
from protocol.records.entries import iterate_entry_views, read_entry_header
from tests.golden.made import GOLDEN, Made, run_java, write_vectors
from tests.golden.vectors import load_vectors

WRITER: Final = GOLDEN / "WriteRecords.java"
RELEASE: Final = "3.9.2"


def batches_asked(vector: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give what the writer is asked for, a batch at a time.

    The last batch may be cut short in the vector; it is not among ``batches`` then.
    """
    position = 0
    whole = bytes.fromhex(vector["hex"])
    for batch in vector["batches"]:
        end = position + batch["sizeInBytes"]
        times = stored_times(whole[position:end])
        offsets = range(batch["baseOffset"], batch["lastOffset"] + 1)
        records = [record for record in vector["records"] if record["offset"] in offsets]
        stored = [{**record, "timestamp": times[record["offset"]]} for record in records]
        yield {**batch, "records": stored}
        position = end


def stored_times(data: bytes) -> dict[int, int]:
    """Return the time of each record of one batch as its producer set it, by offset."""
    header = read_entry_header(data)
    return {view.offset: view.created_ms for view in iterate_entry_views(data, 0, header)}


def written(vectors: Sequence[dict[str, Any]]) -> list[str]:
    """Return the bytes of each vector, in hex, without what follows the last whole batch."""
    asked = [list(batches_asked(vector)) for vector in vectors]
    lines = [json.dumps(batch) for batches in asked for batch in batches]
    libs = fetch(BUILD_DIR, RELEASE)
    answers = iter(run_java(f"{libs}/*", str(WRITER), stdin="\n".join(lines) + "\n").splitlines())
    return ["".join(next(answers) for _ in batches) for batches in asked]


def made() -> Made:
    """Write all that stands; the cut end of a vector is compared by nobody and kept."""
    vectors = load_vectors("records")
    found: list[dict[str, Any]] = []
    for vector, hexes in zip(vectors, written(vectors), strict=True):
        cut = vector["hex"][len(vector["hex"]) - 2 * vector["trailingBytes"] :]
        found.append({**vector, "hex": hexes + cut})
    differing = [
        f"{new['name']}: {new['hex'][:160]}"
        for new, old in zip(found, vectors, strict=True)
        if new["hex"] != old["hex"]
    ]
    write = functools.partial(write_vectors, "records", found)
    return Made(f"{len(found)} written anew", differing, write)
