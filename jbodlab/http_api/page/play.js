// Plays a simulated run: its frames are snapshots of virtual time. Which run, and where in it, is
// behind the # of the address: run=NAME/SEED&at=MILLISECONDS, so that the address can be shared.
import { ask } from "./client.js";
import { at, make, say } from "./elements.js";

const STEP_MS = 40;
const asked = new URLSearchParams(location.hash.slice(1));
export const runAsked = asked.get("run");

// Ends what plays: another run may be chosen meanwhile.
let stop = () => {};

export const isPlaying = () => "playing" in document.body.dataset;

// draw(snapshot) shows one frame.
export async function play(draw) {
  document.body.dataset.playing = "run";
  say(at("said"), "the run is being simulated");
  show(await ask("GET", `runs/${runAsked}`), draw);
}

// Plays what `jbodlab simulate --record FILE` wrote.
export async function playFile(file, draw) {
  const run = readRun(await file.text());
  if (!run?.frames?.length || !run.story) throw new Error(`${file.name} is no recorded run`);
  document.body.dataset.playing = "file";
  at("events").replaceChildren();
  show(run, draw);
}

function readRun(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function show(run, draw) {
  stop();
  // The address names a run that is simulated again, never a file.
  const hasAddress = document.body.dataset.playing === "run";
  say(at("said"), "");
  at("share").hidden = !hasAddress;
  const last = run.frames[run.frames.length - 1].at_ms;
  const slider = at("time");
  let timer = null;
  slider.min = Math.floor(run.frames[0].at_ms);
  slider.max = Math.ceil(last);
  say(at("outcome"), run.is_ok ? "as it must be" : "the checkers found something");
  at("outcome").classList.toggle("bad", !run.is_ok);
  say(at("run-name"), `${run.name}, seed ${run.seed}`);
  say(at("replay"), run.replay);
  at("player").hidden = false;
  const lines = run.story.map((line) => addLine(line, () => go(line.at_ms)));

  function go(now) {
    slider.value = now;
    let frame = run.frames[0];
    for (const each of run.frames) if (each.at_ms <= now) frame = each;
    draw(frame.snapshot);
    const words = `${(now / 1000).toFixed(3)} s`;
    say(at("now"), words);
    slider.setAttribute("aria-valuetext", words);
    let told = null;
    for (const [index, line] of run.story.entries()) {
      const isPast = line.at_ms <= now;
      lines[index].classList.toggle("to-come", !isPast);
      if (isPast) told = lines[index];
    }
    for (const line of lines) line.toggleAttribute("aria-current", line === told);
    told?.scrollIntoView({ block: "nearest" });
    if (!hasAddress) return;
    asked.set("at", Math.round(now));
    history.replaceState(null, "", `#${asked}`.replaceAll("%2F", "/"));
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    say(at("play"), "Play");
  }
  stop = pause;

  at("play").onclick = () => {
    if (timer) return pause();
    if (Number(slider.value) >= last) go(Number(slider.min));
    say(at("play"), "Pause");
    timer = setInterval(() => {
      const next = Number(slider.value) + STEP_MS * Number(at("speed").value);
      go(Math.min(next, last));
      if (next >= last) pause();
    }, STEP_MS);
  };
  slider.oninput = () => {
    pause();
    go(Number(slider.value));
  };
  at("share").onclick = async () => {
    await navigator.clipboard.writeText(location.href);
    say(at("said"), "the address of this moment is in the clipboard");
  };
  go(Math.min(Number((hasAddress && asked.get("at")) || 0), last));
}

function addLine(line, choose) {
  const item = make("li");
  const button = make("button", "line");
  button.append(make("time", "", `${(line.at_ms / 1000).toFixed(3)} s`), make("span", "", line.text));
  button.onclick = choose;
  item.append(button);
  at("events").append(item);
  return item;
}
