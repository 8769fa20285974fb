"use strict";

// Writes to a topic, has a disk broken halfway, and counts what was lost: survive.js SERVERS COMMAND...

const { execFileSync } = require("node:child_process");
const { Kafka, Partitioners, logLevel } = require("kafkajs");

const TOPIC = "orders";
const COUNT = 1000;

const [servers, program, ...words] = process.argv.slice(2);
const kafka = new Kafka({
  brokers: servers.split(","),
  logLevel: logLevel.NOTHING,
  retry: { retries: 30, initialRetryTime: 100, maxRetryTime: 1000 },
});

async function write() {
  const producer = kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  for (let number = 0; number < COUNT; number++) {
    if (number === COUNT / 2) execFileSync(program, words, { stdio: "inherit" });
    const text = String(number);
    // One after the other: sends under way at the same time pass each other when one is tried again.
    await producer.send({ topic: TOPIC, acks: -1, messages: [{ key: text, value: text }] });
  }
  await producer.disconnect();
}

async function read() {
  const consumer = kafka.consumer({ groupId: `survive-${process.pid}` });
  const seen = new Set();
  let twice = 0;
  await consumer.connect();
  await consumer.subscribe({ topic: TOPIC, fromBeginning: true });
  await new Promise((resolve) => {
    const timer = setTimeout(resolve, 60_000);
    consumer.run({
      eachMessage: async ({ message }) => {
        const text = message.value.toString();
        if (seen.has(text)) twice++;
        seen.add(text);
        if (seen.size === COUNT) {
          clearTimeout(timer);
          resolve();
        }
      },
    });
  });
  await consumer.disconnect();
  console.log(`${COUNT} acknowledged, ${COUNT - seen.size} lost, ${twice} twice`);
  return seen.size === COUNT && twice === 0;
}

write()
  .then(read)
  .then((isWhole) => process.exit(isWhole ? 0 : 1))
  .catch((error) => {
    console.error(`not acknowledged: ${error.message}`);
    process.exit(1);
  });
