// What processes do with the cache, now.

import { age, byId, bytes, draw, el, grouped, percentage, rate, time, visible } from "./dom.js";

// Curves of the last minutes.

const [width, height, top, bottom] = [600, 170, 12, 12];
const greatestLength = 300;

/** The next number that is 1, 2 or 5 times a power of ten. */
function rounded(number) {
  const power = 10 ** Math.floor(Math.log10(number));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= number * 0.999);
}

class Chart {
  #lines;
  #numbers;
  #drawing = draw("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  #marks = el("div", { class: "marks", "aria-hidden": "true" });
  #legend = el("dl", { class: "legend" });
  #format;
  #greatest;
  #isLogarithmic;
  element;

  /**
   * @param lines Names and how to get the number of a sample, or `undefined`.
   * @param greatest What the axis ends with; without it, what there is.
   */
  constructor(title, lines, format, { greatest, isLogarithmic = false } = {}) {
    [this.#lines, this.#format, this.#greatest, this.#isLogarithmic] = [lines, format, greatest, isLogarithmic];
    this.#numbers = lines.map(() => []);
    this.element = el("figure", { class: "card chart" }, el("figcaption", {}, el("h2", {}, title), this.#legend),
      el("div", { class: "plot" }, this.#drawing, this.#marks));
  }

  add(sample) {
    this.#lines.forEach(([, number], index) => {
      const numbers = this.#numbers[index];
      numbers.push(number(sample) ?? null);
      if (numbers.length > greatestLength) numbers.shift();
    });
    this.#show();
  }

  #show() {
    const known = this.#numbers.flat().filter((number) => number !== null && (!this.#isLogarithmic || number > 0));
    const [low, high, ticks] = this.#isLogarithmic ? this.#decades(known) : this.#steps(known);
    const place = (number) => {
      const part = this.#isLogarithmic
        ? (Math.log10(Math.max(number, low)) - Math.log10(low)) / (Math.log10(high) - Math.log10(low))
        : (number - low) / (high - low);
      return top + (1 - Math.min(1, Math.max(0, part))) * (height - top - bottom);
    };
    this.#drawing.replaceChildren(
      ...ticks.map((tick) => draw("line", { class: "grid", x1: 0, x2: width, y1: place(tick), y2: place(tick) })),
      ...this.#numbers.flatMap((numbers, index) => this.#curve(numbers, index, place)));
    this.#marks.replaceChildren(...ticks.map((tick) => {
      const mark = el("span", {}, this.#format(tick).replace(/\.0+(?= )/, ""));
      mark.style.top = `${(100 * place(tick)) / height}%`;
      return mark;
    }));
    this.#legend.replaceChildren(...this.#lines.map(([name], index) => {
      const last = this.#numbers[index].at(-1);
      return el("div", { class: `line-${index}` }, el("dt", {}, name), el("dd", {}, last === null ? "–" : this.#format(last)));
    }));
  }

  #steps(known) {
    const high = this.#greatest ?? rounded(Math.max(1, ...known));
    return [0, high, [0, high / 2, high]];
  }

  #decades(known) {
    const low = 10 ** Math.floor(Math.log10(known.length > 0 ? Math.min(...known) : 1000));
    const high = Math.max(10 * low, 10 ** Math.ceil(Math.log10(known.length > 0 ? Math.max(...known) : 1)));
    const ticks = [];
    for (let tick = low; tick <= high * 1.001; tick *= 10) ticks.push(tick);
    return [low, high, ticks.length > 5 ? ticks.filter((_, index) => index % 2 === 0) : ticks];
  }

  #curve(numbers, index, place) {
    const step = width / (greatestLength - 1);
    const start = width - (numbers.length - 1) * step;
    // Where nothing is known, nothing is drawn.
    const runs = [];
    numbers.forEach((number, position) => {
      if (number === null) return;
      if (position === 0 || numbers[position - 1] === null) runs.push([]);
      runs.at(-1).push([start + position * step, place(number)]);
    });
    return runs.flatMap((run) => {
      const points = run.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`);
      if (run.length === 1) points.push(`${(run[0][0] + 2).toFixed(1)},${run[0][1].toFixed(1)}`);
      const line = draw("polyline", { class: `curve line-${index}`, points: points.join(" ") });
      if (index > 0) return [line];
      const end = height - bottom;
      const area = `${run[0][0].toFixed(1)},${end} ${points.join(" ")} ${run.at(-1)[0].toFixed(1)},${end}`;
      return [draw("polygon", { class: "under", points: area }), line];
    });
  }
}

/** A curve without words, for beside a number. */
export class Sparkline {
  element = draw("svg", { class: "spark", viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true" });
  #numbers = [];
  #greatest;

  constructor(greatest) { this.#greatest = greatest; }

  add(number) {
    this.#numbers.push(number ?? null);
    if (this.#numbers.length > 60) this.#numbers.shift();
    const known = this.#numbers.filter((each) => each !== null);
    const greatest = this.#greatest ?? Math.max(1, ...known);
    const points = this.#numbers.map((each, index) =>
      each === null ? "" : `${(100 - ((this.#numbers.length - 1 - index) * 100) / 59).toFixed(1)},${(22 - (20 * each) / greatest).toFixed(1)}`);
    this.element.replaceChildren(draw("polyline", { class: "curve line-0", points: points.join(" ").trim() }));
  }
}

const median = (name) => (sample) => sample.latencies[name]?.p50Nanoseconds;
const slowest = (name) => (sample) => sample.latencies[name]?.p99Nanoseconds;

export class Activity {
  #charts = [
    new Chart("Hit ratio", [["of the last second", (sample) => sample.hitRatio]], percentage, { greatest: 1 }),
    new Chart("Throughput", [
      ["reads/s", (sample) => sample.perSecond?.reads],
      ["writes/s", (sample) => sample.perSecond && sample.perSecond.sets + sample.perSecond.removals],
      ["loads/s", (sample) => sample.perSecond?.loads],
    ], rate),
    new Chart("Latency of reads", [
      ["memory p50", median("memoryHits")], ["disk p50", median("diskReads")], ["disk p99", slowest("diskReads")],
    ], time, { isLogarithmic: true }),
    new Chart("Latency of writes", [
      ["set p50", median("sets")], ["set p99", slowest("sets")], ["commit p99", slowest("commits")],
    ], time, { isLogarithmic: true }),
  ];

  constructor() { byId("charts").replaceChildren(...this.#charts.map((chart) => chart.element)); }

  add(sample) {
    for (const chart of this.#charts) chart.add(sample);
    this.#showProcesses(sample);
  }

  #showProcesses(sample) {
    const names = ["Process", "Name", "Open for", "Hits", "Reads/s", "Writes/s", "Memory", "Waiting"];
    const rows = sample.processes.map((process) => [
      String(process.process), visible(process.name), age(process.openSeconds),
      process.hitRatio === undefined ? "–" : percentage(process.hitRatio),
      process.perSecond ? rate(process.perSecond.reads) : "–",
      process.perSecond ? rate(process.perSecond.sets + process.perSecond.removals) : "–",
      `${grouped(process.memoryEntries)} entries`,
      bytes(process.journalUsed) + (process.isHealthy ? "" : ", not committing"),
    ]);
    const unreadable = sample.unreadableProcesses;
    byId("processes").replaceChildren(el("h2", {}, "Processes"),
      rows.length === 0
        ? el("p", { class: "soft" }, "No process has the cache open, or has had it open for a second.")
        : el("div", { class: "scroll" }, el("table", { class: "processes" },
          el("thead", {}, el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name)))),
          el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, cell))))))),
      ...(unreadable > 0
        ? [el("p", { class: "soft" }, `${grouped(unreadable)} more whose statistics cannot be read, or are of another version.`)]
        : []));
  }
}
