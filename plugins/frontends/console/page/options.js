// The options of an instance, with the values that it has: GET /v2/console/options, each 5 s.
import {get, poll} from "./api.js";
import {element, name, table} from "./dom.js";

const EVERY_MS = 5000;

/** A value of an option. Of a secret it is said whether there is one. */
export const valueText = (text, isSecret, isDefault) => isSecret ? element("em", {}, isDefault ? "secret, not set" : "secret, set")
  : text === "" ? "–" : element("code", {}, name(text));

const row = (option) => [element("code", {}, option.key), valueText(option.value, option.secret, option.is_default),
  option.is_default ? "default" : element("strong", {}, "set"), option.secret ? "–" : valueText(option.default, false, false), option.type, option.help];

/** \param instance  its name in the manifest */
export function show(view, signal, status, instance) {
  const list = element("div", {});
  view.append(element("h2", {}, "Options of ", name(instance)), element("p", {}, element("a", {href: "#/plugins"}, "All plugins")), list);
  let shown = "";
  poll(async () => {
    const found = (await get("/v2/console/options", signal)).instances.find((one) => one.name === instance);
    const text = JSON.stringify(found ?? null);
    if (signal.aborted || text === shown) return;  // nobody's place in the table is lost
    shown = text;
    if (found === undefined) return list.replaceChildren(element("p", {}, "The manifest that is applied has no such instance."));
    list.replaceChildren(element("p", {}, "Plugin: ", name(found.plugin)), found.options.length === 0 ? element("p", {}, "It has no options.")
      : table(`Options of ${instance}`, ["Option", "Value", "From", "Default", "Type", "Meaning"], found.options.map(row)));
  }, EVERY_MS, signal, status);
}
