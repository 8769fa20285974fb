"""aiokafka lives on the world's time and chance, and gets its own back."""

# aiokafka has no stubs, and its own annotations leave much open.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from random import Random

import aiokafka.client
import aiokafka.codec
import aiokafka.consumer.fetcher
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.structs import TopicPartition

from simulation.world.clock import EPOCH_MS
from simulation.world.foreign_clocks import WorldRandom, foreign_clocks
from simulation.world.sorted_sets import SortedSet
from tests.simulation.world.worlds import running_cluster, sim_loop

TOPIC = "{name: orders, partitions: 3, replication_factor: 3}"
BOOTSTRAP = "127.0.0.1:9001"


async def test_an_unmodified_producer_and_consumer_take_part_on_virtual_time():
    await running_cluster(topics=[TOPIC])
    began_s = time.thread_time()
    with foreign_clocks(sim_loop()):
        producer = AIOKafkaProducer(bootstrap_servers=BOOTSTRAP, acks="all", linger_ms=60_000)
        await producer.start()
        await producer.send_and_wait("orders", b"hello")
        await producer.stop()
        consumer = AIOKafkaConsumer(
            "orders", bootstrap_servers=BOOTSTRAP, auto_offset_reset="earliest"
        )
        await consumer.start()
        record = await consumer.getone()
        await consumer.stop()
    assert record.value == b"hello"
    assert record.timestamp == pytest.approx(EPOCH_MS, abs=1000)
    assert sim_loop().time() > 60
    assert time.thread_time() - began_s < 30


async def test_names_are_replaced_for_the_run_and_only_in_aiokafka():
    append, partition_hash = BatchBuilder.append, TopicPartition.__hash__
    with foreign_clocks(sim_loop()):
        assert aiokafka.client.time.monotonic() == sim_loop().time()
        assert aiokafka.client.time.time() == EPOCH_MS / 1000 + sim_loop().time()
        assert aiokafka.consumer.fetcher.random is aiokafka.client.random
        assert isinstance(aiokafka.client.random, WorldRandom)
        assert vars(aiokafka.client)["set"] is SortedSet
        assert time.monotonic() != sim_loop().time()
    assert aiokafka.client.time is time
    assert aiokafka.client.random is random
    assert "set" not in vars(aiokafka.client)
    assert BatchBuilder.append is append
    assert TopicPartition.__hash__ is partition_hash


async def test_what_is_packed_with_gzip_says_when_in_the_world():
    with foreign_clocks(sim_loop()):
        packed = aiokafka.codec.gzip_encode(b"records")
    assert int.from_bytes(packed[4:8], "little") == EPOCH_MS // 1000
    assert aiokafka.codec.gzip_decode(packed) == b"records"


async def test_partitions_hash_alike_in_every_process():
    with foreign_clocks(sim_loop()):
        assert hash(TopicPartition("orders", 1)) == 3_845_127_662 + 1


def test_chance_does_not_depend_on_the_order_in_which_it_is_given_something():
    draws = {WorldRandom(Random(7)).choice(items) for items in ([1, 2, 3], [3, 1, 2])}
    assert len(draws) == 1
    first, second = [1, 2, 3, 4], [4, 2, 1, 3]
    WorldRandom(Random(7)).shuffle(first)
    WorldRandom(Random(7)).shuffle(second)
    assert first == second


@pytest.mark.sampled_among("worlds in processes that hash differently", kept=1)
@pytest.mark.integration
def test_clients_of_many_topics_tell_one_story_in_processes_that_hash_differently():
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.simulation.world.library_story", "5"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for hash_seed in ("0", "77")
    ]
    told = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert told[0] == told[1]
