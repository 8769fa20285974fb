"""Has Kafka's generated classes write the golden messages, stored records and frames anew.

The contents stand in the vectors; their bytes are Kafka's. Each is written by the classes of the
release that it names.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any, Final

from benchmarks.peer.kafka import BUILD_DIR, fetch
from tests.golden.made import GOLDEN, Made, run_java, write_vectors
from tests.golden.vectors import load_vectors

WRITER: Final = GOLDEN / "WriteVectors.java"
FILES: Final = ("messages", "stored", "frames")
_SUFFIXES: Final = {"request": "RequestData", "response": "ResponseData", "header": "Data"}
_FRAME_HEADERS: Final = {"request": "RequestHeaderData", "response": "ResponseHeaderData"}


def class_of(vector: dict[str, Any]) -> str:
    """Return the name of Kafka's generated class."""
    return vector["api"] + _SUFFIXES.get(vector["kind"], "")


def written(release: str, wanted: Sequence[dict[str, Any]]) -> list[str]:
    """Return the bytes of ``wanted``, in hex, as the classes of a release write them."""
    libs = fetch(BUILD_DIR, release)
    lines = "\n".join(json.dumps(each) for each in wanted) + "\n"
    return run_java(f"{libs}/*", str(WRITER), stdin=lines).split("\n")[:-1]


def asked(vector: dict[str, Any]) -> dict[str, Any]:
    """Return what the writer is asked for."""
    return {"class": class_of(vector), "version": vector["version"], "json": vector["json"]}


def bodies(vectors: Sequence[dict[str, Any]]) -> list[str]:
    """Return the bytes of each vector's body, in hex, each from its own release."""
    found = [""] * len(vectors)
    for release in sorted({vector["source"] for vector in vectors}):
        places = [i for i, vector in enumerate(vectors) if vector["source"] == release]
        answers = written(release, [asked(vectors[i]) for i in places])
        for place, answer in zip(places, answers, strict=True):
            found[place] = answer
    return found


def frames(vectors: Sequence[dict[str, Any]]) -> list[str]:
    """Return whole frames, in hex: size, header, body."""
    headers = [
        {
            "api": _FRAME_HEADERS[vector["kind"]],
            "kind": "frame header",
            "version": vector["headerVersion"],
            "json": vector["header"],
            "source": vector["source"],
        }
        for vector in vectors
    ]
    both = [header + body for header, body in zip(bodies(headers), bodies(vectors), strict=True)]
    return [f"{len(one) // 2:08x}{one}" for one in both]


def is_writable(vector: dict[str, Any]) -> bool:
    """Tell whether its JSON says all: fields that no schema knows are in its bytes alone."""
    return "unknownTags" not in vector


def made(name: str) -> Made:
    """Write the vectors of one file that can be written."""
    vectors = load_vectors(name)
    places = [i for i, vector in enumerate(vectors) if is_writable(vector)]
    write = frames if name == "frames" else bodies
    answers = write([vectors[i] for i in places])
    differing: list[str] = []
    for place, answer in zip(places, answers, strict=True):
        vector = vectors[place]
        if vector["hex"] != answer:
            where = " ".join(str(vector[key]) for key in ("api", "kind", "version", "source"))
            differing.append(f"line {place + 1}: {where}: {answer[:80]}")
            vector["hex"] = answer
    left_out = len(vectors) - len(places)
    told = f"{len(places)} written anew ({left_out} hold fields that no schema knows)"
    return Made(told, differing, functools.partial(write_vectors, name, vectors))
