// What waits, and why: GET /v2/console/waiting, each 2 s.
import {get, poll} from "./api.js";
import {cards, element, modelLink, name, number, share, table} from "./dom.js";

const EVERY_MS = 2000;

const place = (one) => (one.device === "global" ? "of the whole server" : `of device ${one.device}`);

/** Why one resource holds a model up. */
function scarcity(one, needs) {
  const needed = needs.find((need) => need.name === one.name && need.global === (one.device === "global"));
  return element("span", {}, "It waits for the resource ", name(one.name),
    ` ${place(one)}: each execution needs ${number(needed.count)}, and ${number(one.in_use)} of ${number(one.copies)} are in use. `,
    needed.count > one.copies ? "There will never be enough: raise resources of admission/rate_limiter, or lower what the model's configuration asks for."
      : "It goes on when executions that hold some have ended.");
}

/** In words for somebody who has not made this server. */
function why(model) {
  if (model.waits_for === undefined) return "The version is being taken out of service.";
  const busy = model.instances === 1 ? "its only instance is busy" : `all of its ${number(model.instances)} instances are busy`;
  const parts = {
    resource: () => model.scarce.map((one) => scarcity(one, model.needs)),
    batch: () => [`A batch is being filled: it has ${number(model.pending)} of at most ${number(model.max_batch_size)} requests, and waits for more for up to ` +
      `${number(model.queue_delay_us / 1000, 3)} ms. If they wait for longer, ${busy}.`],
    instance: () => [`${busy[0].toUpperCase()}${busy.slice(1)}: the next one that is free takes these requests.`],
  }[model.waits_for]?.() ?? [model.waits_for];
  return element("span", {}, ...parts.flatMap((part) => [part, " "]),
    model.queue_size > 0 ? `The queue takes ${number(model.queue_size)} requests; further ones are refused.` : "");
}

const modelRow = (one) => [modelLink(one.name, one.version), one.version, number(one.pending), number(one.mean_queue_us / 1000, 2), why(one)];
const resourceRow = (one) => [name(one.name), one.device, share(one.in_use, one.copies, `${number(one.in_use)} of ${number(one.copies)}`), number(one.waiting_instances)];
const tenantRow = (one) => [name(one.name), number(one.waiting),
  one.quota.concurrency > 0 && one.running >= one.quota.concurrency ? `As many of its requests run as may at a time (${number(one.running)}).`
    : "Requests of others have all of the server's slots; its turn comes by its weight."];
const sequenceRow = (one) => [modelLink(one.model, one.version), one.version, number(one.backlog), number(one.oldest_seconds),
  `All ${number(one.slots_in_use)} slots have a sequence; one is free when a sequence ends.`];

const section = (title, heads, rows, none) => (rows.length === 0 && none === "" ? [] : [element("section", {}, element("h3", {}, title),
  rows.length === 0 ? element("p", {}, none) : table(title, heads, rows))]);

export function show(view, signal, status) {
  const list = element("div", {});
  view.append(element("h2", {}, "What waits, and why"), list);
  let shown = "";
  poll(async () => {
    const {time_ms: _, ...found} = await get("/v2/console/waiting", signal);
    const text = JSON.stringify(found);
    if (signal.aborted || text === shown) return;  // nobody's place in a table is lost
    shown = text;
    const more = found.matching - found.models.length;
    list.replaceChildren(
      ...(found.waiting === undefined ? [] : [cards([["Requests that wait", number(found.waiting)], ["Requests that run", number(found.running)]])]),
      ...section("Models", ["Name", "Version", "Waiting", "Mean wait of those served, ms", "Why"], found.models.map(modelRow), "No request waits for a model."),
      ...(more > 0 ? [element("p", {}, `${number(more)} more models have requests that wait; these have the most.`)] : []),
      ...section("Tenants whose requests wait for their turn", ["Tenant", "Waiting", "Why"], found.tenants.map(tenantRow), ""),
      ...section("Sequences that wait for a slot", ["Model", "Version", "Waiting", "Longest wait, s", "Why"], found.sequences.map(sequenceRow), ""),
      ...section("Resources", ["Name", "Device", "In use", "Instances that wait"], found.resources.map(resourceRow), ""));
  }, EVERY_MS, signal, status);
}
