// Memory by owner: GET /v2/console/memory, each 5 s.
import {get, poll} from "./api.js";
import {bytes, cards, element, keepFocus, modelLink, name, number, share, table} from "./dom.js";

const EVERY_MS = 5000;
/** What each part is, for somebody who has not made this server. */
const OWNERS = {
  models: ["Models", "What the backends count for their models on the CPU. Some count nothing; those models are in the rest."],
  cache: ["Response cache", "Answers that are kept to be given again."],
  requests: ["Requests", "What the requests that wait or run have reserved: their inputs and answers."],
  rest: ["The rest", "What nobody counts: the server itself, libraries' heaps, threads' stacks, and memory that was given back and is kept for the next request."],
  files: ["Code and mapped files", "Pages of the program, of libraries, and of files that models are read from in place. The system takes them back when it needs memory."],
  shared: ["Shared memory", "Regions that clients or workers map, too."],
};

function row(part, all) {
  const [title, meaning] = OWNERS[part.owner] ?? [part.owner, ""];
  const counted = part.counted_bytes > part.bytes ? ` Its owner counts ${bytes(part.counted_bytes)}: the difference was never written to, or is in mapped files.` : "";
  return [title, bytes(part.bytes), share(part.bytes, all, `${number(100 * part.bytes / Math.max(all, 1))} %`), meaning + counted];
}

export function show(view, signal, status) {
  const list = element("div", {});
  view.append(element("h2", {}, "Memory"), list);
  poll(async () => {
    const found = await get("/v2/console/memory", signal);
    if (signal.aborted) return;
    const children = found.processes.reduce((sum, one) => sum + one.resident_bytes, 0);
    const more = found.matching - found.models.length;
    keepFocus(list, () => list.replaceChildren(
      cards([["Server's process", bytes(found.resident_bytes)], ["Other processes of the server", bytes(children)], ["GPUs, by models", bytes(found.device_bytes)]]),
      element("section", {}, element("h3", {}, "The server's process, by owner"),
        table("Owners", ["Owner", "Memory", "Share", "What it is"], [...found.parts.map((part) => row(part, found.resident_bytes)),
          [element("strong", {}, "Together"), bytes(found.parts.reduce((sum, part) => sum + part.bytes, 0)), "", "What the system counts as resident."]])),
      element("section", {}, element("h3", {}, "Models with most"),
        found.models.length === 0 ? element("p", {}, "No backend counts memory for a model.")
          : table("Models", ["Name", "Version", "Memory", "On GPUs"], found.models.map((one) => [modelLink(one.name, one.version), one.version, bytes(one.bytes), bytes(one.device_bytes)])),
        ...(more > 0 ? [element("p", {}, `${number(more)} more models have memory; these have the most.`)] : [])),
      element("section", {}, element("h3", {}, "Other processes, with what they share"),
        found.processes.length === 0 ? element("p", {}, "The server has started none. Python models and pools have processes of their own.")
          : table("Processes", ["Process", "Name", "Memory"], found.processes.map((one) => [String(one.pid), name(one.name), bytes(one.resident_bytes)])))));
  }, EVERY_MS, signal, status);
}
