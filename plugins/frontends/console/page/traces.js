// The slowest traces, and one of them as a waterfall: GET /v2/console/traces.
import {get, poll} from "./api.js";
import {cards, element, keepFocus, modelLink, name, number, table} from "./dom.js";

const EVERY_MS = 5000;
const ms = (ns) => number(ns / 1e6, 3);
const at = (time) => element("time", {dateTime: new Date(time).toISOString()}, `${new Date(time).toLocaleTimeString("en-GB")}.${String(time % 1000).padStart(3, "0")}`);

function link(one) {
  const made = element("a", {href: `#/traces/${one.id}`}, at(one.begin_ms));
  made.dataset.key = one.id;
  return made;
}

const row = (one) => [link(one), modelLink(one.model, one.version), one.version, name(one.request_id || "–"), ms(one.duration_ns), number(one.span_count)];

export function show(view, signal, status, id) {
  if (id !== "") return showOne(view, signal, status, id);
  const models = element("select", {id: "models"}, element("option", {value: ""}, "all"));
  const list = element("div", {});
  const known = new Set();
  let shown = "";
  view.append(element("h2", {}, "Traces"), element("p", {}, "The slowest requests that were traced and ended in the last 15 minutes; a time leads to what each was spent on."),
    element("div", {className: "row"}, element("label", {}, "Model", models)), list);
  const again = poll(async () => {
    const chosen = models.value;
    const {time_ms: _, ...found} = await get(`/v2/console/traces?model=${encodeURIComponent(chosen)}`, signal);
    const text = chosen + JSON.stringify(found);
    if (signal.aborted || chosen !== models.value || text === shown) return;  // nobody's place in the table is lost
    shown = text;
    for (const {model} of found.traces) {
      if (!known.has(model)) models.append(element("option", {value: model}, model));
      known.add(model);
    }
    keepFocus(list, () => list.replaceChildren(found.traces.length === 0 ? element("p", {}, found.why)
      : table("Traces, the slowest first", ["Begin", "Model", "Version", "Request id", "Duration, ms", "Spans"], found.traces.map(row))));
  }, EVERY_MS, signal, status);
  models.addEventListener("change", () => again());
}

/** Each span with how deep it lies; a parent stands before what it has. */
function withDepths(spans) {
  const made = [];
  for (const span of spans) made.push({...span, depth: span.parent === undefined ? 0 : made[span.parent].depth + 1});
  return made;
}

const title = (span) => (span.model === undefined ? [name(span.name)] : [name(span.name), " ", name(span.model)]);

/** A row for each span, its bar where its time lies. */
function waterfall(spans, whole) {
  const share = (ns) => `${(100 * ns) / Math.max(1, whole)}%`;
  return element("div", {className: "scroll", tabIndex: 0, role: "region", "aria-label": "Waterfall; the figures are in the table below"},
    element("ol", {className: "fall"}, ...spans.map((span) => {
      const bar = element("span", {className: `time-${span.name.split(/\W/)[0]}`});
      bar.style.left = share(span.begin_ns);
      bar.style.width = share(span.end_ns - span.begin_ns);
      const what = element("span", {className: "what"}, ...title(span));
      what.style.paddingInlineStart = `${Math.min(span.depth, 12)}rem`;
      return element("li", {}, what, element("span", {className: "track", "aria-hidden": "true"}, bar), `${ms(span.end_ns - span.begin_ns)} ms`);
    })));
}

function showOne(view, signal, status, id) {
  let shown = false;
  view.append(element("h2", {}, `Trace ${id}`), element("p", {}, element("a", {href: "#/traces"}, "All traces")));
  poll(async () => {
    if (shown) return;  // it does not change any more
    const one = await get(`/v2/console/traces?id=${encodeURIComponent(id)}`, signal);
    if (signal.aborted) return;
    shown = true;
    const spans = withDepths(one.spans);
    view.append(cards([["Model", modelLink(one.model, one.version)], ["Duration, ms", ms(one.duration_ns)], ["Begin", at(one.begin_ms)],
      ["Request id", name(one.request_id || "–")], ["Exported as", one.trace_id]]),
    ...(one.left_out > 0 ? [element("p", {className: "note"}, `${number(one.left_out)} requests and moments are left out: the trace is too large to be kept whole.`)] : []),
    element("section", {}, element("h3", {}, "Waterfall"), waterfall(spans, one.duration_ns)),
    element("section", {}, element("h3", {}, "Spans"), table("Spans", ["Span", "Part of", "Begin, ms", "End, ms", "Duration, ms"], spans.map((span) =>
      [element("span", {}, ...title(span)), span.parent === undefined ? "–" : element("span", {}, ...title(spans[span.parent])), ms(span.begin_ns), ms(span.end_ns), ms(span.end_ns - span.begin_ns)]))));
  }, EVERY_MS, signal, status);
}
