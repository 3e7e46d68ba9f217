// Settings of the log and of traces: GET and POST /v2/logging and /v2/trace/setting.
import {get, mayAct, poll, post} from "./api.js";
import {element, readsOnly} from "./dom.js";

const EVERY_MS = 10000;

const choice = (id, words, value) => {
  const made = element("select", {id}, ...words.map((word) => element("option", {value: word}, word)));
  made.value = value;
  return made;
};
const count = (id, value, min) => element("input", {type: "number", id, min, value: String(value)});

/** A way to change a setting: its element, and how its value is read. null: the setting is shown only. */
function logField(key, value) {
  if (typeof value === "boolean") {
    const made = element("input", {type: "checkbox", id: key, checked: value});
    return {made, read: () => made.checked};
  }
  if (typeof value === "number") {
    const made = count(key, value, 0);
    return {made, read: () => Number(made.value)};
  }
  if (key !== "log_format") return null;
  const made = choice(key, ["default", "ISO8601"], value);
  return {made, read: () => made.value};
}

function traceField(key, value) {
  if (key === "trace_level") {
    const made = choice(key, ["OFF", "TIMESTAMPS", "TENSORS", "TIMESTAMPS,TENSORS"], [...value].sort().reverse().join(","));
    return {made, read: () => made.value.split(",")};
  }
  if (!["trace_rate", "trace_count", "log_frequency"].includes(key)) return null;
  const made = count(key, value, key === "trace_count" ? -1 : 0);
  return {made, read: () => made.value};
}

async function show(view, signal, status, {title, path, fieldOf}) {
  let acts = false;
  try {
    acts = await mayAct(signal);
  } catch (error) {
    if (!signal.aborted) status(error);
    return;
  }
  if (signal.aborted) return;
  const list = element("div", {className: "settings"});
  const said = element("p", {role: "status", id: "said"});
  const apply = element("button", {type: "submit", id: "apply"}, "Apply");
  let fields = new Map();
  let known = {};
  // What the server has is compared with what the field read when it was made: a list may be in another order.
  const changes = () => [...fields].filter(([, field]) => String(field.read()) !== field.before).map(([key, field]) => [key, field.read()]);
  const showSettings = (settings) => {
    // What somebody is about to change stays.
    if (changes().length > 0 || JSON.stringify(settings) === JSON.stringify(known)) return;
    known = settings;
    fields = new Map();
    list.replaceChildren(...Object.entries(settings).map(([key, value]) => {
      const field = acts ? fieldOf(key, value) : null;
      if (field !== null) fields.set(key, {...field, before: String(field.read())});
      return element("label", {}, key, field?.made ?? element("output", {}, String(value) || "–"));
    }));
  };
  const form = element("form", {}, list, ...(acts ? [apply] : [readsOnly()]), said);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const settings = await post(path, Object.fromEntries(changes()), signal);
      fields = new Map();
      known = {};
      showSettings(settings);
      said.className = "";
      said.textContent = "applied";
    } catch (error) {
      if (signal.aborted) return;
      said.className = "error";
      said.textContent = error.message;
    }
  });
  view.append(element("h2", {}, title), form);
  poll(async () => {
    const settings = await get(path, signal);
    if (!signal.aborted) showSettings(settings);
  }, EVERY_MS, signal, status);
}

export const showLog = (view, signal, status) => show(view, signal, status, {title: "Log settings", path: "/v2/logging", fieldOf: logField});
export const showTrace = (view, signal, status) =>
  show(view, signal, status, {title: "Trace settings", path: "/v2/trace/setting", fieldOf: traceField});
