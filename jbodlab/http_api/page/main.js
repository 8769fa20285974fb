// Looks at the cluster once a second and on every event, shows it, and sends what is ordered.
import { ask, events } from "./client.js";
import { askAboutDisk, askAboutReplica } from "./dialogs.js";
import { drawBrokers } from "./disks.js";
import { at, bytes, make, say, show } from "./elements.js";
import { isPlaying, play, playFile, runAsked } from "./play.js";

const LOOK_EVERY_MS = 1000;
const EVENTS_SHOWN = 200;
const APIS_SHOWN = 8;
const BAD = ["log_dir_failed", "fault_added", "order_failed", "move_ended"];
let before = null;
let isLooking = false;

async function order(method, path, body) {
  try {
    const answer = await ask(method, path, body);
    say(at("said"), answer.done ?? answer.begun ?? "done");
  } catch (error) {
    say(at("said"), error.message);
  }
  await look();
}

const on = {
  order: (broker, verb) => order("POST", `brokers/${broker.id}/${verb}`, {}),
  move: (broker, { topic, partition }, number) =>
    order("POST", "moves", { topic, partition, broker: broker.id, log_dir: number }),
  async disk(broker, disk) {
    const chosen = await askAboutDisk(broker, disk);
    if (chosen) await order(...chosen);
  },
  async replica(broker, disk, replica) {
    const words = `in ${disk.path}, ${bytes(replica.size_bytes)}`;
    const number = await askAboutReplica(broker, disk, replica, words);
    if (number !== null) await on.move(broker, replica, number);
  },
};

// Bytes per second by which the replicas of each broker grew since the last look.
function ratesOf(snapshot, now) {
  const sizes = new Map(
    snapshot.brokers.map((broker) => [
      broker.id,
      broker.log_dirs
        .flatMap((disk) => disk.replicas)
        .filter((each) => !each.is_future)
        .reduce((sum, each) => sum + each.size_bytes, 0),
    ]),
  );
  const rates = new Map();
  for (const [id, size] of sizes) {
    const grown = size - (before?.sizes.get(id) ?? size);
    rates.set(id, grown > 0 ? (1000 * grown) / (now - before.now) : 0);
  }
  before = { sizes, now };
  return rates;
}

async function look() {
  if (isLooking || isPlaying()) return;
  isLooking = true;
  try {
    const snapshot = await ask("GET", "snapshot");
    if (isPlaying()) return;
    document.body.dataset.stale = false;
    say(at("cluster"), snapshot.cluster_id);
    say(at("controller"), snapshot.controller);
    say(at("servers"), snapshot.bootstrap_servers.join(","));
    drawBrokers(snapshot, ratesOf(snapshot, performance.now()), on);
    showFaults(snapshot);
    showMoves(await ask("GET", "moves"));
    showRequests(await ask("GET", "requests"));
    if (at("said").textContent === "looking at the cluster") say(at("said"), "");
  } catch (error) {
    document.body.dataset.stale = true;
    say(at("said"), `the lab does not answer: ${error.message}`);
  } finally {
    isLooking = false;
  }
}

function showMoves(moves) {
  show(
    at("moves"),
    moves,
    (move) => `${move.broker} ${move.topic} ${move.partition} ${move.target}`,
    () => {
      const item = make("li");
      item.append(make("span"), make("progress"));
      return item;
    },
    (item, move) => {
      const [words, bar] = item.children;
      const done = `${bytes(move.copied_bytes)} of ${bytes(move.total_bytes)}`;
      const name = `${move.topic}-${move.partition} of broker ${move.broker}`;
      say(words, `${name}: log dir ${move.source ?? "?"} → ${move.target}, ${done}`);
      bar.max = Math.max(1, move.total_bytes);
      bar.value = move.copied_bytes;
      bar.setAttribute("aria-label", words.textContent);
    },
  );
}

