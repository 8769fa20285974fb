"use strict";

// @platformatic/kafka in the report card: main.js BOOTSTRAP PREFIX ITEM...

const {
  Admin,
  Consumer,
  FetchIsolationLevels,
  IncrementalAlterConfigOperationTypes,
  Producer,
  stringDeserializers,
  stringSerializers,
} = require("@platformatic/kafka");
const version = require("./package.json").dependencies["@platformatic/kafka"];
const { HALF, Ledger, tell, until } = require("./ledger.js");

const PARTITIONS = 6;
const REPLICAS = 3;
const BATCH = 50;
const TOPIC = 2;

const [bootstrap, prefix, ...names] = process.argv.slice(2);
const connection = { bootstrapBrokers: bootstrap.split(",") };

function connected(Client, options = {}) {
  return new Client({ clientId: prefix, ...connection, ...options });
}

// Only a consumer whose streams are still open has to be forced.
async function using(client, work) {
  try {
    return await work(client);
  } finally {
    await (client instanceof Consumer ? client.close(true) : client.close());
  }
}

async function create(admin, topic) {
  const configs = [{ name: "min.insync.replicas", value: "2" }];
  await admin.createTopics({ topics: [topic], partitions: PARTITIONS, replicas: REPLICAS, configs });
}

async function described(admin, topic) {
  const resources = [{ resourceType: TOPIC, resourceName: topic, configurationKeys: null }];
  const [{ configs }] = await admin.describeConfigs({ resources });
  return Object.fromEntries(configs.map((each) => [each.name, each.value]));
}

async function admin() {
  const topic = `${prefix}-admin`;
  const ledger = new Ledger();
  return using(connected(Admin), async (client) => {
    await create(client, topic);
    const again = await create(client, topic).then(() => "no error", (error) => error.errors?.[0]?.apiId ?? String(error));
    if (again !== "TOPIC_ALREADY_EXISTS") {
      throw new Error(`created twice: ${again}`);
    }
    const configs = [
      { name: "retention.ms", value: "1234567", configOperation: IncrementalAlterConfigOperationTypes.SET },
    ];
    const resources = [{ resourceType: TOPIC, resourceName: topic, configs }];
    await client.incrementalAlterConfigs({ resources });
    await until(ledger, "the configuration is described as it was set", async () => {
      const found = await described(client, topic);
      return found["retention.ms"] === "1234567" && found["min.insync.replicas"] === "2";
    });
    await client.createPartitions({ topics: [{ name: topic, count: 2 * PARTITIONS, assignments: null }] });
    await until(ledger, "each partition has its replicas", async () => {
      const { topics } = await client.metadata({ topics: [topic], forceUpdate: true });
      const { partitions } = topics.get(topic);
      return partitions.length === 2 * PARTITIONS && partitions.every((each) => each.replicas.length === REPLICAS);
    });
    await client.deleteTopics({ topics: [topic] });
    await until(ledger, "the topic is gone", async () => !(await client.listTopics()).includes(topic));
    return "topics, configurations, partitions";
  });
}

function producing(options = {}) {
  return connected(Producer, { idempotent: true, serializers: stringSerializers, ...options });
}

function sender(producer, topic) {
  return (records) => producer.send({ messages: records.map((each) => ({ topic, ...each })), acks: -1 });
}

function reading(groupId, options = {}) {
  return connected(Consumer, {
    groupId,
    deserializers: stringDeserializers,
    isolationLevel: FetchIsolationLevels.READ_COMMITTED,
    maxWaitTime: 100,
    ...options,
  });
}

function stream(consumer, topic, ledger, options) {
  return consumer.consume({ topics: [topic], mode: "committed", fallbackMode: "earliest", ...options }).then((made) => {
    made.on("error", (error) => ledger.errors.push(`consume: ${error.message}`));
    return made;
  });
}

// Reads a topic, committed records only, until the ledger says that all is read.
async function readAll(topic, ledger) {
  await using(reading(`${topic}-check`), async (consumer) => {
    const messages = await stream(consumer, topic, ledger, { autocommit: true });
    messages.on("data", (message) => ledger.read(message));
    await until(ledger, "all is read", () => ledger.isRead);
  });
}

async function produce() {
  const topic = `${prefix}-produce`;
  const ledger = new Ledger();
  await using(connected(Admin), (client) => create(client, topic));
  await using(producing(), (producer) => ledger.write(topic, sender(producer, topic)));
  await readAll(topic, ledger);
  ledger.judge({ exactly: true });
  return `${ledger.writtenTotal} records, idempotent`;
}

