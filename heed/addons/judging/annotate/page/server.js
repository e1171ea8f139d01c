// Requests to the server, and a queue of changes that loses nothing while the server is down.

const TIMEOUT = 15000; // ms for an answer
const PAUSES = [300, 1000, 2000, 3000]; // ms between retries, the last for all further ones
const JSON_TYPE = { "content-type": "application/json" };
const LONGEST_KEEPALIVE = 15000; // characters: browsers allow 64 KiB for all such requests together

/** Return the JSON answer to a GET request; throw an Error with its reason (maybe empty) if there is none. */
export async function get(path, parameters = {}) {
  return dataOf(await request(`${path}?${new URLSearchParams(parameters)}`, {}));
}

/** Return the JSON answer to a POST request of what changes nothing; throw as `get` does. */
export async function post(path, body) {
  return dataOf(await request(path, { method: "POST", headers: JSON_TYPE, body: JSON.stringify(body) }));
}

function dataOf({ response, data, reason }) {
  if (!response) throw new Error(reason);
  if (response.status !== 200) throw new Error(data.error ?? `the server answered ${response.status}`);
  return data;
}

async function request(path, options) {
  try {
    const response = await fetch(path, { ...options, signal: AbortSignal.timeout(TIMEOUT) });
    if (response.status === 403) return { reason: sentence(await response.text()) };
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    const data = isJson ? await response.json() : {};
    const reason = data.error ?? `the server answered ${response.status}, not as Heed does`; // but as a proxy may
    if (response.status >= 500 || !isJson) return { reason: sentence(reason) };
    return { response, data };
  } catch {
    return { reason: "" };
  }
}

/** Return a refusal, whose first word is in lower case, as a sentence. */
const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1).trim()}.`;

/** Return an id that no other request has; over http randomUUID is missing under a name that is not this machine's. */
export const newId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/**
 * Unsaved changes, sent one at a time and in order. Each is sent until it is answered, with the same id, so that it
 * counts once, whichever tab sends it. They are also in the browser's storage, so that a closed tab loses none.
 */
export class Queue {
  #items = [];
  #running = false;
  #key;
  #hooks;

  /**
   * `key` names the campaign; of what waits only a `person`'s is sent, if a link says who it is. Of `hooks`, update() is
   * called whenever the queue changes, saved(body, data) when a change is answered, refused(body, error, data) when the
   * server rejects it.
   */
  constructor(key, hooks, person) {
    this.#key = key;
    this.#hooks = hooks;
    this.failures = 0;
    this.reason = "";
    this.pushed = 0;
    this.isKept = true;
    for (const item of JSON.parse(sessionStorage.getItem(key) ?? "[]")) this.#add(item); // as Heed 0.2 kept them
    sessionStorage.removeItem(key);
    this.#items = stored(key).filter(({ body }) => !person || [body.assessor, body.by].includes(person));
  }

  get count() {
    return this.#items.length;
  }

  /** Return an assessor's unsaved changes, oldest first. */
  waiting(assessor) {
    return this.#items.filter((item) => item.body.assessor === assessor).flatMap((item) => item.body.changes ?? []);
  }

  /** Send `body`, which has an id, to `path`. */
  push(path, body) {
    this.#add({ path, body });
    this.#hooks.update();
    this.run();
  }

  /** Base unsaved edits that were made on top of version `base` of a narrative on `version`, its saved form. */
  rebase(qid, base, version) {
    for (const item of this.#items) {
      for (const change of item.body.changes ?? []) {
        if (change.kind === "narrative" && change.qid === qid && change.base === base) change.base = version;
      }
      this.#store(item);
    }
  }

  /** Send changes until none is left. */
  async run() {
    if (this.#running) return;
    this.#running = true;
    while (this.#items.length) {
      this.#hooks.update();
      await this.#attempt(this.#items[0]);
    }
    this.#running = false;
    this.#hooks.update();
  }

  async #attempt(item) {
    const body = JSON.stringify({ ...item.body, waited: Date.now() - item.made });
    const keepalive = body.length < LONGEST_KEEPALIVE; // answered even if the tab is closed now
    const options = { method: "POST", headers: JSON_TYPE, body, keepalive };
    const { response, data, reason } = await request(item.path, options);
    if (!response) {
      this.reason = reason;
      const pause = PAUSES[Math.min(this.failures, PAUSES.length - 1)];
      this.failures += 1;
      this.#hooks.update();
      await new Promise((resolve) => setTimeout(resolve, pause));
      return;
    }
    this.failures = 0;
    this.#items.shift();
    localStorage.removeItem(item.place);
    if (response.status === 200) this.#hooks.saved(item.body, data);
    else this.#hooks.refused(item.body, data.error ?? `refused with ${response.status}`, data);
  }

  #add(change) {
    this.pushed += 1;
    const made = Date.now();
    const order = `${made}-${String(this.pushed).padStart(6, "0")}`;
    const item = { ...change, made, place: `${this.#key}/${order}-${newId()}` };
    this.#items.push(item);
    this.#store(item);
  }

  #store({ place, ...item }) {
    try {
      localStorage.setItem(place, JSON.stringify(item));
    } catch {
      this.isKept = false; // no room, or not allowed
    }
  }
}

/** Return what was not saved when the page was closed, oldest first. */
function stored(key) {
  const places = Object.keys(localStorage).filter((place) => place.startsWith(`${key}/`));
  return places.sort().flatMap((place) => {
    try {
      return { ...JSON.parse(localStorage.getItem(place)), place };
    } catch {
      return []; // cut short by a full disk
    }
  });
}
