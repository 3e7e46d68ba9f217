// What has happened: GET /v2/console/timeline, each 5 s, what came since the last look.
import {get, poll} from "./api.js";
import {element, name, number, table} from "./dom.js";

const EVERY_MS = 5000;
/** As many as the server keeps. */
const KEPT = 512;
const KINDS = {
  "server.active": "The server is up", "server.draining": "The server ends", "reload.applied": "The manifest was applied",
  "reload.refused": "The manifest was refused", "plugin.active": "A plugin serves", "plugin.failed": "A plugin failed",
  "plugin.stopped": "A plugin has ended", "model.ready": "Loaded", "model.replaced": "Loaded again",
  "model.unloaded": "Unloaded", "model.failed": "A load failed",
  "call.ended": "A call", "call.failed": "A call failed",
};
const CHOICES = {"": "everything", "failed": "failures", "model": "models", "plugin": "plugins", "server": "server and manifest", "call": "calls"};

const isFailure = (entry) => entry.kind.endsWith(".failed") || entry.kind.endsWith(".refused");
const group = (entry) => entry.kind.split(".")[0].replace("reload", "server");
const isChosen = (entry, choice) => choice === "" || (choice === "failed" ? isFailure(entry) : group(entry) === choice);
const at = (ms) => element("time", {dateTime: new Date(ms).toISOString()}, new Date(ms).toLocaleString("en-GB"));

function subject(entry) {
  if (entry.instance !== undefined) return name(`${entry.instance} (${entry.plugin})`);
  if (entry.model === undefined) return "–";
  if (entry.version === undefined) return name(entry.model);
  const place = `#/model/${encodeURIComponent(entry.model)}/${encodeURIComponent(entry.version)}`;
  return element("span", {}, element("a", {href: place}, name(entry.model)), entry.version ? `, version ${entry.version}` : "");
}

function detail(entry) {
  const parts = [];
  if (entry.generation !== undefined) parts.push(`generation ${number(entry.generation)}`);
  if (entry.call !== undefined) {
    parts.push(element("code", {}, name(entry.call)), entry.caller === "" ? " by nobody who is known" : " by ", name(entry.caller),
      ` from ${entry.peer}, status ${entry.status}`);
    return element("span", {}, ...parts);
  }
  if (entry.took_ms !== undefined) parts.push(`took ${number(entry.took_ms / 1000, 3)} s`);
  return element("span", {}, parts.join(", "), entry.reason === undefined ? "" : name(entry.reason));
}

const row = (entry) => [at(entry.time_ms),
  element("strong", {className: isFailure(entry) ? "state-FAILED" : ""}, KINDS[entry.kind] ?? entry.kind), subject(entry), detail(entry)];

export function show(view, signal, status) {
  const choice = element("select", {id: "kinds"}, ...Object.entries(CHOICES).map(([value, text]) => element("option", {value}, text)));
  const list = element("div", {});
  let run = "";
  let started = 0;
  let entries = [];
  const draw = () => {
    const rows = entries.filter((entry) => isChosen(entry, choice.value)).map(row);
    if (started > 0 && ["", "server"].includes(choice.value)) rows.push([at(started), element("strong", {}, "The process began"), "–", ""]);
    list.replaceChildren(rows.length === 0 ? element("p", {}, "Nothing of the kind has happened.")
      : table("What has happened, newest first", ["Time", "What", "Of what", "Detail"], rows));
  };
  choice.addEventListener("change", draw);
  view.append(element("h2", {}, "Timeline"),
    element("div", {className: "row"}, element("label", {}, "Show", choice)), list);
  poll(async () => {
    const ask = () => get(`/v2/console/timeline?since=${entries[0]?.number ?? 0}`, signal);
    let found = await ask();
    const isNew = found.run !== run;
    if (isNew && entries.length > 0) {
      // Another start of the server counts from 1 again.
      entries = [];
      found = await ask();
    }
    if (signal.aborted) return;
    if (!isNew && found.entries.length === 0) return;  // nobody's place in the table is lost
    ({run, started_ms: started} = found);
    entries = [...found.entries, ...entries].slice(0, KEPT);
    draw();
  }, EVERY_MS, signal, status);
}
