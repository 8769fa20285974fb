// Draws brokers, their disks and the replicas in them, to one scale. Gives no order itself.
import { at, bytes, make, say, show } from "./elements.js";

const ORDERS = {
  running: ["pause", "restart", "stop", "kill"],
  paused: ["resume", "kill"],
  silent: ["pause", "kill"],
  down: ["start"],
};
const nameOf = (replica) => `${replica.topic}-${replica.partition}`;
const used = (disk) => disk.replicas.reduce((sum, each) => sum + each.size_bytes, 0);

// on: { order(broker, verb), disk(broker, disk), replica(broker, disk, replica), move(...) }
export function drawBrokers(snapshot, rates, on) {
  const fullest = Math.max(1, ...snapshot.brokers.flatMap((each) => each.log_dirs.map(used)));
  say(at("scale"), bytes(fullest));
  show(
    at("all-brokers"),
    snapshot.brokers,
    (broker) => broker.id,
    makeBroker,
    (article, broker) => updateBroker(article, broker, { fullest, rate: rates.get(broker.id), on }),
  );
}

function makeBroker(broker) {
  const article = make("article", "broker");
  const heading = make("h3", "", `broker ${broker.id}`);
  heading.id = `broker-${broker.id}`;
  article.setAttribute("aria-labelledby", heading.id);
  const orders = make("div", "orders");
  orders.setAttribute("role", "group");
  orders.setAttribute("aria-label", `orders to broker ${broker.id}`);
  const header = make("header");
  header.append(heading, make("span", "state"), make("span", "rate"), orders);
  article.append(header, make("ul", "disks"));
  return article;
}

function updateBroker(article, broker, { fullest, rate, on }) {
  article.dataset.state = broker.state;
  const troubles = broker.troubles.length ? `, ${broker.troubles.join("; ")}` : "";
  say(article.querySelector(".state"), `${broker.state}${troubles}`);
  say(article.querySelector(".rate"), rate ? `+${bytes(rate)}/s` : "");
  show(
    article.querySelector(".orders"),
    ORDERS[broker.state],
    (verb) => verb,
    (verb) => {
      const button = make("button", "", verb);
      button.setAttribute("aria-label", `${verb} broker ${broker.id}`);
      button.onclick = () => on.order(broker, verb);
      return button;
    },
    () => {},
  );
  show(
    article.querySelector(".disks"),
    broker.log_dirs,
    (disk) => disk.path,
    makeDisk,
    (item, disk) => updateDisk(item, broker, disk, { fullest, on }),
  );
}

function makeDisk() {
  const item = make("li", "disk");
  const button = make("button", "disk-name");
  button.setAttribute("aria-haspopup", "dialog");
  button.append(make("strong"), make("span", "told"));
  item.append(button, make("ul", "bar"));
  return item;
}

export function toldOf(disk) {
  const state = disk.is_online ? "online" : "offline";
  const words = [state, disk.is_cordoned && "cordoned", bytes(used(disk))];
  if (disk.is_online && disk.last_hop_ms) words.push(`last took ${disk.last_hop_ms} ms`);
  if (disk.is_online && disk.queue_depth) words.push(`${disk.queue_depth} wait`);
  if (!["", "done"].includes(disk.return_state)) words.push(`comes back: ${disk.return_state}`);
  return [...words.filter(Boolean), ...disk.signs].join(" · ");
}

function updateDisk(item, broker, disk, { fullest, on }) {
  item.dataset.state = disk.is_online ? (disk.signs.length ? "sick" : "online") : "offline";
  item.dataset.cordoned = disk.is_cordoned;
  item.dataset.path = disk.path;
  say(item.querySelector("strong"), disk.path);
  say(item.querySelector(".told"), toldOf(disk));
  item.querySelector(".disk-name").onclick = () => on.disk(broker, disk);
  item.ondragover = (event) => {
    if (event.dataTransfer.types.includes(typeOf(broker))) event.preventDefault();
  };
  item.ondrop = (event) => {
    const text = event.dataTransfer.getData(typeOf(broker));
    if (!text) return;
    event.preventDefault();
    on.move(broker, JSON.parse(text), disk.number);
  };
  show(
    item.querySelector(".bar"),
    disk.replicas,
    (replica) => `${nameOf(replica)} ${replica.is_future}`,
    makeReplica,
    (child, replica) => updateReplica(child, broker, disk, replica, { fullest, on }),
  );
}

// The kind of what is dragged names the broker: a drop elsewhere is not even offered.
const typeOf = (broker) => `application/x-jbodlab-replica-${broker.id}`;

function makeReplica(replica) {
  const item = make("li");
  const button = make("button", "replica", nameOf(replica));
  button.draggable = !replica.is_future;
  button.style.setProperty("--hue", hueOf(replica.topic));
  item.append(button);
  return item;
}

function updateReplica(item, broker, disk, replica, { fullest, on }) {
  const button = item.firstElementChild;
  const role = replica.is_future ? "moving here" : replica.is_leader ? "leader" : "follower";
  const behind = !replica.is_future && !replica.is_in_sync;
  button.className = `replica ${replica.is_leader ? "leader" : ""}`;
  button.classList.toggle("future", replica.is_future);
  button.classList.toggle("behind", behind);
  item.style.flexBasis = `${(100 * replica.size_bytes) / fullest}%`;
  const words = `${role}${behind ? ", not in the Isr" : ""}, ${bytes(replica.size_bytes)}`;
  button.title = `${nameOf(replica)}: ${words}`;
  button.setAttribute("aria-label", button.title);
  button.onclick = () => on.replica(broker, disk, replica);
  button.ondragstart = (event) => {
    const { topic, partition } = replica;
    event.dataTransfer.setData(typeOf(broker), JSON.stringify({ topic, partition }));
    event.dataTransfer.effectAllowed = "move";
  };
}

function hueOf(topic) {
  let sum = 0;
  for (const character of topic) sum = (sum * 31 + character.codePointAt(0)) % 360;
  return sum;
}
