"""``python -m tests.kraft``: be a broker of a KRaft quorum of Apache Kafka, and print each step."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import click

from benchmarks.peer.kafka import PeerMissingError
from protocol.errors import ErrorCode
from tests.kraft.quorum import RELEASE, kraft_controller
from tests.kraft.story import story


def main() -> int:
    """Play the story; return 2 where Apache Kafka cannot be had."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with kraft_controller(Path(folder)) as client:
                click.echo(f"a controller of Apache Kafka {RELEASE}")
                for what, brought in story(client):
                    click.echo(f"{what}: {_text(brought)}")
        except PeerMissingError as error:
            click.echo(error, err=True)
            return 2
    return 0


def _text(brought: object) -> str:
    if isinstance(brought, list | tuple):
        return ", ".join(map(_text, cast("Sequence[object]", brought)))
    if isinstance(brought, ErrorCode):
        return brought.name
    return str(brought)


if __name__ == "__main__":
    sys.exit(main())