async function join(groupId, topic, ledger) {
  const consumer = reading(groupId);
  const messages = await stream(consumer, topic, ledger, { autocommit: false });
  const member = { read: 0 };
  member.owned = () => (consumer.assignments ?? []).flatMap((each) => each.partitions).length;
  const working = (async () => {
    for await (const message of messages) {
      ledger.read(message);
      member.read += 1;
      await message.commit();
    }
  })().catch((error) => ledger.errors.push(`read or commit: ${error.message}`));
  member.leave = async () => {
    await messages.close();
    await working;
    await consumer.close(true);
  };
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
      await until(ledger, "both share the partitions", () => first.owned() === half && second.owned() === half);
      await written;
    } finally {
      await second.leave();
    }
    await until(ledger, "the member that is left has all partitions", () => first.owned() === PARTITIONS);
    await until(ledger, "all is read", () => ledger.isRead);
  } finally {
    await first.leave();
  }
}

// A new member reads what is written from now on, and nothing of what was committed.
async function resume(groupId, topic, ledger, producer) {
  const { again } = ledger;
  await sender(producer, topic)(Array.from({ length: HALF }, () => ledger.next()));
  const third = await join(groupId, topic, ledger);
  try {
    await until(ledger, "what was written last is read", () => ledger.isRead);
  } finally {
    await third.leave();
  }
  if (ledger.again > again) {
    throw new Error(`${ledger.again - again} records were read again though they were committed`);
  }
}

async function group() {
  const topic = `${prefix}-group`;
  const groupId = `${prefix}-readers`;
  const ledger = new Ledger();
  return using(connected(Admin), async (client) => {
    await create(client, topic);
    await using(producing(), async (producer) => {
      await share(groupId, topic, ledger, producer);
      await resume(groupId, topic, ledger, producer);
    });
    if (!(await client.listGroups()).has(groupId)) {
      throw new Error(`${groupId} is not listed`);
    }
    const { state } = (await client.describeGroups({ groups: [groupId] })).get(groupId);
    if (state !== "EMPTY") {
      throw new Error(`${groupId} is ${state}, not EMPTY`);
    }
    await client.deleteGroups({ groups: [groupId] });
    ledger.judge({ exactly: false });
    return `${ledger.writtenTotal} records, ${ledger.again} of them twice`;
  });
}

// What a stream has now, BATCH records at most.
function batchOf(messages) {
  const batch = [];
  let message = messages.read();
  while (message !== null) {
    batch.push(message);
    message = batch.length < BATCH ? messages.read() : null;
  }
  return batch;
}

// Copies source to sink, offsets and records in one transaction.
async function transform(ledger, isWritten) {
  const producer = producing({ transactionalId: `${prefix}-transform` });
  const consumer = reading(`${prefix}-transformers`);
  const counts = { committed: 0, copied: 0 };
  const copy = async (batch) => {
    const transaction = await producer.beginTransaction();
    const messages = batch.map(({ key, value }) => ({ topic: `${prefix}-sink`, key, value }));
    await transaction.send({ messages, acks: -1 });
    await transaction.addConsumer(consumer);
    const lasts = new Map(batch.map((each) => [each.partition, each]));
    for (const last of lasts.values()) {
      await transaction.addOffset(last);
    }
    await transaction.commit();
    counts.committed += 1;
    counts.copied += batch.length;
  };
  let isDone = false;
  isWritten.then(() => {
    isDone = true;
  });
  await using(producer, () =>
    using(consumer, async () => {
      const messages = await stream(consumer, `${prefix}-source`, ledger, { autocommit: false });
      // Without a listener a stream fetches nothing.
      messages.on("readable", () => {});
      await until(ledger, "all is copied", async () => {
        const batch = batchOf(messages);
        if (batch.length > 0) {
          await copy(batch);
        }
        return isDone && counts.copied === ledger.writtenTotal;
      });
    }),
  );
  return counts.committed;
}

// None is aborted: of what a producer aborted, its consumer leaves out one transaction in each answer.
async function transactions() {
  const [source, sink] = [`${prefix}-source`, `${prefix}-sink`];
  const ledger = new Ledger();
  await using(connected(Admin), async (client) => {
    await create(client, source);
    await create(client, sink);
  });
  const of = { group: `${prefix}-transformers`, transactionalId: `${prefix}-transform` };
  const isWritten = using(producing(), (producer) => ledger.write(sink, sender(producer, source), of));
  const committed = await transform(ledger, isWritten);
  await readAll(sink, ledger);
  ledger.judge({ exactly: true });
  return `${ledger.writtenTotal} records, ${committed} transactions`;
}

async function main() {
  const items = { admin, produce, group, "transactions, none aborted": transactions };
  tell({ version });
  for (const item of names) {
    try {
      tell({ item, ok: true, told: await items[item]() });
    } catch (error) {
      tell({ item, ok: false, told: `${error.message} ${error.errors?.at(-1)?.message ?? ""}` });
    }
  }
  process.exit(0);
}

main();
