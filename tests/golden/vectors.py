"""Reads golden vectors: gzipped JSON lines beside this file. It does not know what they mean."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import msgspec


def load_vectors(name: str) -> list[dict[str, Any]]:
    """Return the objects of ``<name>.jsonl.gz`` in file order."""
    lines = gzip.decompress((Path(__file__).parent / f"{name}.jsonl.gz").read_bytes()).splitlines()
    return [msgspec.json.decode(line) for line in lines]
