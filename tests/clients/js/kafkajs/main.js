"use strict";

// kafkajs in the report card: main.js BOOTSTRAP PREFIX ITEM...

const { Kafka, Partitioners, logLevel } = require("kafkajs");
const { version } = require("kafkajs/package.json");
const { HALF, Ledger, tell, until } = require("./ledger.js");

const PARTITIONS = 6;
const REPLICAS = 3;
const ABORTS_EVERY = 3;
const RETRIES = 30;

const [bootstrap, prefix, ...names] = process.argv.slice(2);
const kafka = new Kafka({
  brokers: bootstrap.split(","),
  logLevel: logLevel.ERROR,
  retry: { retries: RETRIES, initialRetryTime: 100, maxRetryTime: 1000 },
});

// A consumer whose broker answers KAFKA_STORAGE_ERROR asks it again until its metadata are so old.
const METADATA_MAX_AGE_MS = 1000;
const settings = { idempotent: true, maxInFlightRequests: 1, createPartitioner: Partitioners.DefaultPartitioner };

async function using(client, work) {
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.disconnect();
  }
}

async function create(admin, topic) {
  return admin.createTopics({
    waitForLeaders: true,
    topics: [
      {
        topic,
        numPartitions: PARTITIONS,
        replicationFactor: REPLICAS,
        configEntries: [{ name: "min.insync.replicas", value: "2" }],
      },
    ],
  });
}

async function described(admin, topic) {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: 2, name: topic }],
  });
  return Object.fromEntries(resources[0].configEntries.map((each) => [each.configName, each.configValue]));
}

async function admin() {
  const topic = `${prefix}-admin`;
  const ledger = new Ledger();
  return using(kafka.admin(), async (client) => {
    await create(client, topic);
    if (await create(client, topic)) {
      throw new Error("the topic was created twice");
    }
    await client.alterConfigs({
      validateOnly: false,
      resources: [{ type: 2, name: topic, configEntries: [{ name: "retention.ms", value: "1234567" }] }],
    });
    await until(ledger, "the configuration is described as it was set", async () => {
      const configs = await described(client, topic);
      return configs["retention.ms"] === "1234567" && configs["min.insync.replicas"] === "1";
    });
    await client.createPartitions({ topicPartitions: [{ topic, count: 2 * PARTITIONS }] });
    await until(ledger, "each partition has its replicas", async () => {
      const { topics } = await client.fetchTopicMetadata({ topics: [topic] });
      const { partitions } = topics[0];
      return partitions.length === 2 * PARTITIONS && partitions.every((each) => each.replicas.length === REPLICAS);
    });
    await client.deleteTopics({ topics: [topic] });
    await until(ledger, "the topic is gone", async () => !(await client.listTopics()).includes(topic));
    return "topics, configurations, partitions";
  });
}

function sender(producer, topic) {
  return (messages) => producer.send({ topic, acks: -1, messages });
}

// Reads a topic, committed records only, until the ledger says that all is read.
async function readAll(topic, ledger) {
  const consumer = kafka.consumer({ groupId: `${topic}-check` });
  await using(consumer, async () => {
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({ eachMessage: async ({ message }) => ledger.read(message) });
    await until(ledger, "all is read", () => ledger.isRead);
  });
}

async function produce() {
  const topic = `${prefix}-produce`;
  const ledger = new Ledger();
  await using(kafka.admin(), (client) => create(client, topic));
  await using(kafka.producer(settings), (producer) => ledger.write(topic, sender(producer, topic)));
  await readAll(topic, ledger);
  ledger.judge({ exactly: true });
  return `${ledger.writtenTotal} records, idempotent`;
}

// A consumer that crashed starts again by itself, unless it says that it does not.
function watch(consumer, ledger) {
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) {
      ledger.errors.push(`crash: ${payload.error.message}`);
    }
  });
}

async function join(groupId, topic, ledger) {
  const consumer = kafka.consumer({ groupId, retry: { retries: RETRIES }, metadataMaxAge: METADATA_MAX_AGE_MS });
  const member = { consumer, owned: 0, read: 0 };
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    member.owned = (payload.memberAssignment[topic] ?? []).length;
  });
  watch(consumer, ledger);
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachMessage: async ({ message }) => {
      ledger.read(message);
      member.read += 1;
    },
  });
  return member;
}

