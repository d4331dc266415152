// What takes up space, by the beginnings of keys.

import { age, byId, bytes, draw, el, grouped, percentage, visible } from "./dom.js";
import { showCrumbs } from "./entries.js";
import { server } from "./server.js";

const [width, height] = [1200, 420];
const greatestRows = 50;

export class Sizes {
  #request;
  #contents;
  #showEntries;
  prefix = "";

  constructor(showEntries) {
    this.#showEntries = showEntries;
    byId("recount").addEventListener("click", () => this.load(this.prefix));
    byId("sizes").addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.prefix !== "") {
        event.preventDefault();
        this.load(this.prefix.replace(/[^:/]*[:/]$/, ""));
      }
    });
  }

  get isLoaded() { return this.#contents !== undefined; }

  async load(prefix) {
    this.#request?.abort();
    const { signal } = (this.#request = new AbortController());
    this.prefix = prefix;
    const counted = byId("counted");
    counted.textContent = "Counting …";
    showCrumbs(byId("size-crumbs"), prefix, (target) => this.load(target));
    try {
      const contents = await server.prefixes(prefix, signal);
      if (signal.aborted) return;
      this.#contents = contents;
      this.#show(contents);
    } catch (error) {
      if (error.name !== "AbortError") counted.textContent = error.message;
    }
  }

  /** What keys with this beginning are called, and what it leads to: keys without a further part lead to themselves. */
  #group(prefix) {
    const isOwn = prefix === this.prefix;
    const name = isOwn ? (prefix === "" ? "no separator" : "without a further part") : prefix.slice(this.prefix.length);
    return { name: isOwn ? name : visible(name), go: () => (isOwn ? this.#showEntries(prefix) : this.load(prefix)) };
  }

  #show(contents) {
    const groups = contents.prefixes.map((group) => ({ ...group, ...this.#group(group.prefix) }));
    if (contents.otherPrefixes) {
      const others = contents.otherPrefixes;
      groups.push({ ...others, name: `${grouped(others.prefixes)} others`, isOthers: true });
    }
    const hadFocus = byId("treemap").contains(document.activeElement);
    this.#map(groups.filter((group) => group.bytes > 0).sort((first, second) => second.bytes - first.bytes), contents.bytes);
    if (hadFocus) byId("treemap").querySelector("[tabindex]")?.focus();
    byId("counted").textContent = contents.entries === 0
      ? "There are no entries." : `${grouped(contents.entries)} entries with ${bytes(contents.bytes)} of values`;
    byId("size-tables").replaceChildren(
      table("By prefix", ["Prefix", "Entries", "Bytes", ""], groups.slice(0, greatestRows).map((group) => [
        group.isOthers ? group.name
          : el("button", { class: "crumb mono", on: { click: group.go } }, group.name),
        grouped(group.entries), bytes(group.bytes), bar(group.bytes, contents.bytes)])),
      el("div", { class: "stack" },
        table("By format", ["Format", "Entries", "Bytes", ""], contents.formats.map((format) => [
          format.format, grouped(format.entries), bytes(format.bytes), bar(format.bytes, contents.bytes)])),
        histogram("By size", contents.sizes, contents.entries, (limit) => (limit === 0 ? "empty" : `to ${binary(limit)}`), "more"),
        histogram("By time since written", contents.ages, contents.entries, (limit) => `up to ${age(limit)}`, "longer")));
  }

  #map(groups, total) {
    const drawing = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Bytes by prefix" });
    const rectangles = squarified(groups.map((group) => group.bytes), width, height);
    groups.forEach((group, index) => {
      const { x, y, width: w, height: h } = rectangles[index];
      const share = total > 0 ? group.bytes / total : 0;
      const label = `${group.name}: ${bytes(group.bytes)}, ${percentage(share)}, ${grouped(group.entries)} entries`;
      const area = draw("g", group.isOthers
        ? { class: "area others", role: "img", "aria-label": label }
        : { class: `area tone-${index % 6}`, tabindex: "0", role: "button", "aria-label": label });
      area.append(
        draw("title", {}, label),
        draw("rect", { x: x + 1.5, y: y + 1.5, width: Math.max(0, w - 3), height: Math.max(0, h - 3), rx: Math.min(6, w / 6, h / 6) }));
      // As much as fits: a character is about eight units wide.
      const room = Math.floor((w - 20) / 8.2);
      if (room >= Math.min(6, group.name.length) && h > 30) {
        area.append(draw("text", { x: x + 12, y: y + 24, class: "area-name" }, cut(group.name, room)));
        if (h > 52 && room >= 8) area.append(draw("text", { x: x + 12, y: y + 43, class: "area-size" }, cut(bytes(group.bytes), room)));
      }
      if (!group.isOthers) {
        area.addEventListener("click", group.go);
        area.addEventListener("keydown", (event) => {
          const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
          if (event.key === "Enter" || event.key === " ") group.go();
          else if (step) drawing.children[index + step]?.focus();
          else return;
          event.preventDefault();
        });
      }
      drawing.append(area);
    });
    byId("treemap").replaceChildren(groups.length > 0 ? drawing : el("p", { class: "empty" }, "Nothing takes up space here."));
  }
}

const cut = (text, length) => ([...text].length > length ? [...text].slice(0, length - 1).join("") + "…" : text);

const binary = (limit) =>
  limit >= 1 << 20 ? `${limit >> 20} MiB` : limit >= 1 << 10 ? `${limit >> 10} KiB` : `${limit} B`;

function bar(part, whole) {
  const fill = el("span", { class: "fill" });
  fill.style.inlineSize = `${whole > 0 ? Math.max(0.5, (100 * part) / whole) : 0}%`;
  return el("span", { class: "meter", title: whole > 0 ? percentage(part / whole) : "" }, fill);
}

function table(title, names, rows) {
  return el("div", { class: "card" }, el("h2", {}, title),
    el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, cell))))))));
}

