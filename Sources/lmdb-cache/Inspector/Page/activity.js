// What processes do with the cache, now.

import { age, byId, bytes, el, grouped, percentage, rate, time, visible } from "./dom.js";
import { Chart } from "./chart.js";

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
