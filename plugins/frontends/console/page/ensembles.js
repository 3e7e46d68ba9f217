// The ensembles that are served: GET /v2/console/ensembles.
import {get, poll} from "./api.js";
import {element, name, number, table} from "./dom.js";

const EVERY_MS = 5000;

export function show(view, signal, status) {
  const list = element("div", {});
  view.append(element("h2", {}, "Ensembles"), list);
  let shown = "";
  poll(async () => {
    const found = await get("/v2/console/ensembles", signal);
    if (signal.aborted) return;
    const text = JSON.stringify(found.ensembles);
    if (text === shown) return;  // nobody's place in the table is lost
    shown = text;
    const rows = found.ensembles.map((one) => [
      element("a", {href: `#/ensemble/${encodeURIComponent(one.name)}/${encodeURIComponent(one.version)}`}, name(one.name)), one.version]);
    list.replaceChildren(rows.length === 0 ? element("p", {}, "No ensemble is loaded.") : table("Ensembles", ["Name", "Version"], rows),
      ...(found.matching > rows.length ? [element("p", {}, `${number(found.matching - rows.length)} more are not shown.`)] : []));
  }, EVERY_MS, signal, status);
}
