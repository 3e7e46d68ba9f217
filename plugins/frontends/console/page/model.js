// One version of a model: its metadata, configuration and statistics, each by the call of the V2 protocol.
import {get, mayAct, modelPath, poll} from "./api.js";
import {Chart, Points} from "./chart.js";
import {cards, element, name, number, table} from "./dom.js";
import {fill, history, perSecond} from "./history.js";
import {requestForm} from "./request_form.js";

const EVERY_MS = 2000;
const NS_PER_MS = 1e6;
const PHASES = {queue: "queue", compute_input: "input", compute_infer: "compute", compute_output: "output"};

/** Mean milliseconds that a request spent in each phase between two looks; null: none ended, or the counts began anew. */
function phasesBetween(now, then) {
  const means = Object.keys(PHASES).map((phase) => {
    const count = now[phase].count - then[phase].count;
    return count > 0 ? (now[phase].ns - then[phase].ns) / count / NS_PER_MS : null;
  });
  return means.every((mean) => mean === null || mean >= 0) ? means : means.map(() => null);
}

const shape = (dims) => `[${dims.join(", ")}]`;

function metadataSection(metadata) {
  const rows = [["input", metadata.inputs], ["output", metadata.outputs]].flatMap(([kind, tensors]) =>
    tensors.map((tensor) => [kind, name(tensor.name), tensor.datatype, shape(tensor.shape)]));
  return element("section", {}, element("h3", {}, "Inputs and outputs"),
    table("Inputs and outputs", ["Kind", "Name", "Type", "Shape"], rows));
}

function batchSection(stats) {
  const most = Math.max(1, ...stats.batch_stats.map((batch) => batch.compute_infer.count));
  const mean = (time) => (time.count === 0 ? "–" : number(time.ns / time.count / NS_PER_MS, 3));
  return [element("h3", {}, "Executed batches by size"),
    stats.batch_stats.length === 0 ? element("p", {}, "No batch was executed yet.")
      : table("Executed batches by size", ["Size", "Batches", "Share", "Compute, ms"], stats.batch_stats.map((batch) => [
        number(batch.batch_size), number(batch.compute_infer.count),
        element("meter", {max: most, value: batch.compute_infer.count, "aria-label": `${batch.compute_infer.count} batches`}),
        mean(batch.compute_infer)]))];
}

function figuresOf(stats) {
  const {success, fail} = stats.inference_stats;
  return cards([["Succeeded", number(success.count)], ["Failed", number(fail.count)], ["Inferences", number(stats.inference_count)],
    ["Executed batches", number(stats.execution_count)],
    ["Mean latency, ms", success.count === 0 ? "–" : number(success.ns / success.count / NS_PER_MS, 3)],
    ["Last inference", stats.last_inference ? new Date(stats.last_inference).toLocaleTimeString("en-GB") : "–"]]);
}

export async function show(view, signal, status, model, version) {
  const path = modelPath(model, version);
  view.append(element("h2", {}, "Model ", name(model), version ? `, version ${version}` : ""));
  const known = element("div", {});
  view.append(known);
  try {
    const [metadata, acts] = await Promise.all([get(path, signal), mayAct(signal)]);
    if (signal.aborted) return;
    known.append(metadataSection(metadata));
    const figures = element("div", {});
    const batches = element("section", {});
    const points = new Points(Object.values(PHASES));
    const rates = new Points(["requests", "errors"]);
    const requests = new Chart("Requests", "per second", rates, false, signal);
    const chart = new Chart("Phases of a request, one on top of the other", "mean ms", points, true, signal);
    known.append(figures, element("div", {className: "charts"}, requests.section, chart.section), batches, requestForm(metadata, path, acts, signal));
    const config = element("pre", {tabIndex: 0});
    known.append(element("section", {}, element("h3", {}, "Configuration, as completed by the server"), config));
    const steps = element("p", {hidden: true}, element("a", {href: `#/ensemble/${encodeURIComponent(model)}/${encodeURIComponent(version)}`}, "Its steps as a graph"));
    known.prepend(steps);
    get(`${path}/config`, signal).then((found) => {
      config.textContent = JSON.stringify(found, null, 2);
      steps.hidden = found.ensemble_scheduling === undefined;
    },
      (error) => { config.textContent = error.message; });
    if (version) {
      const found = await history(signal, `?model=${encodeURIComponent(model)}&version=${encodeURIComponent(version)}`);
      fill([[rates, (point) => [perSecond(point, point.success), perSecond(point, point.fail)]]], found);
    }
    let before = null;
    poll(async () => {
      const found = await get(`${path}/stats`, signal);
      if (signal.aborted) return;
      const now = found.model_stats[0];
      figures.replaceChildren(figuresOf(now));
      batches.replaceChildren(...batchSection(now));
      const at = Date.now() / 1000;
      if (before !== null) {
        points.add(at, phasesBetween(now.inference_stats, before.stats));
        const grown = (of) => Math.max(0, now.inference_stats[of].count - before.stats[of].count) / (at - before.at);
        rates.add(at, [grown("success"), grown("fail")]);
      }
      before = {at, stats: now.inference_stats};
      requests.draw();
      chart.draw();
    }, EVERY_MS, signal, status);
  } catch (error) {
    if (signal.aborted) return;
    if (error.status === 401) return status(error);
    known.append(element("p", {className: "error", role: "alert"}, error.message));
  }
}
