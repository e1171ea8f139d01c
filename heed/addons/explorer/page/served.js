// The source of topics and documents at the server of heed explore, and what that server alone can do.

const DEPTHS = [20, 100, 1000]; // documents of a list that can be asked for, the first if none are
const KEPT = 8; // topics: going from document to document asks for the same one again

/** Return a source as of packed.js, with search(), read(), ask(), why() and `annotate`; null where no server sent the page. */
export function servedSource(element) {
  if (!element) return null;
  const { folders, annotate } = JSON.parse(element.textContent);
  const opened = new Map();
  const topics = new Map();
  return {
    folders: () => folders,
    folder: (name) => kept(opened, name, Infinity, () => get("folder", { folder: name })),
    topic: (name, id, depth = "") =>
      kept(topics, `${name} ${id} ${depth}`, KEPT, () => get("topic", { folder: name, id, depth })),
    document: (name, docid) => get("document", { folder: name, docid }),
    search: (name, q, signal) => get("search", { folder: name, q }, { signal }),
    read: (written, signal) => post("read", written, signal),
    ask: (question, signal) => post("ask", question, signal),
    why: (question) => post("why", question),
    depths: DEPTHS,
    annotate,
  };
}

/** Return what `make` promises, once for each key; a failure is not kept. */
function kept(map, key, most, make) {
  if (!map.has(key)) {
    if (map.size >= most) map.delete(map.keys().next().value);
    const made = make();
    map.set(key, made);
    made.catch(() => map.delete(key));
  }
  return map.get(key);
}

const get = (path, parameters = {}, options = {}) => request(`/api/${path}?${new URLSearchParams(parameters)}`, options);

function post(path, body, signal) {
  const headers = { "content-type": "application/json" };
  return request(`/api/${path}`, { method: "POST", headers, body: JSON.stringify(body), signal });
}

async function request(path, options) {
  const response = await fetch(path, options).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Start heed explore again, and open the link that it prints.");
  });
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  const data = isJson ? await response.json() : { error: (await response.text()).trim() };
  if (!response.ok) throw new Error(data.error || `The server answered ${response.status}.`);
  return data;
}
