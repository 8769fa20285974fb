"""``jbodlab decode`` for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from jbodlab.cli import main
from jbodlab.errors import ExitCode
from protocol.json_form import encode_body
from tests.jbodlab.captured import Capture
from tests.jbodlab.command_line import jbodlab, one_line
from tests.jbodlab.decoding.test_frames import request, response, sized

REQUEST = sized(request(1, topics=[{"name": "orders"}]))


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_hex_is_shown_for_people() -> None:
    result = jbodlab("decode", REQUEST.hex())
    assert result.exit_code == ExitCode.OK
    assert result.output.startswith("request Metadata v5 correlation 1 client test\n{\n")
    assert '"name": "orders"' in result.output


def test_hex_may_have_spaces_and_no_size() -> None:
    assert jbodlab("decode", REQUEST[4:].hex(" ")).output == jbodlab("decode", REQUEST.hex()).output


def test_json_is_one_line_per_frame() -> None:
    result = jbodlab("decode", "--json", (REQUEST + REQUEST).hex())
    first, second = lines(result.output)
    assert first == second
    assert first["header"]["clientId"] == "test"
    assert first["body"]["topics"] == [{"name": "orders"}]


@pytest.mark.parametrize("content", [REQUEST, REQUEST.hex().encode(), REQUEST[4:]])
def test_a_file_may_hold_bytes_or_hex(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "frames"
    file.write_bytes(content)
    assert lines(jbodlab("decode", "--json", str(file)).output)[0]["api"] == "Metadata"


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_stdin_is_read_without_a_source(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, ["decode", *arguments], input=REQUEST.hex() + "\n")
    assert "request Metadata v5" in result.output


def test_a_broken_frame_tells_its_place_and_ends_with_a_code_of_its_own() -> None:
    result = jbodlab("decode", sized(request(1, topics=[{"name": "orders"}])[:-4]).hex())
    assert result.exit_code == ExitCode.MALFORMED
    assert "broken: MetadataRequest v5: -> topics[0] -> name: 6 bytes announced" in result.stdout
    assert one_line(result) == "1 of 1 frame(s) cannot be read"


def test_a_lone_response_body_is_read_when_its_api_is_told() -> None:
    body = encode_body("Metadata", "response", 5, {"clusterId": "a"}).hex()
    for api in ("Metadata", "3"):
        options = ("--api", api, "--version", "5", "--kind", "response", "--json")
        (found,) = lines(jbodlab("decode", *options, body).output)
        assert (found["api"], found["body"]["clusterId"]) == ("MetadataResponse", "a")
    broken = jbodlab("decode", *options, body[:-10])
    assert broken.exit_code == ExitCode.MALFORMED
    assert "-> controller_id" in lines(broken.stdout)[0]["error"]


def test_whole_responses_are_read_when_their_api_is_told() -> None:
    options = ("--api", "Metadata", "--version", "5", "--with-header", "--json")
    data = sized(response(1, clusterId="a"), response(2, clusterId="b")).hex()
    found = lines(jbodlab("decode", *options, data).output)
    assert [one["header"]["correlationId"] for one in found] == [1, 2]


def test_stored_records_are_read_by_the_name_of_their_schema() -> None:
    options = ("--api", "GroupMetadataKey", "--version", "0", "--kind", "coordinator-key")
    assert '"group": "g"' in jbodlab("decode", *options, "000167").output


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_a_capture_shows_requests_and_responses(tmp_path: Path, kind: str) -> None:
    capture = Capture().handshake().sends("client", REQUEST)
    file = tmp_path / "kafka"
    file.write_bytes(capture.sends("server", sized(response(1, clusterId="a"))).file(kind))
    asked, answered = lines(jbodlab("decode", "--json", str(file)).output)
    assert (asked["kind"], answered["kind"]) == ("request", "response")
    assert answered["body"]["clusterId"] == "a"
    assert answered["connection"] == "127.0.0.1:50000 -> 127.0.0.1:9092"
    assert answered["at"] > asked["at"]
    shown = jbodlab("decode", str(file)).output
    assert "on 127.0.0.1:50000 -> 127.0.0.1:9092 at 17000000" in shown


def test_a_capture_without_kafka_says_so(tmp_path: Path) -> None:
    file = tmp_path / "web"
    file.write_bytes(Capture().handshake().sends("client", b"GET / HTTP/1.1\r\n").file())
    result = jbodlab("decode", str(file))
    assert result.exit_code == ExitCode.MALFORMED
    left_out, nothing = result.stderr.splitlines()
    assert "left out 127.0.0.1:50000 -> 127.0.0.1:9092" in left_out
    assert nothing == "jbodlab: there is no frame of Kafka's protocol in it"


def test_a_broken_capture_is_told(tmp_path: Path) -> None:
    file = tmp_path / "broken"
    file.write_bytes(b"\x0a\x0d\x0d\x0a" + bytes(30))
    result = jbodlab("decode", str(file))
    assert result.exit_code == ExitCode.MALFORMED
    assert "the capture cannot be read" in one_line(result)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-file"], "no-such-file is neither hex nor a file"),
        (["abc"], "abc is neither hex nor a file"),
        (["--api", "Fetch", "00"], "--api and --version go together"),
        (["--kind", "response", "00"], "add --api and --version"),
        (["--with-header", "00"], "--with-header needs --api"),
    ],
)
def test_what_is_meant_must_be_clear(arguments: list[str], message: str) -> None:
    result = jbodlab("decode", *arguments)
    assert result.exit_code == ExitCode.USAGE
    assert message in result.stderr


def test_an_api_that_is_not_known_is_named() -> None:
    result = jbodlab("decode", "--api", "Vote", "--version", "0", "00")
    assert result.exit_code == ExitCode.FAILED
    assert "no messages for Vote" in result.stderr


def test_nothing_at_all_is_no_frame() -> None:
    assert jbodlab("decode", "").exit_code == ExitCode.MALFORMED
