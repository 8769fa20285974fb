"""Opens a transaction, runs the command line that it was given, and commits."""

import subprocess
import sys

from confluent_kafka import Producer

servers, *breaking = sys.argv[1:]
producer = Producer({"bootstrap.servers": servers, "transactional.id": "pay"})
producer.init_transactions()
producer.begin_transaction()
producer.produce("orders", b"paid")
producer.flush()
subprocess.run(breaking, check=True)
producer.commit_transaction()
print("committed")
