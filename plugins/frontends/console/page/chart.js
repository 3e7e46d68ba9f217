// Lines over time, with a table of the same figures beside them.
import {element, number, table} from "./dom.js";

const KEPT_S = 15 * 60;
const COLOURS = ["--one", "--two", "--three", "--four"];
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString("en-GB");

/** The figures of a chart, which outlive it: a page that is shown again has them. */
export class Points {
  constructor(labels) {
    this.labels = labels;
    this.columns = [[], ...labels.map(() => [])];
  }
  get last() {
    return this.columns[0].at(-1) ?? 0;
  }
  /** \param values  null: a gap */
  add(seconds, values) {
    [seconds, ...values].forEach((value, i) => this.columns[i].push(value));
    const old = this.columns[0].findIndex((at) => at >= seconds - KEPT_S);
    if (old > 0) this.columns.forEach((column) => column.splice(0, old));
  }
  gap(seconds) {
    if (this.last !== 0) this.add(seconds, this.labels.map(() => null));
  }
  /** Forgets what is from then on. */
  cut(seconds) {
    const from = this.columns[0].findIndex((at) => at >= seconds);
    if (from >= 0) this.columns.forEach((column) => column.splice(from));
  }
}

export class Chart {
  /** \param points  Points \param stacked  the lines are drawn on top of each other */
  constructor(title, unit, points, stacked, signal) {
    this.title = title;
    this.unit = unit;
    this.points = points;
    this.stacked = stacked;
    this.plot = element("div", {className: "plot", role: "img", "aria-label": `${title}; the figures are in the table below`});
    this.figures = element("div", {});
    const details = element("details", {}, element("summary", {}, `Table of ${title.toLowerCase()}`), this.figures);
    details.addEventListener("toggle", () => this.list(details.open));
    this.details = details;
    this.section = element("section", {}, element("h3", {}, `${title} (${unit})`), this.plot, details);
    this.marked = 0;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw(true), {signal});
    const resized = new ResizeObserver(() => this.uplot && this.uplot.setSize({width: this.plot.clientWidth || 300, height: 180}));
    resized.observe(this.plot);
    signal.addEventListener("abort", () => {
      resized.disconnect();
      if (this.uplot) this.uplot.destroy();
      this.uplot = null;
      this.ended = true;
    });
  }

  data() {
    const [times, ...lines] = this.points.columns;
    if (!this.stacked) return [times, ...lines];
    const sums = lines.map((_, i) => times.map((_, at) =>
      lines.slice(0, i + 1).reduce((sum, line) => (line[at] === null ? sum : (sum ?? 0) + line[at]), null)));
    return [times, ...sums];
  }

  /** A line where the server was started. \param seconds  0: there is none */
  mark(seconds) {
    this.marked = seconds;
  }

  drawMark(plot) {
    const {min, max} = plot.scales.x;
    if (this.marked < min || this.marked > max) return;
    const at = Math.round(plot.valToPos(this.marked, "x", true));
    const {ctx, bbox} = plot;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour("--faint");
    ctx.setLineDash([4, 4]);
    ctx.beginPath();
    ctx.moveTo(at, bbox.top);
    ctx.lineTo(at, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText("start", at + 4, bbox.top + 12 * devicePixelRatio);
    ctx.restore();
  }

  make() {
    const axis = {stroke: colour("--faint"), grid: {stroke: colour("--line"), width: 0.3}, ticks: {stroke: colour("--line")}};
    return new uPlot({
      width: this.plot.clientWidth || 300, height: 180, cursor: {y: false},
      hooks: {draw: [(plot) => this.drawMark(plot)]},
      scales: {y: {range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1]}},
      axes: [axis, {...axis, size: 60}],
      series: [{value: (_, at) => (at === null ? "–" : clock(at))}, ...this.points.labels.map((label, i) => ({
        label, stroke: colour(COLOURS[i % COLOURS.length]), width: 2, dash: i % 2 ? [6, 3] : undefined,
        value: (_, at, line, index) => (index === null ? "–" : number(this.points.columns[line][index], 2)),
      }))],
    }, this.data(), this.plot);
  }

  /** Shows what was added. \param anew  the colours have changed */
  draw(anew = false) {
    if (this.ended) return;
    if (anew && this.uplot) {
      this.uplot.destroy();
      this.uplot = null;
    }
    if (this.uplot) this.uplot.setData(this.data());
    else this.uplot = this.make();
    this.list(this.details.open);
  }

  list(open) {
    if (!open) return;
    const [times, ...lines] = this.points.columns;
    const rows = times.map((at, i) => [clock(at), ...lines.map((line) => number(line[i], 2))]);
    const started = times.findIndex((at) => at >= this.marked);
    if (started > 0) rows.splice(started, 0, [`${clock(this.marked)}, the server was started`, ...lines.map(() => "–")]);
    rows.reverse().splice(30);
    this.figures.replaceChildren(table(`${this.title}, newest first`, ["Time", ...this.points.labels], rows));
  }
}
