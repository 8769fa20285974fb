// What a click on a disk or a replica opens; the choice becomes a request.
import { at, make } from "./elements.js";
import { toldOf } from "./disks.js";

// Returns [method, path, body] of what was chosen; null when it was closed.
export async function askAboutDisk(broker, disk) {
  at("disk-title").textContent = `${disk.path} of broker ${broker.id}`;
  at("disk-state").textContent = toldOf({ ...disk, signs: [] });
  const faults = disk.faults.map((each) => `fault ${each.mode}, ${each.hits} hits`);
  const signs = [...new Set([...disk.signs, ...faults])];
  at("disk-signs").replaceChildren(...signs.map((sign) => make("li", "", sign)));
  at("force").checked = at("loss").checked = false;
  const chosen = await choice(at("disk-dialog"));
  if (!chosen) return null;
  const path = `brokers/${broker.id}/log-dirs/${disk.number}`;
  if (chosen === "heal" || chosen === "restart") return ["POST", `${path}/${chosen}`, {}];
  if (chosen === "replace") {
    const body = { force: at("force").checked, accept_loss: at("loss").checked };
    return ["POST", `${path}/replace`, body];
  }
  const delay = chosen === "slow" ? { delay_ms: at("delay").valueAsNumber } : {};
  return ["POST", `${path}/fail`, { mode: chosen, ...delay }];
}

// Returns the number of the log dir to move to; null when it was closed.
export async function askAboutReplica(broker, disk, replica, words) {
  at("replica-title").textContent = `${replica.topic}-${replica.partition} of broker ${broker.id}`;
  at("replica-state").textContent = words;
  const others = broker.log_dirs.filter((each) => each.number !== disk.number && each.is_online);
  at("target").replaceChildren(
    ...others.map((each) => {
      const option = make("option", "", each.path);
      option.value = each.number;
      return option;
    }),
  );
  at("move").disabled = replica.is_future || !others.length;
  const chosen = await choice(at("replica-dialog"));
  return chosen === "move" ? Number(at("target").value) : null;
}

function choice(dialog) {
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
  });
}
