// What waits, and why: GET /v2/console/waiting, each 2 s; POST /v2/console/waiting/cancel and /drain.
import {actButton} from "./acts.js";
import {get, mayAct, poll, post} from "./api.js";
import {bytes, cards, element, keepFocus, modelLink, name, number, readsOnly, share, table} from "./dom.js";

const EVERY_MS = 2000;

const place = (one) => (one.device === "global" ? "of the whole server" : `of device ${one.device}`);

const seconds = (ms) => `${number(ms / 1000, ms < 10000 ? 1 : 0)} s`;

/** Why one resource holds a model up. */
function scarcity(one) {
  return element("span", {}, "It waits for the resource ", name(one.name),
    ` ${place(one)}: each execution needs ${number(one.needed)}, and ${number(one.in_use)} of ${number(one.copies)} are in use. `,
    one.kept > 0 ? `${number(one.kept)} are kept for another model that has waited for longer. ` : "",
    one.needed > one.copies ? "There will never be enough: raise resources of admission/rate_limiter, or lower what the model's configuration asks for."
      : "It goes on when executions that hold some have ended.");
}

/** The resources that are missing, as admission says or, where it does not, as the counts say. */
function shortages(model) {
  const said = (model.shortages || []).filter((one) => one.name !== "");
  return said.length > 0 ? said : model.scarce.map((one) => ({...one, kept: 0,
    needed: model.needs.find((need) => need.name === one.name && need.global === (one.device === "global")).count}));
}

function batch(model, busy) {
  const forming = model.queue?.batch;
  if (forming === undefined) {
    return `A batch is being filled: it has ${number(model.pending)} of at most ${number(model.max_batch_size)} requests, and waits for more for up to ` +
      `${number(model.queue_delay_us / 1000, 3)} ms. If they wait for longer, ${busy}.`;
  }
  if (forming.size_max === 0) return "An instance is free, and waits for more requests, to execute them together.";
  return `An instance is free, and a batch is being filled for it: ${number(forming.size)} of at most ${number(forming.size_max)} have come. It goes when it is full` +
    (forming.goes_in_ms === undefined ? "." : `, or in ${number(forming.goes_in_ms)} ms.`);
}

/** In words for somebody who has not made this server. */
function why(model) {
  if (model.waits_for === undefined) return "The version is being taken out of service.";
  const busy = model.instances === 1 ? "its only instance is busy" : `all of its ${number(model.instances)} instances are busy`;
  const parts = {
    nothing: () => [],
    resource: () => shortages(model).map(scarcity),
    turn: () => ["An instance is free, but other models execute first: of those that share its device or its resources, those before it in their order of turns."],
    batch: () => [batch(model, busy)],
    room: () => ["Its instances are still answering requests that they took earlier, and take no more until some of those have ended."],
    slot: () => ["All slots for sequences have one: a slot is free when a sequence ends, or when nothing has come for it for too long."],
    instance: () => [`${busy[0].toUpperCase()}${busy.slice(1)}: the next one that is free takes these requests.`],
  }[model.waits_for]?.() ?? [model.waits_for];
  return element("span", {}, ...(model.queue?.draining ? [element("strong", {}, "Drained: "), "it serves what waits and refuses new requests, until Resume is pressed. "] : []),
    ...parts.flatMap((part) => [part, " "]), model.queue_size > 0 ? `The queue takes ${number(model.queue_size)} requests; further ones are refused.` : "");
}

/** How many wait, for how long and how large they are. */
function queued(model) {
  const queue = model.queue;
  if (queue === undefined || queue.requests === 0) return ["–", "–", "–"];
  const all = queue.input_bytes_of === 0 ? 0 : queue.input_bytes / queue.input_bytes_of * queue.requests;
  const levels = queue.levels.filter((one) => one.priority > 0)
    .map((one) => `priority ${number(one.priority)}: ${number(one.requests)}, for ${seconds(one.oldest_ms)}`);
  const rest = queue.requests - queue.levels.reduce((sum, one) => sum + one.requests, 0);
  return [seconds(queue.oldest_ms), `${queue.input_bytes_of < queue.requests ? "about " : ""}${bytes(all)}`,
    [...levels, ...(rest > 0 ? [`others: ${number(rest)}`] : [])].join("; ") || "–"];
}

const modelRow = (one) => [modelLink(one.name, one.version), one.version, number(one.pending), ...queued(one), number(one.mean_queue_us / 1000, 2), why(one)];
const MODEL_HEADS = ["Name", "Version", "Waiting", "Oldest", "Inputs", "By priority", "Mean wait of those served, ms", "Why"];

/** What may be done about a queue. */
function acts(model, said, signal, done) {
  const of = `model=${encodeURIComponent(model.name)}&version=${encodeURIComponent(model.version)}`;
  const button = (text, call, question, key = text) => actButton({text, of: model.name, key: `${key} ${model.name} ${model.version}`, said, signal, done,
    question: [question, name(model.name), "?"], ask: () => post(`/v2/console/waiting/${call}`, {}, signal)});
  const levels = model.queue.levels.filter((one) => one.priority > 0);
  return element("span", {className: "acts"},
    ...(model.queue.requests > 0 ? [button("Cancel all", `cancel?${of}`, "Answer with an error all requests that wait for the model ")] : []),
    ...(levels.length > 1 ? levels.map(({priority}) => button(`Cancel priority ${priority}`, `cancel?${of}&priority=${priority}`,
      `Answer with an error all requests of priority ${priority} that wait for the model `)) : []),
    model.queue.draining ? button("Resume", `drain?${of}&on=false`, "Take new requests again for the model ")
      : button("Drain", `drain?${of}&on=true`, "Serve what waits, and refuse new requests until Resume is pressed, of the model "));
}
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
  const said = element("p", {id: "said", role: "status"});
  const note = element("div", {});
  view.append(element("h2", {}, "What waits, and why"), note, said, list);
  let shown = "";
  mayAct(signal).then((may) => note.replaceChildren(...(may ? [] : [readsOnly()])), () => {});
  const again = () => {
    shown = "";
    next();
  };
  const next = poll(async () => {
    const {time_ms: _, ...found} = await get("/v2/console/waiting", signal);
    const text = JSON.stringify(found);
    if (signal.aborted || text === shown) return;  // nobody's place in a table is lost
    shown = text;
    const more = found.matching - found.models.filter((one) => one.pending > 0).length;
    const mayDo = found.models.some((one) => one.may_act);
    const row = (one) => [...modelRow(one), ...(mayDo ? [one.may_act ? acts(one, said, signal, again) : ""] : [])];
    keepFocus(list, () => list.replaceChildren(
      ...(found.waiting === undefined ? [] : [cards([["Requests that wait", number(found.waiting)], ["Requests that run", number(found.running)]])]),
      ...section("Models", [...MODEL_HEADS, ...(mayDo ? ["Acts"] : [])], found.models.map(row), "No request waits for a model."),
      ...(more > 0 ? [element("p", {}, `${number(more)} more models have requests that wait; these have the most.`)] : []),
      ...section("Tenants whose requests wait for their turn", ["Tenant", "Waiting", "Why"], found.tenants.map(tenantRow), ""),
      ...section("Sequences that wait for a slot", ["Model", "Version", "Waiting", "Longest wait, s", "Why"], found.sequences.map(sequenceRow), ""),
      ...section("Resources", ["Name", "Device", "In use", "Instances that wait"], found.resources.map(resourceRow), "")));
  }, EVERY_MS, signal, status);
}
