// Sequences by model: GET /v2/console/sequences, each 2 s.
import {get, poll} from "./api.js";
import {cards, element, modelLink, number, table} from "./dom.js";

const EVERY_MS = 2000;

const row = (one) => [modelLink(one.model, one.version), one.version, number(one.open), number(one.slots_in_use), number(one.backlog),
  one.backlog === 0 ? "–" : number(one.oldest_seconds), number(one.idle_ended), number(one.rescheduled)];

export function show(view, signal, status) {
  const list = element("div", {});
  view.append(element("h2", {}, "Sequences"), list);
  poll(async () => {
    const found = await get("/v2/console/sequences", signal);
    if (signal.aborted) return;
    const sum = (of) => number(found.models.reduce((all, one) => all + one[of], 0));
    list.replaceChildren(...(found.models.length === 0
      ? [element("p", {}, "No model has had a sequence. Models with sequence_batching in their configuration have some.")]
      : [cards([["Open", sum("open")], ["Slots in use", sum("slots_in_use")], ["Waiting for a slot", sum("backlog")]]),
         table("Sequences by model", ["Model", "Version", "Open", "Slots in use", "Waiting for a slot", "Longest wait, s", "Ended because nothing came", "Went on by themselves"],
           found.models.map(row)),
         ...(found.matching > found.models.length ? [element("p", {}, `${number(found.matching - found.models.length)} more are not shown.`)] : [])]));
  }, EVERY_MS, signal, status);
}
