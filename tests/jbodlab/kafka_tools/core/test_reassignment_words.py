"""Which options go together in kafka-reassign-partitions."""

from __future__ import annotations

import shlex

import pytest

from jbodlab.kafka_tools.core.failures import UsageFailure
from jbodlab.kafka_tools.core.options import EVERYWHERE, read_words
from jbodlab.kafka_tools.core.reassignment_words import OPTIONS, check_words

BOOTSTRAP = "--bootstrap-server a:1"
FILE = "--reassignment-json-file f"
TOPICS = "--topics-to-move-json-file f --broker-list 1"
ONE_ACTION = (
    "Command must include exactly one action: --generate, --execute, --verify, --cancel, --list"
)


def checked(line: str) -> str:
    return check_words(read_words(shlex.split(line), (*OPTIONS, *EVERYWHERE)))


def no(option: str, action: str) -> str:
    return f'Option "[{option}]" can\'t be used with action "[{action}]"'


def missing(option: str) -> str:
    return f'Missing required argument "[{option}]"'


@pytest.mark.scenario(197)
@pytest.mark.parametrize(
    ("line", "result"),
    [
        (f"{BOOTSTRAP} --generate {TOPICS}", "generate"),
        (f"{BOOTSTRAP} --generate {TOPICS} --disable-rack-aware", "generate"),
        (f"{BOOTSTRAP} --execute {FILE}", "execute"),
        (
            f"{BOOTSTRAP} --execute {FILE} --additional --throttle 1 --timeout 2 "
            "--replica-alter-log-dirs-throttle 3 --command-config c",
            "execute",
        ),
        (f"{BOOTSTRAP} --verify {FILE}", "verify"),
        (f"{BOOTSTRAP} --verify {FILE} --preserve-throttles", "verify"),
        (f"{BOOTSTRAP} --cancel {FILE}", "cancel"),
        (f"{BOOTSTRAP} --cancel {FILE} --preserve-throttles --timeout 5", "cancel"),
        (f"{BOOTSTRAP} --list", "list"),
        (BOOTSTRAP, ONE_ACTION),
        (f"{BOOTSTRAP} {FILE}", ONE_ACTION),
        (f"{BOOTSTRAP} --execute --verify {FILE}", ONE_ACTION),
        ("--list", "Please specify --bootstrap-server"),
        (f"--execute {FILE}", "Please specify --bootstrap-server"),
        (f"{BOOTSTRAP} --execute", missing("reassignment-json-file")),
        (f"{BOOTSTRAP} --verify", missing("reassignment-json-file")),
        (f"{BOOTSTRAP} --cancel", missing("reassignment-json-file")),
        (f"{BOOTSTRAP} --cancel --preserve-throttles", missing("reassignment-json-file")),
        (f"{BOOTSTRAP} --generate --broker-list 1", missing("topics-to-move-json-file")),
        (f"{BOOTSTRAP} --generate --topics-to-move-json-file f", missing("broker-list")),
        (f"{BOOTSTRAP} --generate {TOPICS} {FILE}", no("reassignment-json-file", "generate")),
        (f"{BOOTSTRAP} --generate {TOPICS} --throttle 1", no("throttle", "generate")),
        (
            f"{BOOTSTRAP} --generate {TOPICS} --replica-alter-log-dirs-throttle 1",
            no("replica-alter-log-dirs-throttle", "generate"),
        ),
        (f"{BOOTSTRAP} --execute {FILE} --broker-list 1", no("broker-list", "execute")),
        (
            f"{BOOTSTRAP} --execute {FILE} --preserve-throttles",
            no("preserve-throttles", "execute"),
        ),
        (
            f"{BOOTSTRAP} --execute {FILE} --disable-rack-aware",
            no("disable-rack-aware", "execute"),
        ),
        (f"{BOOTSTRAP} --verify {FILE} --additional", no("additional", "verify")),
        (f"{BOOTSTRAP} --verify {FILE} --throttle 100", no("throttle", "verify")),
        (f"{BOOTSTRAP} --verify {FILE} --timeout 1", no("timeout", "verify")),
        (f"{BOOTSTRAP} --verify {FILE} --broker-list 1", no("broker-list", "verify")),
        (f"{BOOTSTRAP} --cancel {FILE} --throttle 1", no("throttle", "cancel")),
        (f"{BOOTSTRAP} --cancel {FILE} --disable-rack-aware", no("disable-rack-aware", "cancel")),
        (f"{BOOTSTRAP} --list --throttle 1", no("throttle", "list")),
        (f"{BOOTSTRAP} --list {FILE}", no("reassignment-json-file", "list")),
    ],
)
def test_an_action_takes_its_own_options_and_no_others(line: str, result: str):
    try:
        found = checked(line)
    except UsageFailure as failure:
        found = str(failure)
    assert found == result