function histogram(title, buckets, entries, name, last) {
  return table(title, ["", "Entries", "Bytes", ""], buckets.filter((bucket) => bucket.entries > 0).map((bucket) => [
    bucket.upTo === undefined ? last : name(bucket.upTo), grouped(bucket.entries), bytes(bucket.bytes),
    bar(bucket.entries, entries)]));
}

// Areas by numbers: the squarified layout of Bruls, Huizing and van Wijk.
/** The worst ratio of sides of the areas in a row along a side of such a length. */
function worst(areas, sum, side) {
  const greatest = areas[0];
  const smallest = areas[areas.length - 1];
  return Math.max((side * side * greatest) / (sum * sum), (sum * sum) / (side * side * smallest));
}

/**
 * @param values Positive numbers, largest first.
 * @returns For each of them a rectangle; together they fill the whole.
 */
function squarified(values, width, height) {
  const total = values.reduce((sum, value) => sum + value, 0);
  const scale = total > 0 ? (width * height) / total : 0;
  const areas = values.map((value) => value * scale);
  const rectangles = [];
  let [x, y, w, h] = [0, 0, width, height];
  let start = 0;
  while (start < areas.length) {
    const side = Math.min(w, h);
    let end = start + 1;
    let sum = areas[start];
    while (end < areas.length) {
      const longer = sum + areas[end];
      if (worst(areas.slice(start, end + 1), longer, side) > worst(areas.slice(start, end), sum, side)) break;
      sum = longer;
      end += 1;
    }
    const depth = side > 0 ? sum / side : 0;
    let place = 0;
    for (const area of areas.slice(start, end)) {
      const length = depth > 0 ? area / depth : 0;
      rectangles.push(w >= h
        ? { x, y: y + place, width: depth, height: length } : { x: x + place, y, width: length, height: depth });
      place += length;
    }
    if (w >= h) [x, w] = [x + depth, Math.max(0, w - depth)];
    else [y, h] = [y + depth, Math.max(0, h - depth)];
    start = end;
  }
  return rectangles;
}
