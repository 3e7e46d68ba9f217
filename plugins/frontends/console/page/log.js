// The settings of the log: GET /v2/logging.
import {get, poll} from "./api.js";
import {element, table} from "./dom.js";

export function show(view, signal, status) {
  const list = element("div", {});
  view.append(element("h2", {}, "Log settings"), list);
  poll(async () => {
    const settings = await get("/v2/logging", signal);
    if (signal.aborted) return;
    list.replaceChildren(table("Log settings", ["Setting", "Value"],
      Object.entries(settings).map(([key, value]) => [key, String(value) || "–"])));
  }, 10000, signal, status);
}
