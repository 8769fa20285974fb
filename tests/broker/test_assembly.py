"""The parts of a broker: its settings in Kafka's words, its identity, its ids."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from broker.assembly import Parts
from broker.lifecycle.broker_configs import config_overrides
from broker.storage.meta_properties import is_usable_directory_id
from broker.world import real_world
from protocol.cluster_file.spec import ClusterSpec
from protocol.configs.parsing import broker_config
from tests.broker.one_broker import cluster_spec


@pytest.fixture
def spec(tmp_path: Path) -> ClusterSpec:
    return cluster_spec(tmp_path, 9_090, configs={"num.partitions": "3"})


@pytest.fixture
async def parts(spec: ClusterSpec) -> AsyncIterator[Parts]:
    made = Parts(spec, spec.brokers[0], real_world(Random(1)), lambda _: None)
    yield made
    for log_dir in made.log_dirs.values():
        await log_dir.close()


def test_the_cluster_files_words_become_kafkas_keys(spec: ClusterSpec):
    own = replace(spec.brokers[0], rack="a", port=9_092, advertised_port=19_092)
    overrides = config_overrides(own)
    assert overrides["log.dirs"] == ",".join(one.path for one in own.log_dirs)
    assert overrides["listeners"] == "PLAINTEXT://127.0.0.1:9092"
    assert overrides["advertised.listeners"] == "PLAINTEXT://127.0.0.1:19092"
    assert (overrides["broker.id"], overrides["broker.rack"]) == ("1", "a")
    assert overrides["num.partitions"] == "3"
    assert "broker.rack" not in config_overrides(spec.brokers[0])


async def test_every_log_dir_has_a_disk_that_can_be_made_to_fail(parts: Parts):
    assert list(parts.disks) == list(parts.log_dirs)
    assert all(parts.log_dirs[path].disk is disk for path, disk in parts.disks.items())
    assert all(one.is_online for one in parts.log_dirs.values())


async def test_an_incarnation_is_new_for_every_registration_of_a_start(parts: Parts):
    first, second = parts.identity(1_234), parts.identity(1_234)
    assert first.port == 1_234
    assert len(first.incarnation_id) == 16
    assert first.incarnation_id != second.incarnation_id


async def test_new_directory_ids_are_usable_and_differ(parts: Parts):
    new_id = parts.owner().new_directory_id
    ids = [new_id() for _ in range(50)]
    assert all(map(is_usable_directory_id, ids))
    assert len(dict.fromkeys(ids)) == 50


async def test_handlers_share_the_engines_metadata(parts: Parts):
    engine = parts.make_engine()
    context = parts.context()
    assert (context.metadata, context.produces) == (engine.state.metadata, engine.produces)
    assert context.cluster_id == "cluster"
    assert context.config.num_partitions == 3
    assert context.loop_ms() >= 0
    assert 0 <= context.elapsed_us() <= context.elapsed_us()


@pytest.mark.parametrize("emulated", [None, "3.9"])
async def test_features_are_those_that_every_broker_of_the_cluster_has(
    spec: ClusterSpec, emulated: str | None
):
    (own,) = spec.brokers
    other = replace(own, id=2, emulate=emulated)
    made = Parts(replace(spec, brokers=(own, other)), own, real_world(Random(1)), lambda _: None)
    made.make_engine()
    context = made.context()
    assert (context.release, context.cluster_release) == (None, emulated)
    for log_dir in made.log_dirs.values():
        await log_dir.close()


async def test_dynamic_configs_reach_the_engine_the_topics_and_heartbeats(parts: Parts):
    engine = parts.make_engine()
    first, second = parts.log_dirs.values()
    config = broker_config({"cordoned.log.dirs": second.path, "log.segment.bytes": "9000"})
    parts.broker_configs.config = config
    parts.on_broker_configs(config)
    assert parts.topic_configs.config_of("any").segment_bytes == 9_000
    described = {one.path: one.is_cordoned for one in engine.describe.log_dirs(None)}
    assert described == {first.path: False, second.path: True}
    assert parts.cordoned_directory_ids() == []  # It was never read, so that it has no id yet.
    second.directory_id = bytes(range(16))
    assert parts.cordoned_directory_ids() == [second.directory_id]
    second.fail("probe", OSError("gone"))
    assert parts.cordoned_directory_ids() == [second.directory_id]
