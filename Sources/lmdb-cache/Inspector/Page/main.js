// The page as a whole: its views, its figures, and its keys.

import { Activity, Sparkline } from "./activity.js";
import { remove, setUpDialogs } from "./dialogs.js";
import { byId, bytes, el, grouped, percentage, rate, visible } from "./dom.js";
import { EntryList } from "./entries.js";
import { EntryPane } from "./entry.js";
import { server } from "./server.js";
import { Sizes } from "./sizes.js";

const views = ["entries", "sizes", "activity"];
let isWritable = false;

// Views

function show(view, takesFocus = false) {
  for (const name of views) {
    const tab = byId(`tab-${name}`);
    const isShown = name === view;
    byId(name).hidden = !isShown;
    tab.setAttribute("aria-selected", isShown);
    tab.tabIndex = isShown ? 0 : -1;
    if (isShown && takesFocus) tab.focus();
  }
  if (view === "sizes" && !sizes.isLoaded) sizes.load("");
}

views.forEach((name, index) => {
  byId(`tab-${name}`).addEventListener("click", () => show(name));
  byId(`tab-${name}`).addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(views[(index + step + views.length) % views.length], true);
  });
});

async function removeEntry(key) {
  if (!isWritable) return;
  if (!await remove(key)) return;
  list.drop(key);
  if (pane.key === key) pane.clear();
  list.focus();
  summarize();
}

const pane = new EntryPane(removeEntry);
const list = new EntryList(pane, removeEntry);
const sizes = new Sizes((prefix) => {
  show("entries");
  list.show(prefix);
  list.focus();
});
const activity = new Activity();

setUpDialogs(() => {
  list.load();
  pane.clear();
  summarize();
  if (sizes.isLoaded) sizes.load(sizes.prefix);
});

// Figures

const figures = {};

function addFigure(name, title, sparkline) {
  const value = el("dd", {}, "–");
  figures[name] = { value, sparkline };
  return el("dl", { class: "figure" }, el("dt", {}, title), value, ...(sparkline ? [sparkline.element] : []));
}

byId("figures").append(
  addFigure("entries", "Entries"), addFigure("live", "In use"), addFigure("disk", "On disk"),
  addFigure("hits", "Hit ratio", new Sparkline(1)), addFigure("reads", "Reads/s", new Sparkline()),
  addFigure("writes", "Writes/s", new Sparkline()));

const set = (name, text) => { figures[name].value.textContent = text; };

async function summarize() {
  try {
    const { cache, isWritable: mayWrite } = await server.summary();
    const name = cache.directory.replace(/\/+$/, "").split("/").pop() || cache.directory;
    byId("name").textContent = visible(name);
    byId("path").textContent = `${visible(cache.directory)} · durability ${cache.durability}`;
    document.title = `${visible(name)} – lmdb-cache`;
    set("entries", grouped(cache.entries));
    set("live", bytes(cache.liveBytes));
    set("disk", cache.bytesOnDisk === undefined ? "–" : bytes(cache.bytesOnDisk));
    isWritable = mayWrite;
    pane.canRemove = mayWrite;
    byId("trim").hidden = !mayWrite;
    byId("mode").textContent = mayWrite ? "writable" : "read-only";
    byId("mode").classList.toggle("warm", mayWrite);
    byId("health").hidden = cache.isHealthy;
    byId("health").textContent = cache.isHealthy ? "" : "not all can be seen";
    byId("health").title = visible(cache.health);
  } catch (error) {
    tellTrouble(error.message);
  }
}

function tellTrouble(text) {
  const trouble = byId("trouble");
  if (!trouble.hidden && text === null) summarize();
  trouble.hidden = text === null;
  trouble.textContent = text ?? "";
}

let samples = 0;
server.follow((sample) => {
  activity.add(sample);
  set("hits", sample.hitRatio === undefined ? "–" : percentage(sample.hitRatio));
  set("reads", sample.perSecond ? rate(sample.perSecond.reads) : "–");
  const writes = sample.perSecond && sample.perSecond.sets + sample.perSecond.removals;
  set("writes", writes === undefined ? "–" : rate(writes));
  figures.hits.sparkline.add(sample.hitRatio);
  figures.reads.sparkline.add(sample.perSecond?.reads);
  figures.writes.sparkline.add(writes);
  // What else is said at a glance changes less.
  samples += 1;
  if (samples % 5 === 0 && !document.hidden) summarize();
}, tellTrouble);

// Keys

byId("help").addEventListener("click", () => byId("help-dialog").showModal());

// A key that is held is pressed once: it would answer a question that it has asked.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !event.repeat) return;
  event.preventDefault();
  event.stopPropagation();
}, { capture: true });

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return;
  const isTyping = event.target instanceof HTMLInputElement;
  if (event.key === "Escape") {
    if (!byId("entries").hidden) list.focus();
    else show("entries");
  } else if (isTyping) {
    if (event.key !== "ArrowDown") return;
    list.focus();
  } else if (event.key === "/" || event.key === "p") {
    show("entries");
    const field = byId(event.key === "/" ? "search" : "prefix");
    field.focus();
    field.select();
  } else if (event.key === "?") {
    byId("help-dialog").showModal();
  } else if (["1", "2", "3"].includes(event.key)) {
    show(views[Number(event.key) - 1], true);
  } else return;
  event.preventDefault();
});

summarize();
list.load().then(() => {
  if (document.activeElement === document.body) list.focus();
});