// Two members read what is written meanwhile, one of them leaves.
async function share(groupId, topic, ledger, producer) {
  const first = await join(groupId, topic, ledger);
  try {
    const written = ledger.write(topic, sender(producer, topic), { group: groupId });
    await until(ledger, "the first member reads", () => first.read > 0);
    const second = await join(groupId, topic, ledger);
    try {
      const half = PARTITIONS / 2;
      await until(ledger, "both share the partitions", () => first.owned === half && second.owned === half);
      await written;
    } finally {
      await second.consumer.disconnect();
    }
    await until(ledger, "the member that is left has all partitions", () => first.owned === PARTITIONS);
    await until(ledger, "all is read", () => ledger.isRead);
  } finally {
    await first.consumer.disconnect();
  }
}

// A new member reads what is written from now on, and nothing of what was committed.
async function resume(groupId, topic, ledger, producer) {
  const { again } = ledger;
  const messages = Array.from({ length: HALF }, () => ledger.next());
  await producer.send({ topic, acks: -1, messages });
  const third = await join(groupId, topic, ledger);
  try {
    await until(ledger, "what was written last is read", () => ledger.isRead);
  } finally {
    await third.consumer.disconnect();
  }
  if (ledger.again > again) {
    throw new Error(`${ledger.again - again} records were read again though they were committed`);
  }
}

async function group() {
  const topic = `${prefix}-group`;
  const groupId = `${prefix}-readers`;
  const ledger = new Ledger();
  return using(kafka.admin(), async (client) => {
    await create(client, topic);
    await using(kafka.producer(settings), async (producer) => {
      await share(groupId, topic, ledger, producer);
      await resume(groupId, topic, ledger, producer);
    });
    const { groups } = await client.listGroups();
    if (!groups.some((each) => each.groupId === groupId)) {
      throw new Error(`${groupId} is not listed`);
    }
    const { groups: found } = await client.describeGroups([groupId]);
    if (found[0].state !== "Empty") {
      throw new Error(`${groupId} is ${found[0].state}, not Empty`);
    }
    await client.deleteGroups([groupId]);
    ledger.judge({ exactly: false });
    return `${ledger.writtenTotal} records, ${ledger.again} of them twice`;
  });
}

// Copies source to sink, offsets and records in one transaction, and aborts each third.
async function transform(ledger, isWritten) {
  const producer = kafka.producer({ ...settings, transactionalId: `${prefix}-transform` });
  const consumer = kafka.consumer({
    groupId: `${prefix}-transformers`,
    readUncommitted: false,
    metadataMaxAge: METADATA_MAX_AGE_MS,
  });
  const counts = { begun: 0, aborted: 0, copied: 0 };
  const copy = async ({ topic, partition, messages }) => {
    const transaction = await producer.transaction();
    counts.begun += 1;
    const offset = String(Number(messages[messages.length - 1].offset) + 1);
    await transaction.send({ topic: `${prefix}-sink`, acks: -1, messages });
    await transaction.sendOffsets({
      consumerGroupId: `${prefix}-transformers`,
      topics: [{ topic, partitions: [{ partition, offset }] }],
    });
    if (counts.begun % ABORTS_EVERY === 0) {
      counts.aborted += 1;
      await transaction.abort();
      return false;
    }
    await transaction.commit();
    return true;
  };
  await using(producer, () =>
    using(consumer, async () => {
      watch(consumer, ledger);
      await consumer.subscribe({ topic: `${prefix}-source`, fromBeginning: true });
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: async ({ batch, resolveOffset, heartbeat }) => {
          const messages = batch.messages.map(({ key, value, offset }) => ({ key, value, offset }));
          const { topic, partition } = batch;
          while (!(await copy({ topic, partition, messages })));
          counts.copied += messages.length;
          resolveOffset(batch.lastOffset());
          await heartbeat();
        },
      });
      await isWritten;
      await until(ledger, "all is copied", () => counts.copied === ledger.writtenTotal);
    }),
  );
  return counts.aborted;
}

async function transactions() {
  const [source, sink] = [`${prefix}-source`, `${prefix}-sink`];
  const ledger = new Ledger();
  await using(kafka.admin(), async (client) => {
    await create(client, source);
    await create(client, sink);
  });
  const of = { group: `${prefix}-transformers`, transactionalId: `${prefix}-transform` };
  const isWritten = using(kafka.producer(settings), (producer) => ledger.write(sink, sender(producer, source), of));
  const aborted = await transform(ledger, isWritten);
  await readAll(sink, ledger);
  ledger.judge({ exactly: true });
  return `${ledger.writtenTotal} records, ${aborted} transactions aborted`;
}

async function main() {
  const items = { admin, produce, group, transactions };
  tell({ version });
  for (const item of names) {
    try {
      tell({ item, ok: true, told: await items[item]() });
    } catch (error) {
      tell({ item, ok: false, told: error.message });
    }
  }
  process.exit(0);
}

main();
