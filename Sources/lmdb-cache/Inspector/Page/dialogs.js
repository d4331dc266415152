// What is asked before something is changed, and what is said afterwards.

import { byId, grouped, visible } from "./dom.js";
import { server } from "./server.js";

let toastTimer;

export function say(text) {
  const toast = byId("toast");
  toast.textContent = text;
  toast.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { toast.hidden = true; }, 5000);
}

/** Whether the user says yes. */
function ask(text, subject, verb) {
  const dialog = byId("question-dialog");
  byId("question-text").textContent = text;
  byId("question-key").textContent = subject;
  byId("question-yes").textContent = verb;
  dialog.returnValue = "";
  dialog.showModal();
  byId("question-no").focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

// There is one dialog: a second question would take the place of the first one, and its answer be that to both.
let isAsking = false;

/** Asks the server what would be done, the user whether it shall be, and has it done. Returns how many entries went. */
async function change(name, body, subject, verb) {
  if (isAsking) return null;
  isAsking = true;
  try {
    const question = await server.change(name, body);
    if (!await ask(question.question, subject, verb)) return null;
    return (await server.change(name, { ...body, confirmation: question.confirmation })).removed;
  } finally {
    isAsking = false;
  }
}

export async function remove(key) {
  try {
    const removed = await change("remove", { key }, visible(key), "Remove");
    if (removed !== null) say("Removed.");
    return removed !== null;
  } catch (error) {
    say(error.message);
    return false;
  }
}

/** @param done Called when entries may have gone. */
export function setUpDialogs(done) {
  byId("question-yes").addEventListener("click", (event) => {
    // The second click of two in a row is for what was there before the question.
    if (event.detail < 2) byId("question-dialog").close("yes");
  });
  byId("question-no").addEventListener("click", () => byId("question-dialog").close("no"));
  byId("trim-no").addEventListener("click", () => byId("trim-dialog").close());
  byId("trim").addEventListener("click", () => {
    byId("trim-problem").textContent = "";
    byId("trim-dialog").showModal();
  });
  byId("trim-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const problem = byId("trim-problem");
    const limits = {};
    const fields = [["count", "trim-count", 1], ["cost", "trim-cost", 1], ["age", "trim-age", 3600]];
    for (const [name, id, factor] of fields) {
      const text = byId(id).value.trim();
      if (text === "") continue;
      const number = Number(text);
      if (!(number >= 0) || name !== "age" && !Number.isSafeInteger(number)) {
        problem.textContent = `“${text}” is no such number.`;
        byId(id).focus();
        return;
      }
      limits[name] = number * factor;
    }
    if (Object.keys(limits).length === 0) {
      problem.textContent = "Give at least one limit.";
      return;
    }
    byId("trim-dialog").close();
    try {
      const removed = await change("trim", limits, "", "Trim");
      if (removed === null) return;
      say(removed === 1 ? "One entry was removed." : `${grouped(removed)} entries were removed.`);
      done();
    } catch (error) {
      say(error.message);
    }
  });
}
