// One entry, with its value.

import { byId, bytes, el, exact, fromNow, grouped, visibleNodes } from "./dom.js";
import { server } from "./server.js";

export class EntryPane {
  #pane = byId("entry");
  #request;
  #canRemove = false;
  #onRemove;
  /** The key that is shown. */
  key = null;

  constructor(onRemove) {
    this.#onRemove = onRemove;
    this.clear();
  }

  set canRemove(value) { this.#canRemove = value; }

  clear() {
    this.#request?.abort();
    this.key = null;
    this.#pane.replaceChildren(
      el("p", { class: "empty" }, "Choose an entry, and what it holds is shown here."));
  }

  async open(key) {
    this.#request?.abort();
    const request = new AbortController();
    this.#request = request;
    this.key = key;
    try {
      const found = await server.entry(key, request.signal);
      if (!request.signal.aborted) this.#show(key, found);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#pane.replaceChildren(this.#heading(key), el("p", { class: "problem" }, error.message));
    }
  }

  focus() { this.#pane.focus(); }

  #heading(key) { return el("h2", { class: "mono key-title" }, ...visibleNodes(key)); }

  #show(key, found) {
    const { entry, views } = found;
    const facts = [
      ["Size", bytes(entry.size), `${grouped(entry.size)} bytes`],
      ["Format", entry.format + (found.isTransformed ? ", transformed" : "")],
      ["Cost", grouped(entry.cost)],
      ["Expires", entry.expires ? fromNow(entry.expires) : "never", entry.expires && exact(entry.expires)],
      ["Written", fromNow(entry.created), exact(entry.created)],
      ["Last read", fromNow(entry.lastAccess), exact(entry.lastAccess)],
    ];
    const list = el("dl", { class: "facts" });
    for (const [name, value, title] of facts) {
      list.append(el("div", {}, el("dt", {}, name), el("dd", { title: title ?? "" }, value)));
    }
    const content = el("div", { class: "content", tabIndex: 0, role: "region", "aria-label": "Value" });
    const choices = el("div", { class: "choices", role: "group", "aria-label": "How the value is shown" });
    const show = (index) => {
      [...choices.children].forEach((button, place) => button.setAttribute("aria-pressed", place === index));
      content.replaceChildren(...this.#content(key, entry, views[index]));
    };
    views.forEach((view, index) => choices.append(
      el("button", { "aria-pressed": "false", on: { click: () => show(index) } }, view.title)));
    const row = el("div", { class: "title-row" }, choices);
    if (this.#canRemove) {
      row.append(el("button", { class: "danger quiet", on: { click: (event) => {
        // The second click of two in a row is for the answer that was here.
        if (event.detail < 2) this.#onRemove(key);
      } } }, "Remove…"));
    }
    this.#pane.replaceChildren(this.#heading(key), list, row, content);
    if (views.length > 0) show(0);
  }

  #content(key, entry, view) {
    if (view.kind === "note") return [el("p", { class: "problem" }, view.text)];
    if (view.kind === "image") {
      const note = el("p", { class: "soft" }, "");
      const image = el("img", { class: "preview", alt: "The value, as an image", on: {
        load: () => { note.textContent = `${image.naturalWidth} × ${image.naturalHeight} pixels`; },
        error: () => { note.textContent = "The browser cannot show this image."; },
      } });
      image.src = server.imageAddress(key);
      return [el("div", { class: "checkered" }, image), note];
    }
    const nodes = [el("pre", { class: view.kind }, ...lines(view))];
    if (view.shown !== undefined) {
      const total = view.kind === "notation" ? "" : ` of ${bytes(entry.size)}`;
      nodes.unshift(el("p", { class: "soft cut" }, `The first ${bytes(view.shown)}${total} are shown.`));
    }
    return nodes;
  }
}

// Names, texts, numbers and words of a notation, told apart by colour.
const token = /("(?:[^"\\\n]|\\[^\n])*")(\s*:)?|(h'[0-9a-f]*'?)|(-?\b\d[\d.eE+-]*\b)|\b(true|false|null|undefined|NaN|Infinity)\b/g;
const greatestColoured = 60_000;

function lines(view) {
  if (view.kind !== "notation" || view.text.length > greatestColoured) return [view.text];
  const nodes = [];
  let end = 0;
  for (const match of view.text.matchAll(token)) {
    if (match.index > end) nodes.push(view.text.slice(end, match.index));
    const [all, string, colon, data, number] = match;
    const kind = string ? (colon ? "t-name" : "t-text") : data ? "t-data" : number ? "t-number" : "t-word";
    nodes.push(el("span", { class: kind }, string ?? all));
    if (colon) nodes.push(colon);
    end = match.index + all.length;
  }
  nodes.push(view.text.slice(end));
  return nodes;
}
