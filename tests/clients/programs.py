"""The client programs of the report card, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from tests.clients.builds import (
    connect_program,
    go_program,
    java_program,
    node_program,
    python_program,
    rust_program,
    spark_program,
)

ADMIN: Final = "admin"
PRODUCE: Final = "produce"
TOPICS: Final = "admin topics"
AT_LEAST_ONCE: Final = "produce at least once"
GROUP: Final = "group"
TRANSACTIONS: Final = "transactions"
COMMITTED: Final = "transactions, none aborted"
STREAMS: Final = "streams"
CONSUMER_GROUP: Final = "kip-848 group"
COOPERATIVE: Final = "cooperative group"
BATCH: Final = "batch"
STREAMING: Final = "streaming"
SINK: Final = "sink"
CONNECTORS: Final = "connectors"
MIRROR: Final = "mirror"
COORDINATED: Final = (
    GROUP,
    CONSUMER_GROUP,
    COOPERATIVE,
    TRANSACTIONS,
    COMMITTED,
    STREAMS,
    CONNECTORS,
    MIRROR,
)
FOUR: Final = (ADMIN, PRODUCE, GROUP, TRANSACTIONS)
MEANINGS: Final = {
    ADMIN: "creates a topic, changes, describes and deletes it",
    TOPICS: "creates a topic, lists and deletes it",
    PRODUCE: "idempotent: every record once, in the order of its key",
    AT_LEAST_ONCE: "not idempotent: every record, in the order of its key",
    GROUP: "two members share, one leaves, a third goes on at the committed offsets; the group is "
    "listed, described, deleted",
    CONSUMER_GROUP: "the same by the consumer protocol of KIP-848",
    COOPERATIVE: "three members join one after the other by the cooperative-sticky assignor, one "
    "leaves: no partition is taken from a member that keeps it",
    TRANSACTIONS: "consume, transform, produce; each third transaction aborted: every record once",
    COMMITTED: "consume, transform, produce: every record once",
    STREAMS: "Kafka Streams counts words with exactly_once_v2, through a repartition topic and a "
    "changelog: every count of every word once, in order",
    BATCH: "reads whole topics, also while they are written: every record once, in order",
    STREAMING: "Structured Streaming from a topic into Parquet: every record once, in order",
    SINK: "Structured Streaming from one topic into another: every record, at least once",
    CONNECTORS: "a file into a topic, exactly once, and on into a file, by two workers, one of "
    "which is killed: every line once and in order in the topic; made and deleted over REST",
    MIRROR: "MirrorMaker 2 from another cluster: every record once, in the order of its key; the "
    "topic's configuration follows, and a group goes on with the copy",
}


@dataclass(frozen=True, slots=True)
class Program:
    """One client in a program of its own."""

    client: str
    """As people call it; unique without regard to case."""
    prepare: Callable[[Path], list[str]]
    """Takes the folder for what is fetched and compiled, returns what starts the program.

    Raises ``NotRunError``.
    """
    items: tuple[str, ...] = FOUR
    is_quick: bool = True
    """Whether it takes a minute at most, and is run with ``--quick`` too."""
    outlives_disks: bool = True
    """Whether the client looks for who leads or coordinates now: without it no disk fails."""
    quick_coordinated: tuple[str, ...] = ()
    """Which items are run with ``--quick`` while disks of coordinators fail."""

    @property
    def coordinated(self) -> tuple[str, ...]:
        """Its items that have a coordinator."""
        return tuple(item for item in self.items if item in COORDINATED and self.outlives_disks)


_GROUPS: Final = (CONSUMER_GROUP, COOPERATIVE)
PROGRAMS: Final = (
    Program("franz-go", partial(go_program, "franz")),
    Program("sarama", partial(go_program, "sarama")),
    Program("kafka-go", partial(go_program, "segmentio"), (ADMIN, AT_LEAST_ONCE, GROUP)),
    Program(
        "rskafka",
        partial(rust_program, "rskafka"),
        (TOPICS, AT_LEAST_ONCE),
        is_quick=False,
        outlives_disks=False,
    ),
    Program("kafkajs", partial(node_program, "kafkajs")),
    Program(
        "platformatic kafka",
        partial(node_program, "platformatic"),
        (ADMIN, PRODUCE, GROUP, COMMITTED),
        is_quick=False,
        outlives_disks=False,
    ),
    Program("Java", partial(java_program, "4.3.1"), (*FOUR, *_GROUPS, STREAMS)),
    Program("Java before 4", partial(java_program, "3.9.2"), (*FOUR, *_GROUPS, STREAMS)),
    Program(
        "confluent-kafka",
        partial(python_program, "confluent"),
        (*FOUR, *_GROUPS),
        quick_coordinated=(TRANSACTIONS,),
    ),
    Program("kafka-python", partial(python_program, "kafka_python")),
    Program("aiokafka", partial(python_program, "aiokafka_program")),
    Program("Kafka Connect", partial(connect_program, "4.3.1"), (CONNECTORS, MIRROR)),
    Program("Spark Kafka connector", spark_program, (BATCH, STREAMING, SINK), is_quick=False),
)
NOTES: Final = (
    "kafka-go is not idempotent. It gives the application a commit that was refused three times, "
    "as with NOT_COORDINATOR, and calls the error temporary; its program goes on, and the records "
    "come again (`commitOffsetsWithRetry` in its reader.go). Of itself its writer asks for new "
    "metadata every 6 s, here every second.",
    "rskafka is neither idempotent nor does it read in groups. It gives KAFKA_STORAGE_ERROR to the "
    "application and asks the same broker the next time, on any cluster, so no disk fails while it "
    "runs (`maybe_retry` in its partition.rs).",
    "kafkajs sends one record at a time here: when a broker refuses its part of a send, kafkajs "
    "resolves the send without what then belongs to a broker that has answered already "
    "(tulios/kafkajs#1303), on any cluster, and sends under way at the same time pass each other.",
    "A consumer of kafkajs that is answered KAFKA_STORAGE_ERROR asks the same broker again and "
    "looks for no new leader until its metadata are as old as `metadataMaxAge`, 5 minutes unless "
    "it is told otherwise (`STALE_METADATA_ERRORS` in its consumerGroup.js), nor does it tell its "
    "group meanwhile that it lives. Here it is 1 s.",
    "platformatic kafka is @platformatic/kafka. It repeats what was refused at the broker that "
    "refused it: KAFKA_STORAGE_ERROR of a leader or NOT_COORDINATOR have it look for no other one "
    "(`kPerformWithRetry` in its base.js), so no disk fails while it runs. A consumer that reads "
    "committed records is given those of aborted transactions, too, when one answer has more than "
    "one of a producer, or has not got the marker yet (`#filterUncommittedMessages` in its "
    "consumer.js). Both are so on any cluster.",
    "confluent-kafka, that is librdkafka, takes KAFKA_STORAGE_ERROR to say that nothing was "
    "written (MSG_NOT_PERSISTED in its rdkafka_request.c). What waited for followers as its "
    "leader's log dir failed may be there, though; an idempotent producer sends it again under "
    "the same sequence numbers, which the next leader knows. Seldom librdkafka sends the next "
    "leader what follows before the former one has answered: that is refused "
    "(OUT_OF_ORDER_SEQUENCE_NUMBER), and the producer goes on under another epoch, by which "
    "records may be there twice.",
    "A transactional producer of confluent-kafka that aborts drops the requests that wait to be "
    "sent, and goes on behind the sequence numbers they had: the partition refuses what comes next "
    "(OUT_OF_ORDER_SEQUENCE_NUMBER), and the next transaction does not end, on Apache Kafka 3.9.2 "
    "and 4.3.1 either. The program here flushes before it aborts.",
    "A consumer of confluent-kafka that has its partitions and is answered NOT_COORDINATOR as it "
    "asks for its offsets never asks again: it stays in its group and reads nothing "
    "(confluentinc/librdkafka#5586), on any cluster. It gives that error to the application; the "
    "program here unsubscribes and subscribes then.",
    "aiokafka 0.14 asks by OffsetFetch v3 and looks for errors in partitions alone: what an answer "
    "has at its top, as COORDINATOR_LOAD_IN_PROGRESS, it takes for no committed offset, and its "
    "consumer goes on by `auto_offset_reset`, on any cluster "
    "(`_do_fetch_commit_offsets` in its group_coordinator.py).",
)
"""What a reader has to know of a client to understand its row."""
