// Elements and words. Data becomes text of a node, and never markup.

export const byId = (id) => document.getElementById(id);

/** An element with properties and children; a string is text. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") element.className = value;
    else if (name === "on") for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    else if (name.startsWith("aria-") || name === "role" || name.startsWith("data-")) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

/** The same of a drawing. */
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// What cannot be seen, or would turn around what is beside it.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\\]/gu;

const escaped = (character) =>
  character === "\\" ? "\\\\"
    : character === "\n" ? "\\n" : character === "\r" ? "\\r" : character === "\t" ? "\\t"
      : `\\u{${character.codePointAt(0).toString(16).toUpperCase()}}`;

/** A key on one line, as `ls` shows it. */
export const visible = (text) => text.replace(hidden, escaped);

/** The same as nodes, in which what is escaped can be told from what is not. */
export function visibleNodes(text) {
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(hidden)) {
    if (match.index > end) nodes.push(text.slice(end, match.index));
    nodes.push(el("span", { class: "escape" }, escaped(match[0])));
    end = match.index + match[0].length;
  }
  if (end < text.length) nodes.push(text.slice(end));
  return nodes.length > 0 ? nodes : [el("span", { class: "escape" }, "(empty)")];
}

// Numbers

const grouping = new Intl.NumberFormat("en-US");
export const grouped = (number) => grouping.format(number);

function scaled(number, units) {
  let unit = 0;
  while (number >= 999.5 && unit < units.length - 1) {
    number /= 1000;
    unit += 1;
  }
  const places = unit === 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  return `${number.toFixed(places)} ${units[unit]}`;
}

export const bytes = (number) => scaled(number, ["B", "kB", "MB", "GB", "TB", "PB", "EB"]);
export const time = (nanoseconds) => scaled(nanoseconds, ["ns", "µs", "ms", "s"]);
export const percentage = (part) => `${(100 * part).toFixed(1)} %`;
export const rate = (number) =>
  number >= 9.95 || Number.isInteger(number) ? grouped(Math.round(number)) : number.toFixed(1);

// Dates

function length(seconds) {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  if (seconds < 700 * 86400) return `${Math.floor(seconds / 86400)} d`;
  return `${Math.floor(seconds / (365.25 * 86400))} y`;
}

export const age = length;

export function fromNow(date) {
  const seconds = (new Date(date) - Date.now()) / 1000;
  return seconds >= 0 ? `in ${length(seconds)}` : `${length(-seconds)} ago`;
}

export function exact(date) {
  return date.replace("T", " ").replace("Z", " UTC");
}
