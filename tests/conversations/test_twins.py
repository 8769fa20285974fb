"""Two clusters that are told the same, and what is wrong with one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from conformance.cluster_access import Access, find_cluster
from conformance.trial import Trial
from jbodlab.processes.lab_spec import LabShape
from protocol.apis import BY_NAME
from protocol.json_form import decode_body, decode_header, encode_body, encode_header
from tests.conformance.mutating_proxy import mutating_proxy
from tests.conversations.twins import Twins, common_versions, talked
from tests.deadlines import DEADLINE_MS
from tests.integration.labs import running_lab

SEED: Final = 3
STEPS: Final = 25
SHORT_MAX: Final = 3
WRONG: Final = BY_NAME["ListOffsets"]
"""What one of them gets wrong."""
SHAPE: Final = LabShape(
    brokers=1,
    configs={
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.assignment.interval.ms": "0",
        "auto.create.topics.enable": "false",
    },
)


def wrong_offsets(key: int, version: int, frame: bytes) -> Sequence[bytes] | None:
    """Answer each ListOffsets with an offset that is one too high."""
    if key != WRONG.key:
        return None
    header, size = decode_header(WRONG.name, "response", version, frame)
    body = decode_body(WRONG.name, "response", version, frame[size:])
    for topic in body["topics"]:
        for row in topic["partitions"]:
            row["offset"] = row.get("offset", 0) + 1
    head = encode_header(WRONG.name, "response", version, header)
    return [head + encode_body(WRONG.name, "response", version, body)]


def test_the_versions_of_both_are_those_that_both_announce_and_we_know():
    fetch, produce = BY_NAME["Fetch"].key, BY_NAME["Produce"].key
    found = common_versions({fetch: (4, 99), produce: (0, 3)}, {fetch: (0, 12)})
    assert found == {"Fetch": (4, 12)}


async def ready(server: str, proxy_port: int | None = None) -> Access:
    access = await find_cluster(server, DEADLINE_MS)
    await Trial(access, f"ready{proxy_port}").prepare()
    if proxy_port is None:
        return access
    brokers = {id_: replace(each, port=proxy_port) for id_, each in access.brokers.items()}
    return replace(access, brokers=brokers)


@pytest.mark.integration
@pytest.mark.sampled_among("conversations with two clusters", kept=0)
async def test_a_wrong_answer_is_found_and_the_conversation_about_it_is_short(
    tmp_path: Path,
) -> None:
    with running_lab(tmp_path / "one", SHAPE) as one, running_lab(tmp_path / "two", SHAPE) as two:
        host, _, port = two.servers[0].rpartition(":")
        with mutating_proxy(host, int(port)) as proxy:
            twins = Twins(await ready(one.servers[0]), await ready(two.servers[0], proxy.port), "s")
            assert await twins.shortest(SEED, range(STEPS)) is None
            proxy.change = wrong_offsets
            found = await twins.shortest(SEED, range(STEPS))
            twins.ours.close()
            twins.theirs.close()
    assert found is not None
    steps, heard = found
    assert heard.difference is not None
    assert heard.difference.path.endswith("offset")
    assert len(steps) <= SHORT_MAX
    assert {each.api for each in heard.asked} >= {WRONG.name}
    assert [theirs == ours for theirs, ours in talked(heard)][-1:] == [False]
