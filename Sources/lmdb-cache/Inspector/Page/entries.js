// The list of entries: a part at a time, however many there are.

import { byId, bytes, el, exact, fromNow, grouped, visible, visibleNodes } from "./dom.js";
import { server } from "./server.js";

const pageLength = 200;

/** Buttons for the parts of a prefix, and one for all keys. */
export function showCrumbs(place, prefix, go) {
  const parts = [el("button", { class: "crumb", on: { click: () => go("") } }, "All keys")];
  let end = 0;
  for (const match of prefix.matchAll(/[^:/]*[:/]|[^:/]+$/g)) {
    end = match.index + match[0].length;
    const target = prefix.slice(0, end);
    parts.push(el("button", { class: "crumb mono", on: { click: () => go(target) } }, visible(match[0])));
  }
  parts[parts.length - 1].setAttribute("aria-current", "true");
  place.replaceChildren(...parts);
}

export class EntryList {
  #list = byId("list");
  #found = byId("found");
  #request;
  #next;
  #isLoading = false;
  #entries = [];
  #selected = -1;
  #looked = 0;
  /** Whether nothing more is asked for until somebody wants it. */
  #isFull = false;
  #timer;
  #pane;
  #remove;

  constructor(pane, remove) {
    this.#pane = pane;
    this.#remove = remove;
    this.#list.addEventListener("keydown", (event) => this.#key(event));
    this.#list.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (row) this.#open(Number(row.dataset.index));
    });
    this.#list.addEventListener("scroll", () => {
      const { scrollTop, clientHeight, scrollHeight } = this.#list;
      if (scrollTop + 2 * clientHeight > scrollHeight) this.#more();
    });
    byId("filters").addEventListener("keydown", async (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      await this.load();
      this.focus();
    });
    for (const id of ["search", "prefix"]) {
      byId(id).addEventListener("input", () => {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.load(), 200);
      });
    }
  }

  get prefix() { return byId("prefix").value; }

  show(prefix) {
    byId("prefix").value = prefix;
    byId("search").value = "";
    this.load();
  }

  focus() {
    this.#list.focus();
    if (this.#selected < 0 && this.#entries.length > 0) this.#select(0);
  }

  /** From the beginning. */
  load() {
    clearTimeout(this.#timer);
    this.#request?.abort();
    this.#request = new AbortController();
    this.#entries = [];
    this.#selected = -1;
    this.#looked = 0;
    this.#next = undefined;
    this.#isLoading = false;
    this.#list.replaceChildren();
    this.#list.removeAttribute("aria-activedescendant");
    showCrumbs(byId("crumbs"), this.prefix, (prefix) => {
      this.show(prefix);
      this.focus();
    });
    return this.#more(true);
  }

  async #more(isFirst = false) {
    if (this.#isLoading || !isFirst && this.#next === undefined) return;
    this.#isLoading = true;
    const { signal } = this.#request;
    const search = byId("search").value;
    const wanted = this.#entries.length + pageLength;
    try {
      // What is looked for may be far away; what is found is shown meanwhile.
      do {
        const query = { prefix: this.prefix, search, after: this.#next, limit: pageLength };
        const page = await server.entries(query, signal);
        if (signal.aborted) return;
        this.#next = page.next;
        this.#looked += page.looked;
        this.#add(page.entries);
        this.#isFull = this.#entries.length >= wanted;
        this.#tell(search);
      } while (this.#next !== undefined && this.#entries.length < wanted && !signal.aborted);
      this.#isLoading = false;
    } catch (error) {
      if (error.name === "AbortError" || signal.aborted) return;
      this.#isLoading = false;
      this.#found.textContent = error.message;
    }
  }

  #tell(search) {
    const count = this.#entries.length;
    const isAll = this.#next === undefined;
    const keys = count === 1 ? "1 entry" : `${grouped(count)} entries`;
    if (count === 0 && isAll) {
      const isFiltered = search !== "" || this.prefix !== "";
      this.#found.textContent = isFiltered ? "No key is like that." : "The cache is empty.";
    } else if (search !== "") {
      this.#found.textContent = isAll ? `${keys} found`
        : this.#isFull ? `The first ${keys} found; scroll for more`
          : `${keys} found, ${grouped(this.#looked)} keys looked at …`;
    } else {
      this.#found.textContent = isAll ? keys : `The first ${keys}; scroll for more`;
    }
  }

  #add(entries) {
    const rows = document.createDocumentFragment();
    for (const entry of entries) {
      const index = this.#entries.length;
      this.#entries.push(entry);
      const row = el("div", { class: "row", role: "option", id: `row-${index}`, "aria-selected": "false" },
        el("span", { class: "key mono" }, ...visibleNodes(entry.key), ...(entry.isCut ? ["…"] : [])),
        el("span", { class: "number" }, bytes(entry.size)),
        el("span", { class: "format" }, entry.format),
        el("span", { class: "expiry", title: entry.expires ? exact(entry.expires) : "" },
          entry.expires ? fromNow(entry.expires) : "never"));
      row.dataset.index = index;
      rows.append(row);
    }
    this.#list.append(rows);
  }

  // Moving

  #row(index) { return this.#list.children[index]; }

  #select(index) {
    if (this.#entries.length === 0) return;
    index = Math.max(0, Math.min(index, this.#entries.length - 1));
    if (this.#selected >= 0) this.#row(this.#selected)?.setAttribute("aria-selected", "false");
    this.#selected = index;
    const row = this.#row(index);
    row.setAttribute("aria-selected", "true");
    row.scrollIntoView({ block: "nearest" });
    this.#list.setAttribute("aria-activedescendant", row.id);
    if (index > this.#entries.length - 20) this.#more();
  }

  async #open(index, movesFocus = false) {
    this.#select(index);
    const entry = this.#entries[index];
    if (entry === undefined) return;
    if (entry.isCut) {
      this.#found.textContent = "This key is too long to be asked for here; lmdb-cache get takes it.";
      return;
    }
    await this.#pane.open(entry.key);
    // Another entry may have been chosen meanwhile, or this one removed.
    if (movesFocus && this.#pane.key === entry.key) this.#pane.focus();
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.#list.clientHeight / 34) - 1);
    const last = this.#entries.length - 1;
    const moves = {
      ArrowDown: this.#selected + 1, j: this.#selected + 1, ArrowUp: this.#selected - 1, k: this.#selected - 1,
      PageDown: this.#selected + page, PageUp: this.#selected - page, Home: 0, End: last,
    };
    if (event.key in moves) this.#select(moves[event.key]);
    else if (event.key === "Enter") this.#open(this.#selected, true);
    else if (event.key === "Delete" && this.#selected >= 0 && !this.#entries[this.#selected].isCut) {
      if (!event.repeat) this.#remove(this.#entries[this.#selected].key);
    } else return;
    event.preventDefault();
  }

  /** Takes an entry off the list that is in the cache no more. */
  drop(key) {
    const index = this.#entries.findIndex((entry) => entry.key === key && !entry.isCut);
    if (index < 0) return;
    // Whoever has moved on meanwhile stays there.
    const selected = this.#selected > index ? this.#selected - 1 : this.#selected;
    this.#row(this.#selected)?.setAttribute("aria-selected", "false");
    this.#row(index).remove();
    this.#entries.splice(index, 1);
    [...this.#list.children].slice(index).forEach((row, offset) => {
      row.id = `row-${index + offset}`;
      row.dataset.index = index + offset;
    });
    this.#selected = -1;
    if (this.#entries.length > 0) this.#select(Math.min(Math.max(selected, 0), this.#entries.length - 1));
    this.#tell(byId("search").value);
  }
}
