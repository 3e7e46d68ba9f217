// The settings of the log: GET and POST /v2/logging.
import {get, mayAct, poll, post} from "./api.js";
import {element, readsOnly} from "./dom.js";

const FORMATS = ["default", "ISO8601"];
const EVERY_MS = 10000;

/** A field for the setting; null: it is shown only. */
function fieldOf(key, value) {
  if (typeof value === "boolean") return element("input", {type: "checkbox", id: key, checked: value});
  if (typeof value === "number") return element("input", {type: "number", id: key, min: 0, value: String(value)});
  if (key !== "log_format") return null;
  const made = element("select", {id: key}, ...FORMATS.map((word) => element("option", {value: word}, word)));
  made.value = value;
  return made;
}

const valueOf = (field) => (field.type === "checkbox" ? field.checked : field.type === "number" ? Number(field.value) : field.value);

export async function show(view, signal, status) {
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
  let fields = {};
  let known = {};
  const isChanged = () => Object.entries(fields).some(([key, field]) => valueOf(field) !== known[key]);
  const showSettings = (settings) => {
    // What somebody is about to change stays.
    if (isChanged()) return;
    if (JSON.stringify(settings) === JSON.stringify(known)) return;
    known = settings;
    fields = {};
    list.replaceChildren(...Object.entries(settings).map(([key, value]) => {
      const field = acts ? fieldOf(key, value) : null;
      if (field !== null) fields[key] = field;
      return element("label", {}, key, field ?? element("output", {}, String(value) || "–"));
    }));
  };
  const form = element("form", {}, list, ...(acts ? [apply] : [readsOnly()]), said);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const changes = Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, valueOf(field)])
      .filter(([key, value]) => value !== known[key]));
    try {
      const settings = await post("/v2/logging", changes, signal);
      fields = {};
      showSettings(settings);
      said.className = "";
      said.textContent = "applied";
    } catch (error) {
      if (signal.aborted) return;
      said.className = "error";
      said.textContent = error.message;
    }
  });
  view.append(element("h2", {}, "Log settings"), form);
  poll(async () => {
    const settings = await get("/v2/logging", signal);
    if (!signal.aborted) showSettings(settings);
  }, EVERY_MS, signal, status);
}
