// The whole server: GET /v2/console/overview, each 2 s.
import {get, poll} from "./api.js";
import {Chart, Points} from "./chart.js";
import {bytes, cards, element, number, state, table} from "./dom.js";
import {difference, quantile} from "./histogram.js";

const EVERY_MS = 2000;
const NS_PER_MS = 1e6;

const rates = new Points(["requests", "errors"]);
const latencies = new Points(["p50", "p99"]);
const usage = new Points(["processors"]);
const memory = new Points(["resident"]);
let before = null;

/** What came between two looks; null: they are of two runs of the server, or of the same look. */
function between(now, then) {
  if (then === null || then.run !== now.run || now.time_ms <= then.time_ms) return null;
  const seconds = (now.time_ms - then.time_ms) / 1000;
  // A version that was unloaded takes its counts with it.
  const grown = (of) => Math.max(0, of(now) - of(then)) / seconds;
  const came = difference(now.latency_buckets, then.latency_buckets);
  const ms = (q) => (came.length === 0 ? null : quantile(came, q) / NS_PER_MS);
  return {success: grown((look) => look.requests.success.count), fail: grown((look) => look.requests.fail.count),
          p50: ms(0.5), p99: ms(0.99), cpu: grown((look) => look.cpu_seconds)};
}

function add(now) {
  const at = now.time_ms / 1000;
  if (before !== null && before.run !== now.run) {
    // A restart is a gap.
    for (const points of [rates, latencies, usage, memory]) points.add(at - 0.001, points.labels.map(() => null));
  }
  const came = between(now, before);
  if (before === null || before.run !== now.run || now.time_ms > before.time_ms) before = now;
  if (came === null) return null;
  rates.add(at, [came.success, came.fail]);
  latencies.add(at, [came.p50, came.p99]);
  usage.add(at, [came.cpu]);
  memory.add(at, [now.resident_bytes / (1 << 20)]);
  return came;
}

export function show(view, signal, status) {
  const figures = element("div", {});
  const models = element("section", {});
  const failures = element("section", {});
  const charts = [new Chart("Requests", "per second", rates, false, signal), new Chart("Latency", "ms", latencies, false, signal),
                  new Chart("CPU", "processors busy", usage, false, signal), new Chart("Memory", "MiB", memory, false, signal)];
  view.append(element("h2", {}, "Overview"), figures, models,
    element("div", {className: "charts"}, ...charts.map((chart) => chart.section)), failures);
  let last = null;
  poll(async () => {
    const now = await get("/v2/console/overview", signal);
    if (signal.aborted) return;
    last = add(now) || last;
    const count = now.requests;
    figures.replaceChildren(cards([
      ["Server", now.version], ["Requests per second", number(last?.success)], ["Errors per second", number(last?.fail)],
      ["p50, ms", number(last?.p50, 2)], ["p99, ms", number(last?.p99, 2)], ["Waiting", number(count.pending)],
      ["Processors busy", number(last?.cpu, 2)], ["Memory", bytes(now.resident_bytes)]]));
    models.replaceChildren(element("h3", {}, "Models by state"), table("Models by state", ["State", "Versions"],
      Object.entries(now.models).map(([word, versions]) =>
        [element("a", {href: `#/models?state=${encodeURIComponent(word)}`}, state(word)), number(versions)])));
    failures.replaceChildren(element("h3", {}, "Since the versions were loaded"), table("Counts", ["What", "Count"], [
      ["Requests that succeeded", number(count.success.count)], ["Requests that failed", number(count.fail.count)],
      ...Object.entries(count.failures).map(([reason, failed]) => [`… ${reason}`, number(failed)]),
      ["Inferences", number(count.inferences)], ["Executed batches", number(count.executions)]]));
    charts.forEach((chart) => chart.draw());
  }, EVERY_MS, signal, status);
}
