"""``python -m tests.golden``: writes the golden messages anew with Apache Kafka, and compares.

The contents stand in the vectors; their bytes are Kafka's. Each is written by the classes of the
release that it names, of jars from Maven Central. With ``--write`` what differs is replaced.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.peer.kafka import BUILD_DIR, fetch
from tests.golden.vectors import load_vectors

GOLDEN: Final = Path(__file__).parent
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
    done = subprocess.run(
        ["java", "-cp", f"{libs}/*", str(WRITER)],
        input="\n".join(json.dumps(each) for each in wanted) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"Kafka {release} does not write them: {done.stderr[-2000:]}")
    return done.stdout.split("\n")[:-1]


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


def renewed(name: str) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the vectors of a file with their bytes written anew, and which of them differ."""
    vectors = load_vectors(name)
    places = [i for i, vector in enumerate(vectors) if is_writable(vector)]
    write = frames if name == "frames" else bodies
    answers = write([vectors[i] for i in places])
    differing = [i for i, hexes in zip(places, answers, strict=True) if vectors[i]["hex"] != hexes]
    for place, answer in zip(places, answers, strict=True):
        vectors[place]["hex"] = answer
    return vectors, differing


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare all files, or those that are named; the exit code is 1 when one differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(FILES)}; without: all")
    parser.add_argument("--write", action="store_true", help="replace what differs")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in FILES:
            parser.error(f"{name} is none of {', '.join(FILES)}: the others are not written here")
    is_same = True
    for name in options.names or FILES:
        vectors, differing = renewed(name)
        left_out = sum(not is_writable(vector) for vector in vectors)
        told = f"{name}: {len(vectors) - left_out} written anew, {len(differing)} differ"
        sys.stdout.write(f"{told}; {left_out} hold fields that no schema knows\n")
        for place in itertools.islice(differing, 5):
            vector = vectors[place]
            where = " ".join(str(vector[key]) for key in ("api", "kind", "version", "source"))
            sys.stdout.write(f"  line {place + 1}: {where}: {vector['hex'][:80]}\n")
        is_same &= not differing
        if differing and options.write:
            lines = [json.dumps(vector, separators=(",", ":")) for vector in vectors]
            data = gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0)
            (GOLDEN / f"{name}.jsonl.gz").write_bytes(data)
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
