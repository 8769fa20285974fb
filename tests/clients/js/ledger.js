"use strict";

// Numbered records per key, and what was read held against what was written; the same rules as in
// ../go/ledger.

const readline = require("node:readline");

const KEYS = 12;
const HALF = 600;
const PACE_MS = 1;
const DEADLINE_MS = 120_000;

const answers = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function tell(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

class Ledger {
  constructor() {
    this.written = new Array(KEYS).fill(0);
    this.seen = new Array(KEYS).fill(0);
    this.again = 0;
    this.errors = [];
  }

  next() {
    const key = this.writtenTotal % KEYS;
    this.written[key] += 1;
    return { key: String(key), value: String(this.written[key] - 1) };
  }

  read(message) {
    const key = Number(message.key);
    const number = Number(message.value);
    if (!(key in this.seen) || Number.isNaN(number)) {
      this.errors.push(`read ${message.key}=${message.value}, which nobody wrote`);
    } else if (number < this.seen[key]) {
      this.again += 1;
    } else if (number > this.seen[key]) {
      this.errors.push(`key ${key}: ${number} came before ${this.seen[key]}`);
    } else {
      this.seen[key] += 1;
    }
  }

  get writtenTotal() {
    return this.written.reduce((sum, count) => sum + count, 0);
  }

  get isRead() {
    return this.written.every((count, key) => count === this.seen[key]);
  }

  // What is not read yet, by key: for who asks why not.
  get unread() {
    const keys = this.written.map((count, key) => [key, this.seen[key], count]);
    return keys.filter(([, seen, count]) => seen < count).map(([key, ...of]) => `${key}: ${of.join(" of ")}`);
  }

  judge({ exactly }) {
    if (this.errors.length > 0) {
      throw new Error(`${this.errors.length} errors, the first: ${this.errors[0]}`);
    }
    if (!this.isRead) {
      throw new Error("records are lost");
    }
    if (exactly && this.again > 0) {
      throw new Error(`${this.again} records are there twice`);
    }
  }

  // Sends until HALF records after a disk was dealt with, HALF before it, read by a group meanwhile
  // or copied by a transactional id:
  // one record at a time, because a kafkajs that sends again lets later sends pass, and leaves out
  // what went to a broker that has answered for another partition of the same send.
  async write(topic, send, { group = "", transactionalId = "" } = {}) {
    const one = async () => {
      await send([this.next()]).catch((error) => this.errors.push(`produce: ${error.message}`));
      await pause(PACE_MS);
    };
    for (let count = 0; count < HALF; count += 1) {
      await one();
    }
    tell({ halfway: topic, group, transactional_id: transactionalId });
    let isDone = false;
    const answered = answers.next().then(() => {
      isDone = true;
    });
    while (!isDone) {
      await one();
    }
    await answered;
    for (let count = 0; count < HALF; count += 1) {
      await one();
    }
  }
}

// Waits for a condition; an error that the application got meanwhile ends the waiting.
async function until(ledger, what, condition) {
  const end = Date.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (ledger.errors.length > 0) {
      ledger.judge({ exactly: false });
    }
    if (Date.now() > end) {
      const unread = ledger.unread.join(", ") || "none";
      throw new Error(`not so after ${DEADLINE_MS / 1000} s: ${what}; unread keys: ${unread}`);
    }
    await pause(20);
  }
}

module.exports = { HALF, Ledger, tell, until };
