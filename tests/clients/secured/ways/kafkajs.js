// Writes a record by the protocol and mechanism of the JSON file that is the argument.
const { readFileSync } = require("fs");
const { Kafka } = require("kafkajs");

function settings(asked) {
  const found = { brokers: [asked.servers], logLevel: 1 };
  if (asked.protocol.endsWith("SSL")) {
    found.ssl = { ca: [readFileSync(asked.ca, "utf-8")] };
    if (asked.certificate) {
      found.ssl.cert = readFileSync(asked.certificate, "utf-8");
      found.ssl.key = readFileSync(asked.key, "utf-8");
    }
  }
  if (asked.mechanism) {
    const login = { username: asked.user, password: asked.password };
    const byToken = { oauthBearerProvider: async () => ({ value: asked.token }) };
    const own = asked.mechanism === "OAUTHBEARER" ? byToken : login;
    found.sasl = { mechanism: asked.mechanism.toLowerCase(), ...own };
  }
  return found;
}

async function main() {
  const producer = new Kafka(settings(JSON.parse(readFileSync(process.argv[2], "utf-8")))).producer();
  await producer.connect();
  const [sent] = await producer.send({ topic: "orders", messages: [{ value: "hello" }] });
  await producer.disconnect();
  console.log(`${sent.topicName}-${sent.partition}`);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
