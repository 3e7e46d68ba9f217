// The last lines of the log: GET /v2/console/log, each 2 s.
import {get, poll} from "./api.js";
import {element, name, number, state, table} from "./dom.js";

const EVERY_MS = 2000;
const LEVELS = {"": "all", debug: "debug and above", info: "info and above", warning: "warnings and errors", error: "errors"};
const LIMITS = ["100", "200", "1000"];

const row = (line) => [line.time === "" ? "–" : element("time", {dateTime: line.time}, line.time),
  line.level === "" ? "–" : state(line.level.toUpperCase()), name(line.instance || "–"), name(line.text)];

export function show(view, signal, status) {
  const search = element("input", {type: "search", id: "search", maxLength: 255});
  const level = element("select", {id: "level"}, ...Object.entries(LEVELS).map(([value, text]) => element("option", {value}, text)));
  const limit = element("select", {id: "limit"}, ...LIMITS.map((value) => element("option", {value}, value)));
  const told = element("p", {role: "status", id: "told"});
  const list = element("div", {});
  let shown = "";
  view.append(element("h2", {}, "Log"), element("form", {className: "row", role: "search", onsubmit: (event) => event.preventDefault()},
    element("label", {}, "Part of the line", search), element("label", {}, "Level", level), element("label", {}, "Most lines", limit)), told, list);
  const again = poll(async () => {
    const asked = `search=${encodeURIComponent(search.value)}&level=${level.value}&limit=${limit.value}`;
    const found = await get(`/v2/console/log?${asked}`, signal);
    const text = JSON.stringify(found);
    if (signal.aborted || text === shown) return;  // nobody's place in the table is lost
    shown = text;
    told.textContent = found.why || `Lines: ${number(found.lines.length)}, newest first`;
    list.replaceChildren(...(found.lines.length === 0 ? [] : [table("Lines of the log", ["Time", "Level", "Instance", "Text"], found.lines.map(row))]));
  }, EVERY_MS, signal, status);
  for (const one of [search, level, limit]) one.addEventListener("input", () => again());
}
