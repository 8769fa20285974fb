"""Bounded runs of the fuzz target: by mutated golden messages, and by atheris where there is one.

Longer runs: ``python -m tests.fuzz CORPUS``.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.messages.metadata import MetadataRequest
from protocol.stored_records import stored_message
from protocol.wire.fast import codec
from tests.deadlines import DEADLINE_S
from tests.fuzz.decoding import TARGETS, check, check_body, fuzz_input
from tests.golden.message_vectors import class_of, message_vectors
from tests.golden.vectors import load_vectors

SECONDS = 2
LENGTHS = [bytes.fromhex(text) for text in ("7fffffff", "80000000", "ffffffff", "ffffffff0f", "00")]


def golden_inputs() -> list[bytes]:
    rpcs = [
        fuzz_input(class_of(api, kind), vector["version"], bytes.fromhex(vector["hex"]))
        for (api, kind), vectors in message_vectors().items()
        for vector in vectors
    ]
    stored = [
        fuzz_input(cls, version, bytes.fromhex(vector["hex"]))
        for vector in load_vectors("stored")
        if vector["kind"].startswith("coordinator")
        for cls, version in [stored_message(vector["api"], vector["kind"], vector["version"])]
    ]
    return rpcs + stored


GOLDEN = golden_inputs()


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Draw a golden message with some bytes changed, put in, taken out or cut off."""
    data = bytearray(draw(st.sampled_from(GOLDEN)))
    for _ in range(draw(st.integers(1, 3))):
        position = draw(st.integers(2, max(2, len(data) - 1)))
        match draw(st.sampled_from(["flip", "length", "insert", "cut", "remove"])):
            case "flip":
                data[position : position + 1] = bytes([draw(st.integers(0, 255))])
            case "length":
                length = draw(st.sampled_from(LENGTHS))
                data[position : position + len(length)] = length
            case "insert":
                data[position:position] = draw(st.binary(max_size=8))
            case "cut":
                del data[position:]
            case _:
                del data[position : position + draw(st.integers(1, 8))]
    return bytes(data)


def test_golden_messages_pass() -> None:
    for data in GOLDEN:
        check(data)


def check_soon(data: bytes) -> None:
    """Check within a second of the processor: a busy machine may take longer by the clock."""
    began_s = thread_time()
    check(data)
    assert thread_time() - began_s < 1


@settings(max_examples=1500)
@given(mutated())
def test_only_malformed_comes_out_of_mutated_messages(data: bytes) -> None:
    check_soon(data)


@settings(max_examples=500)
@given(st.binary(max_size=200))
def test_only_malformed_comes_out_of_any_bytes(data: bytes) -> None:
    check_soon(data)


@pytest.mark.sampled_among("fuzzing by coverage", kept=0)
@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris has no wheel for this machine")
def test_atheris_finds_nothing_in_a_few_seconds(tmp_path: Path) -> None:
    for number, data in enumerate(GOLDEN[::40]):
        (tmp_path / f"{number}").write_bytes(data)
    limits = ("-rss_limit_mb=512", "-timeout=60", "-max_len=2048", "-seed=1")
    fuzz = [sys.executable, "-m", "tests.fuzz", str(tmp_path), f"-max_total_time={SECONDS}"]
    run = subprocess.run(
        # Linux has a child inherit the most memory of the process that started it: this one's.
        ["sh", "-c", '"$@"; exit $?', "sh", *fuzz, *limits],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=5 * DEADLINE_S,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    assert "Done" in run.stderr


def test_every_message_and_version_is_a_target() -> None:
    assert len(TARGETS) > 600
    assert len({*TARGETS}) == len(TARGETS)


def test_a_decoder_that_takes_too_much_or_too_little_is_noticed() -> None:
    body = bytes(codec(MetadataRequest, 4).encode(MetadataRequest(topics=None)))
    with pytest.raises(AssertionError, match="construct refuses it"):
        check_body(codec(MetadataRequest, 4), MetadataRequest, 1, body)
    with pytest.raises(AssertionError, match="construct reads it"):
        check_body(codec(MetadataRequest, 1), MetadataRequest, 4, body)
