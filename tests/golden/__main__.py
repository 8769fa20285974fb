"""``python -m tests.golden``: has the golden files made anew, and compares.

Apache Kafka makes them; ``segments`` alone, which its tools are asked about, are ours. Jars come
from Maven Central. Each maker tells what it made and what of it is not what stands; with
``--write`` what differs is replaced. ``MANIFEST.json`` tells what is not made here, and why.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Final

from tests.golden import (
    make_api_decisions,
    make_assignments,
    make_configs,
    make_consumer_group,
    make_decisions,
    make_dumps,
    make_features,
    make_group_configs,
    make_java_clients,
    make_log_dirs,
    make_messages,
    make_patterns,
    make_quotas,
    make_records,
    make_releases,
    make_segments,
    make_transcripts,
    make_znodes,
)
from tests.golden.made import Made

MAKERS: Final[dict[str, Callable[[], Made]]] = {
    **{name: functools.partial(make_messages.made, name) for name in make_messages.FILES},
    "records": make_records.made,
    "releases": make_releases.made,
    "assignments": make_assignments.made,
    "patterns": make_patterns.made,
    "quotas": make_quotas.made,
    "decisions": make_decisions.made,
    "api_decisions": make_api_decisions.made,
    "segments": make_segments.made,
    "dumps": make_dumps.made,
    "configs": make_configs.made,
    "consumer_group": make_consumer_group.made,
    "group_configs": make_group_configs.made,
    "features": make_features.made,
    "java_clients": make_java_clients.made,
    "log_dirs": make_log_dirs.made,
    "transcripts": make_transcripts.made,
    "znodes": make_znodes.made,
}
_LINES_MAX: Final = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare all files, or those that are named; the exit code is 1 when one differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MAKERS)}; without: all")
    parser.add_argument("--write", action="store_true", help="replace what differs")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in MAKERS:
            parser.error(f"{name} is none of {', '.join(MAKERS)}: the others are not made here")
    is_same = True
    for name in options.names or MAKERS:
        made = MAKERS[name]()
        sys.stdout.write(f"{name}: {made.told}, {len(made.differing)} differ\n")
        for line in itertools.islice(made.differing, _LINES_MAX):
            sys.stdout.write(f"  {line}\n")
        sys.stdout.flush()
        is_same &= not made.differing
        if made.differing and options.write:
            made.write()
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
