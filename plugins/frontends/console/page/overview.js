// The whole server: GET /v2/console/overview, each 2 s, after what the history has.
import {get, poll} from "./api.js";
import {Chart, Points} from "./chart.js";
import {bytes, cards, element, name, number, state, table} from "./dom.js";
import {difference, quantile} from "./histogram.js";
import {fill, history, ms, perSecond} from "./history.js";

const EVERY_MS = 2000;
const NS_PER_MS = 1e6;

const rates = new Points(["requests", "errors"]);
const latencies = new Points(["p50", "p99"]);
const usage = new Points(["processors"]);
const memory = new Points(["resident"]);
const MIB = 1 << 20;
const ALL = [rates, latencies, usage, memory];
const BUSIEST = 10;
const BUSIEST_EVERY_MS = 15000;
/** After so long without a look, such as on another page, the history knows more. */
const FORGOTTEN_MS = 10000;
let before = null;

/** What came between two looks; null: they are of two runs of the server, or of the same look. */
function between(now, then) {
  if (then === null || then.run !== now.run || now.time_ms <= then.time_ms) return null;
  const seconds = (now.time_ms - then.time_ms) / 1000;
  // A version that was unloaded takes its counts with it.
  const grown = (of) => Math.max(0, of(now) - of(then)) / seconds;
  const came = difference(now.latency_buckets, then.latency_buckets);
  const latency = (q) => (came.length === 0 ? null : quantile(came, q) / NS_PER_MS);
  return {success: grown((look) => look.requests.success.count), fail: grown((look) => look.requests.fail.count),
          p50: latency(0.5), p99: latency(0.99), cpu: grown((look) => look.cpu_seconds)};
}

function add(now) {
  const at = now.time_ms / 1000;
  if (before !== null && before.run !== now.run) {
    // A restart is a gap.
    for (const points of ALL) points.gap(at - 0.001);
  }
  const came = between(now, before);
  if (before === null || before.run !== now.run || now.time_ms > before.time_ms) before = now;
  if (came === null) return null;
  rates.add(at, [came.success, came.fail]);
  latencies.add(at, [came.p50, came.p99]);
  usage.add(at, [came.cpu]);
  memory.add(at, [now.resident_bytes / MIB]);
  return came;
}

function fillFrom(found) {
  fill([[rates, (point) => [perSecond(point, point.success), perSecond(point, point.fail)]],
        [latencies, (point) => [ms(point.p50_ns), ms(point.p99_ns)]],
        [usage, (point) => [point.processors]], [memory, (point) => [point.resident_bytes / MIB]]], found);
}

/** \param found  the history; null: unknown */
function busiestSection(found) {
  if (found === null) return [];
  const rows = found.busiest.slice(0, BUSIEST).map((one) => [
    element("a", {href: `#/model/${encodeURIComponent(one.name)}/${encodeURIComponent(one.version)}`}, name(one.name)),
    one.version, number(one.success), number(one.fail), one.success === 0 ? "–" : number(one.mean_us / 1000, 2)]);
  return [element("h3", {}, "Busiest models of the last 15 minutes"),
    rows.length === 0 ? element("p", {}, "None had a request.")
      : table("Busiest models", ["Name", "Version", "Succeeded", "Failed", "Mean latency, ms"], rows)];
}

export function show(view, signal, status) {
  const figures = element("div", {});
  const models = element("section", {});
  const failures = element("section", {});
  const busiest = element("section", {});
  const charts = [new Chart("Requests", "per second", rates, false, signal), new Chart("Latency", "ms", latencies, false, signal),
                  new Chart("CPU", "processors busy", usage, false, signal), new Chart("Memory", "MiB", memory, false, signal)];
  view.append(element("h2", {}, "Overview"), figures, models,
    element("div", {className: "charts"}, ...charts.map((chart) => chart.section)), busiest, failures);
  let last = null;
  let isFilled = false;
  poll(async () => busiest.replaceChildren(...busiestSection(await history(signal))), BUSIEST_EVERY_MS, signal, (error) => error !== null && status(error));
  poll(async () => {
    const now = await get("/v2/console/overview", signal);
    if (signal.aborted) return;
    if (!isFilled || now.time_ms - (before?.time_ms ?? 0) > FORGOTTEN_MS) {
      const found = await history(signal);
      // What another run has left is behind it.
      if (found !== null && (before === null || before.run === found.run)) fillFrom(found);
      isFilled = true;
    }
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
    for (const chart of charts) {
      chart.mark(now.started_ms / 1000);
      chart.draw();
    }
  }, EVERY_MS, signal, status);
}
