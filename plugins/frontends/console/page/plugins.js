// The instances of plugins, each with a link to its options: GET /v2/console/plugins, each 5 s.
import {get, poll} from "./api.js";
import {cards, element, name, number, state, table} from "./dom.js";

const EVERY_MS = 5000;

const row = (one) => [element("a", {href: `#/options/${encodeURIComponent(one.name)}`}, name(one.name)), name(one.plugin), state(one.state), number(one.generation), one.services.join(", ") || "–", name(one.reason)];

export function show(view, signal, status) {
  const list = element("div", {});
  view.append(element("h2", {}, "Plugins"), list);
  let shown = "";
  poll(async () => {
    const found = await get("/v2/console/plugins", signal);
    const text = JSON.stringify(found);
    if (signal.aborted || text === shown) return;  // nobody's place in the table is lost
    shown = text;
    list.replaceChildren(
      cards([["Generation of the manifest", number(found.generation)], ["Instances", number(found.instances.length)],
             ["Server", found.draining ? "is ending" : "serves"]]),
      table("Instances", ["Instance", "Plugin", "State", "Since generation", "Services", "Reason"], found.instances.map(row)));
  }, EVERY_MS, signal, status);
}
