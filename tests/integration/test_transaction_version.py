"""Transactions of Apache Kafka's client of 4.3 by both protocols: what a release finalizes decides.

By transaction.version 2 (KIP-890) the client asks neither AddPartitionsToTxn nor AddOffsetsToTxn,
and has another epoch after each transaction. Needs Java and Maven (for Kafka's jars); skipped
without them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from benchmarks.peer.kafka import BUILD_DIR, PeerMissingError, fetch
from jbodlab.processes.lab_spec import LabShape
from tests.integration.apache_kafka import run_tool
from tests.integration.labs import FAST, running_lab
from tests.integration.test_transactional_producers import (
    described,
    wait_for_committed,
    wait_for_offset,
)

CLIENT_VERSION: Final = "4.3.1"
PROGRAM: Final = Path(__file__).with_name("java") / "TransactionalClient.java"
STEPS: Final = ["committed", "aborted", "transformed", "fenced", "committed by the second"]
# InitProducerId gives epoch 0. The second one finds a transaction open: its abort raises the epoch
# once, itself once more. By version 2 each of the four ends raises it, too.
EPOCHS: Final = {"3.9": 2, "4.3": 6}


@pytest.mark.sampled_among("clients of Apache Kafka 4.3", kept=0)
@pytest.mark.parametrize("release", EPOCHS)
def test_the_client_of_4_3_commits_aborts_transforms_and_is_fenced(
    tmp_path: Path, release: str
) -> None:
    try:
        libs = fetch(BUILD_DIR, CLIENT_VERSION)
    except PeerMissingError as error:
        pytest.skip(str(error))
    shape = LabShape(configs=FAST, emulate=dict.fromkeys((1, 2, 3), release))
    with running_lab(tmp_path, shape) as lab:
        lab.create("source")
        lab.create("sink")
        names = ("java", "source", "sink", "java-readers")
        said = run_tool(libs, str(PROGRAM), ",".join(lab.servers), *names, cwd=tmp_path)
        assert [line for line in said.splitlines() if line in STEPS] == STEPS, said
        wait_for_committed(lab, "source", [b"one", b"two"])
        wait_for_committed(lab, "sink", [b"of one", b"of two", b"from the second"])
        wait_for_offset(lab, "source", "java-readers", 2)
        assert described(lab, "java").producer_epoch == EPOCHS[release]
