// What is asked of the server. The addresses are below the page's own, which nobody else knows.

async function answered(request) {
  let response;
  try {
    response = await request;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is lmdb-cache serve still running?");
  }
  if (!response.ok) throw new Error((await response.text()).trim());
  return response.json();
}

function address(name, query = {}) {
  const items = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  return `api/${name}` + (items.length === 0 ? "" : "?" + items.map(([key, value]) =>
    `${key}=${encodeURIComponent(value)}`).join("&"));
}

// A lone surrogate is no character, and cannot be asked for.
const sound = (text) => (text.isWellFormed() ? text : text.toWellFormed());

export const server = {
  summary: () => answered(fetch(address("summary"))),
  entries: (query, signal) => answered(fetch(address("entries", query), { signal })),
  // The empty key is one, too.
  entry: (key, signal) => answered(fetch(`api/entry?key=${encodeURIComponent(sound(key))}`, { signal })),
  imageAddress: (key) => `api/image?key=${encodeURIComponent(sound(key))}`,
  prefixes: (prefix, signal) => answered(fetch(address("prefixes", { prefix }), { signal })),
  change: (name, body) => answered(fetch(address(name), {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  })),

  /** Calls back for each sample, and for what is the matter; `null` when all is well again. */
  follow(onSample, onTrouble) {
    const events = new EventSource(address("events"));
    events.addEventListener("sample", (event) => {
      onTrouble(null);
      onSample(JSON.parse(event.data));
    });
    events.addEventListener("trouble", (event) => onTrouble(event.data));
    // One that is closed was refused, and is not tried again.
    events.addEventListener("error", () => onTrouble(events.readyState === EventSource.CLOSED
      ? "The server refuses live figures: the page may be open too often. Close some, and load it again."
      : "The server does not answer. Is lmdb-cache serve still running?"));
  },
};