// A row per API: what all brokers answered together, and the slowest of them.
function showRequests(rows) {
  const apis = new Map();
  for (const { api, per_second, p50_us, p99_us } of rows) {
    const sum = apis.get(api) ?? { api, per_second: 0, p50_us: 0, p99_us: 0 };
    sum.per_second += per_second;
    sum.p50_us = Math.max(sum.p50_us, p50_us);
    sum.p99_us = Math.max(sum.p99_us, p99_us);
    apis.set(api, sum);
  }
  const most = [...apis.values()].sort((one, other) => other.per_second - one.per_second);
  const ms = (us) => `${(us / 1000).toFixed(us < 10_000 ? 1 : 0)} ms`;
  show(
    at("apis"),
    most.slice(0, APIS_SHOWN),
    (row) => row.api,
    (row) => {
      const line = make("tr");
      const name = make("th", "", row.api);
      name.scope = "row";
      line.append(name, make("td"), make("td"), make("td"));
      return line;
    },
    (line, row) => {
      const [, rate, p50, p99] = line.children;
      say(rate, row.per_second.toFixed(row.per_second < 10 ? 1 : 0));
      say(p50, ms(row.p50_us));
      say(p99, ms(row.p99_us));
    },
  );
}

function showFaults(snapshot) {
  show(
    at("faults"),
    snapshot.faults.filter((each) => each.is_in_force),
    (fault) => `${fault.broker} ${fault.id}`,
    (fault) => {
      const item = make("li");
      const clear = make("button", "", "clear");
      clear.setAttribute("aria-label", `clear ${fault.id} of broker ${fault.broker}`);
      const path = `faults/${fault.broker}/${encodeURIComponent(fault.id)}`;
      clear.onclick = () => order("DELETE", path);
      item.append(make("span"), clear);
      return item;
    },
    (item, fault) => {
      const { mode, ...rule } = fault.fault;
      const keys = Object.entries(rule).map(([key, value]) => `${key}=${value}`);
      const counts = isPlaying() ? [] : [`hit ${fault.hits} of ${fault.matches}`];
      say(item.firstElementChild, [mode, ...counts, keys.join(" ")].join(" · "));
    },
  );
}

function addEvent({ id, at_ms, change }) {
  const item = make("li", BAD.includes(change.kind) ? "bad" : "");
  // Steps of a failover are told later than they happened.
  const shown_ms = change.happened_at_ms ?? at_ms;
  const time = make("time", "", timeOf(shown_ms));
  time.dateTime = new Date(shown_ms).toISOString();
  item.dataset.kind = change.kind;
  item.dataset.at = shown_ms;
  item.dataset.id = id;
  item.append(time, make("span", "", change.text));
  const list = at("events");
  // A move tells of its bytes again and again: one line for all of it.
  const last = list.firstElementChild;
  const isSameMove = change.kind === "move_progress" && last?.dataset.kind === "move_progress";
  if (isSameMove) last.replaceWith(item);
  else {
    const earlier = [...list.children].find((each) => Number(each.dataset.at) <= shown_ms);
    list.insertBefore(item, earlier ?? null);
  }
  while (list.children.length > EVENTS_SHOWN) list.lastElementChild.remove();
}

async function listen() {
  let lastId = 0;
  for (;;) {
    try {
      for await (const event of events(lastId)) {
        if (isPlaying()) return;
        lastId = event.id;
        addEvent(event);
        look();
      }
      // Another server counts anew.
      lastId = 0;
      at("events").replaceChildren();
    } catch {
      // look() tells that nobody answers.
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

// What nobody can order in a run that is over only shows what it is.
const nothing = { order() {}, move() {}, disk() {}, replica() {} };

function draw(snapshot) {
  say(at("cluster"), snapshot.cluster_id);
  say(at("controller"), snapshot.controller);
  drawBrokers(snapshot, new Map(), nothing);
  showFaults(snapshot);
}

at("file").onchange = () => {
  playFile(at("file").files[0], draw).catch((error) => say(at("said"), error.message));
};
if (runAsked) {
  play(draw).catch((error) => say(at("said"), error.message));
} else {
  look();
  listen();
  setInterval(() => document.hidden || look(), LOOK_EVERY_MS);
}
// Another run, or another moment of it: the address is changed by a link or by hand.
addEventListener("hashchange", () => location.reload());

// Of the day, to the millisecond, as the logs of the nodes have it: steps of a failover are close.
function timeOf(at_ms) {
  const two = "2-digit";
  const shape = { hour: two, minute: two, second: two, fractionalSecondDigits: 3, hourCycle: "h23" };
  return new Date(at_ms).toLocaleTimeString("en-GB", shape);
}
