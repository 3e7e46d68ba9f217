// All models: GET /v2/console/models, a hundred at a time.
import {actButtons} from "./acts.js";
import {get, poll} from "./api.js";
import {element, keepFocus, name, number, state, table} from "./dom.js";

const EVERY_MS = 5000;
const PAGE = 100;
const STATES = ["READY", "LOADING", "UNLOADING", "UNAVAILABLE", "NOT LOADED"];

/** \param query  URLSearchParams with search, state and offset */
export function show(view, signal, status, query) {
  let offset = Number(query.get("offset")) || 0;
  const search = element("input", {type: "search", id: "search", value: query.get("search") || "", maxLength: 255});
  const states = element("select", {id: "states"}, element("option", {value: ""}, "all"),
    ...STATES.map((word) => element("option", {value: word}, word)));
  states.value = query.get("state") || "";
  const before = element("button", {type: "button"}, "Previous");
  const after = element("button", {type: "button"}, "Next");
  const place = element("span", {role: "status", id: "place"});
  const said = element("p", {role: "status", id: "said"});
  const list = element("div", {});
  let shown = "";
  view.append(element("h2", {}, "Models"),
    element("form", {className: "row", role: "search", onsubmit: (event) => event.preventDefault()},
      element("label", {}, "Part of the name", search), element("label", {}, "State", states)),
    element("div", {className: "row"}, before, place, after), said, list);

  const ask = async () => {
    const parts = {search: search.value, state: states.value, offset, limit: PAGE};
    const asked = Object.entries(parts).map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
    const found = await get(`/v2/console/models?${asked}`, signal);
    if (signal.aborted || found.offset !== offset) return;
    const last = offset + found.models.length;
    place.textContent = found.models.length === 0 ? `none of ${number(found.matching)}`
      : `${number(offset + 1)} to ${number(last)} of ${number(found.matching)}`;
    before.disabled = offset === 0;
    after.disabled = last >= found.matching;
    const text = JSON.stringify(found.models);
    if (text === shown) return;  // nobody's place in the table is lost
    shown = text;
    const acts = found.models.some((model) => model.may_control);
    keepFocus(list, () => list.replaceChildren(table("Models", ["Name", "Version", "State", "Reason", ...(acts ? ["Acts"] : [])],
      found.models.map((model) => [
        element("a", {href: `#/model/${encodeURIComponent(model.name)}/${encodeURIComponent(model.version)}`}, name(model.name)),
        model.version || "–", state(model.state), name(model.reason),
        ...(acts ? [model.may_control ? actButtons(model, said, signal, () => again()) : "–"] : [])]))));
  };
  const again = poll(ask, EVERY_MS, signal, status);
  const turn = (to) => {
    offset = Math.max(0, to);
    again();
  };
  search.addEventListener("input", () => turn(0));
  states.addEventListener("change", () => turn(0));
  before.addEventListener("click", () => turn(offset - PAGE));
  after.addEventListener("click", () => turn(offset + PAGE));
}
