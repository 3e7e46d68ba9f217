// Boxes and arrows from left to right, as SVG. Texts become text nodes, as in dom.js.

const SVG = "http://www.w3.org/2000/svg";
const BOX = {width: 190, height: 64};
const GAP = {x: 130, y: 28};
const MARGIN = 12;
/** A letter takes about so many units. */
const LETTER = 8.5;

function drawn(tag, properties, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(properties)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/** As much of a text as fits; the whole of it is the element's title. */
function line(text, x, y, width, className) {
  const letters = [...text];
  const room = Math.max(3, Math.floor(width / LETTER));
  const shown = letters.length > room ? `${letters.slice(0, room - 1).join("")}…` : text;
  return drawn("text", {x, y, class: className, "text-anchor": "middle"}, shown, drawn("title", {}, text));
}

/** The longest way from a node without edges that lead to it, for each node. Ways that go round are cut. */
export function layersOf(count, edges) {
  const layers = Array(count).fill(0);
  for (let round = 0; round < count; ++round) {
    let isDone = true;
    for (const {from, to} of edges) {
      if (layers[to] > layers[from] || layers[from] + 1 >= count) continue;
      layers[to] = layers[from] + 1;
      isDone = false;
    }
    if (isDone) break;
  }
  return layers;
}

function placesOf(nodes, edges) {
  const layers = layersOf(nodes.length, edges);
  const columns = [];
  layers.forEach((layer, i) => (columns[layer] ??= []).push(i));
  const most = Math.max(...columns.filter(Boolean).map((column) => column.length));
  const height = most * (BOX.height + GAP.y) - GAP.y;
  const places = [];
  columns.forEach((column, layer) => column.forEach((i, row) => {
    const top = (height - column.length * (BOX.height + GAP.y) + GAP.y) / 2;
    places[i] = {x: MARGIN + layer * (BOX.width + GAP.x), y: MARGIN + top + row * (BOX.height + GAP.y)};
  }));
  return {places, width: 2 * MARGIN + columns.length * (BOX.width + GAP.x) - GAP.x, height: 2 * MARGIN + height};
}

function arrow(from, to, labels) {
  const [x1, y1] = [from.x + BOX.width, from.y + BOX.height / 2];
  const [x2, y2] = [to.x, to.y + BOX.height / 2];
  const bend = Math.max(30, (x2 - x1) / 2);
  const middle = (x1 + x2) / 2;
  return drawn("g", {class: "edge"},
    drawn("path", {d: `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 7} ${y2}`}),
    drawn("path", {class: "head", d: `M${x2} ${y2} l-8 -5 l0 10 z`}),
    ...labels.map((text, i) => line(text, middle, (y1 + y2) / 2 - 6 + i * 20, GAP.x - 10, "faint")));
}

function box({title, figures, href, key}, {x, y}) {
  const parts = [drawn("rect", {x, y, width: BOX.width, height: BOX.height, rx: 6}),
    ...[title, ...figures].map((text, i) => line(text, x + BOX.width / 2, y + 19 + i * 18, BOX.width - 12, i === 0 ? "title" : "faint"))];
  return href === undefined ? drawn("g", {class: "node"}, ...parts) : drawn("a", {class: "node", href, "data-key": key}, ...parts);
}

/** \param nodes  [{title, figures: at most two texts, href, key}] \param edges  [{from, to, labels: at most two texts}] */
export function graph(label, nodes, edges) {
  const {places, width, height} = placesOf(nodes, edges);
  return drawn("svg", {class: "graph", role: "group", "aria-label": label, width, height, viewBox: `0 0 ${width} ${height}`},
    ...edges.map((edge) => arrow(places[edge.from], places[edge.to], edge.labels)),
    ...nodes.map((node, i) => box(node, places[i])));
}
