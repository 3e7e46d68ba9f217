// The steps of an ensemble: its configuration, and what its members do, from GET /v2/console/history.
import {get, modelPath, poll} from "./api.js";
import {element, keepFocus, name, number, table} from "./dom.js";
import {graph} from "./graph.js";
import {history} from "./history.js";

const EVERY_MS = 5000;
const REQUEST = 0;

/** Which node makes which tensor, and which takes it. Node 0 is the request, the last one the response. */
export function edgesOf(config) {
  const steps = config.ensemble_scheduling.step;
  const makers = new Map(config.input.map((tensor) => [tensor.name, REQUEST]));
  steps.forEach((step, i) => Object.values(step.output_map).forEach((tensor) => makers.set(tensor, i + 1)));
  const takers = [...steps.map((step) => Object.values(step.input_map)), config.output.map((tensor) => tensor.name)];
  const edges = new Map();
  takers.forEach((tensors, i) => tensors.forEach((tensor) => {
    const from = makers.get(tensor);
    if (from === undefined) return;
    const edge = edges.get(`${from} ${i + 1}`) ?? {from, to: i + 1, tensors: []};
    if (!edge.tensors.includes(tensor)) edge.tensors.push(tensor);
    edges.set(`${from} ${i + 1}`, edge);
  }));
  return [...edges.values()];
}

/** What a model did of late; null: nobody knows. \param version  -1 stands for all versions */
function figuresOf(found, model, version) {
  if (found === null || found.recent_ms === 0) return null;
  const rows = found.busiest.filter((one) => one.name === model && (Number(version) < 0 || one.version === String(version)));
  const sum = (of) => rows.reduce((all, row) => all + of(row), 0);
  const success = sum((row) => row.success);
  return {rate: sum((row) => row.recent_success) * 1000 / found.recent_ms, errors: sum((row) => row.recent_fail) * 1000 / found.recent_ms,
          mean: success === 0 ? null : sum((row) => row.success * row.mean_us) / success / 1000};
}

const rateText = (figures) => (figures === null ? "" : `${number(figures.rate)} per second`);

function node(step, figures) {
  const isLatest = Number(step.model_version) < 0;
  const texts = [rateText(figures), figures === null || figures.mean === null ? "" : `${number(figures.mean, 2)} ms${figures.errors > 0 ? `, ${number(figures.errors)} errors per second` : ""}`];
  return {title: step.model_name, figures: texts, key: `${step.model_name} ${step.model_version}`,
          href: `#/model/${encodeURIComponent(step.model_name)}/${isLatest ? "" : encodeURIComponent(step.model_version)}`};
}

/** "tensor of the member ← tensor of the ensemble", one below the other. */
const mapping = (map, sign) => element("span", {}, ...Object.entries(map).flatMap(([inner, outer], i) =>
  [...(i === 0 ? [] : [element("br")]), name(inner), ` ${sign} `, name(outer)]));

function stepTable(steps, figures) {
  return table("Steps", ["Step", "Model", "Version", "Takes", "Gives", "Requests per second", "Errors per second", "Mean, ms"],
    steps.map((step, i) => [String(i + 1), element("a", {href: node(step, null).href}, name(step.model_name)),
      Number(step.model_version) < 0 ? "latest" : String(step.model_version), mapping(step.input_map, "←"), mapping(step.output_map, "→"),
      number(figures[i]?.rate), number(figures[i]?.errors), number(figures[i]?.mean, 2)]));
}

export async function show(view, signal, status, model, version) {
  view.append(element("h2", {}, "Ensemble ", name(model), version ? `, version ${version}` : ""));
  const drawing = element("div", {className: "scroll", tabIndex: 0, role: "region", "aria-label": "Graph of the steps"});
  const list = element("section", {});
  try {
    const config = await get(`${modelPath(model, version)}/config`, signal);
    if (signal.aborted) return;
    if (config.ensemble_scheduling === undefined) throw new Error("This model is no ensemble.");
    const steps = config.ensemble_scheduling.step;
    const edges = edgesOf(config);
    view.append(element("p", {}, element("a", {href: `#/model/${encodeURIComponent(model)}/${encodeURIComponent(version)}`}, "Its page as a model"),
      ". Rates are means of the last 10 seconds, of all callers of a model; means are those of 15 minutes."), drawing, list);
    poll(async () => {
      const found = await history(signal);
      if (signal.aborted) return;
      const own = figuresOf(found, model, version || -1);
      const figures = steps.map((step) => figuresOf(found, step.model_name, step.model_version));
      const nodes = [{title: "Request", figures: [rateText(own)]}, ...steps.map((step, i) => node(step, figures[i])), {title: "Response", figures: [rateText(own)]}];
      const drawn = edges.map(({from, to, tensors}) =>
        ({from, to, labels: [tensors.join(", "), rateText(to <= steps.length ? figures[to - 1] : own)]}));
      keepFocus(view, () => {
        drawing.replaceChildren(graph(`Steps of ${model}; a table is below`, nodes, drawn));
        list.replaceChildren(element("h3", {}, "Steps"), stepTable(steps, figures));
      });
    }, EVERY_MS, signal, status);
  } catch (error) {
    if (signal.aborted) return;
    if (error.status === 401) return status(error);
    view.append(element("p", {className: "error", role: "alert"}, error.message));
  }
}
