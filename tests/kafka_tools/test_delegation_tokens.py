"""Kafka's ``kafka-delegation-tokens`` on a secured cluster, and logins by the tokens it makes."""

from __future__ import annotations

import re
from collections.abc import Generator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pytest

import jbodlab
from benchmarks.peer.kafka import PeerMissingError
from tests.integration.labs import FAST, PATIENT_MS
from tests.kafka_tools.both import Both
from tests.kafka_tools.conftest import BUILD
from tests.kafka_tools.tools import RELEASES, KafkaTools, Printed

DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
DELEGATION_ERRORS = "org.apache.kafka.common.errors.DelegationTokenNotFoundException: "
CONFIGS = {**FAST, "delegation.token.secret.key": "only for this test"}


class Secured(NamedTuple):
    """The tools of one release and the files by which users come in."""

    tools: KafkaTools
    admin: str
    alice: str

    def run(self, command: str, user: str) -> Printed:
        return self.tools.run(f"{command} --command-config {user}")

    def by_token(self, token_id: str, hmac: str) -> str:
        """Return a file by which one comes in with a token."""
        text = Path(self.alice).read_text().splitlines()
        lines = [line for line in text if not line.startswith("sasl.jaas.config")]
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        login = f'username="{token_id}" password="{hmac}" tokenauth="true"'
        file = Path(self.alice).with_name("token.properties")
        file.write_text("\n".join([*lines, f"sasl.jaas.config={module} required {login};"]))
        return str(file)


@pytest.fixture(params=RELEASES)
def token_tools(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Secured]:
    """The tools of one release, at a secured cluster of their own."""
    with jbodlab.Cluster(
        brokers=2,
        log_dirs=1,
        secure=True,
        configs=CONFIGS,
        session_timeout_ms=PATIENT_MS,
        folder=tmp_path / "lab",
    ) as cluster:
        try:
            tools = KafkaTools(request.param, BUILD, tmp_path, cluster.bootstrap_servers)
        except PeerMissingError as error:
            pytest.skip(str(error))
        files = [str(cluster.client_file(f"{user}.properties")) for user in ("admin", "alice")]
        yield Secured(tools, *files)
        tools.close()


@pytest.mark.sampled("token_tools", kept=1, together="releases of tools")
def test_a_token_is_created_used_renewed_described_and_expired(token_tools: Secured):
    run, alice, admin = token_tools.run, token_tools.alice, token_tools.admin
    create = "kafka-delegation-tokens --create --max-life-time-period -1"
    created = run(f"{create} --renewer-principal User:admin", alice)
    assert created.code == 0, created
    token_id, hmac, owner, requester, *_ = created.lines[-1].split()
    assert (owner, requester) == ("User:alice", "User:alice")
    described = run("kafka-delegation-tokens --describe --owner-principal User:alice", admin)
    assert "Total number of tokens : 1" in described.out
    assert described.lines[-1].split()[:2] == [token_id, hmac]
    renewed = run(f"kafka-delegation-tokens --renew --hmac {hmac} --renew-time-period -1", admin)
    assert "Completed renew operation. New expiry date" in renewed.out

    token = token_tools.by_token(token_id, hmac)
    assert run("kafka-topics --list", token).code == 0
    refused = run(create, token)
    assert refused.code == 1
    assert "Delegation Token requests are not allowed" in refused.out + refused.err

    expired = run(f"kafka-delegation-tokens --expire --hmac {hmac} --expiry-time-period -1", alice)
    assert "Completed expire operation" in expired.out
    gone = run("kafka-delegation-tokens --describe", alice)
    assert "Total number of tokens : 0" in gone.out
    assert run("kafka-topics --list", token).code == 1
    missing = run(f"kafka-delegation-tokens --renew --hmac {hmac} --renew-time-period -1", alice)
    assert "Delegation Token is not found on server" in missing.out + missing.err


def compared(printed: Printed) -> str:
    """Return what was printed without what is by chance: ids, HMACs, the minute of the first date.

    Later dates are told by what they are from the first: two commands are minutes apart at times.
    """
    text = re.sub(r"\S{22} +(?=\S{86}==)", "ID ", printed.out)
    text = re.sub(r"(?<=tokenId : )\S+", "ID", re.sub(r"\S{86}==", "HMAC", text))
    dates = [datetime.fromisoformat(date) for date in DATE.findall(text)]
    return DATE.sub(lambda found: str(datetime.fromisoformat(found.group()) - dates[0]), text)


@pytest.mark.sampled("token_tools", kept=1, together="releases of tools")
def test_our_command_prints_what_kafkas_does(token_tools: Secured, tmp_path: Path):
    both = Both(token_tools.tools, lambda _broker: [], tmp_path)
    alice, admin = token_tools.alice, token_tools.admin

    def ours(words: str, user: str) -> Printed:
        return both.ours(f"kafka-delegation-tokens {words} --command-config {user}")

    def java(words: str, user: str) -> Printed:
        return token_tools.run(f"kafka-delegation-tokens {words}", user)

    create = "--create --max-life-time-period 3600000"
    for words, user in (
        (create, alice),
        (f"{create} --renewer-principal User:bob --renewer-principal User:admin", alice),
        (f"{create} --owner-principal User:alice", admin),
    ):
        mine, theirs = ours(words, user), java(words, user)
        assert compared(mine) == compared(theirs)
        assert (mine.code, mine.err) == (0, "")
    for words in ("", " --owner-principal User:alice", " --owner-principal User:nobody"):
        mine, theirs = ours(f"--describe{words}", admin), java(f"--describe{words}", admin)
        assert mine.out.splitlines()[:4] == theirs.out.splitlines()[:4]
        assert sorted(mine.lines) == sorted(theirs.lines)
    hmac = ours("--describe --owner-principal User:alice", alice).lines[-1].split()[1]
    assert hmac not in ours("--describe --owner-principal User:alice --json", alice).out
    for words in (f"--renew --hmac {hmac} --renew-time-period 60000",):
        assert compared(ours(words, alice)) == compared(java(words, alice))
    expire = f"--expire --hmac {hmac} --expiry-time-period -1"
    assert "Completed expire operation" in ours(expire, alice).out
    for words, user in ((expire, alice), ("--create", alice), (f"--describe {expire}", alice)):
        mine, theirs = ours(words, user), java(words, user)
        assert (mine.code, theirs.code) == (1, 1)
        assert mine.out == theirs.out
        first = theirs.err.splitlines()[0].replace(DELEGATION_ERRORS, "")
        assert mine.err.splitlines()[0] == first
