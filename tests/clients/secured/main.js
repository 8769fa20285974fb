// Writes a record by what the client file says that is the argument.
const { Kafka } = require("kafkajs");

async function main() {
  const producer = new Kafka({ ...require(process.argv[2]), logLevel: 1 }).producer();
  await producer.connect();
  const [sent] = await producer.send({ topic: "orders", messages: [{ value: "hello" }] });
  await producer.disconnect();
  console.log(`${sent.topicName}-${sent.partition}`);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
