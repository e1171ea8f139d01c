// Talking to the server: questions, and a queue of changes that loses nothing while it is gone.

const PATIENCE = 15000; // ms for an answer
const PAUSES = [300, 1000, 2000, 3000]; // ms between attempts, the last for all further ones
const MOST_KEPT_ALIVE = 15000; // characters: browsers allow 64 KiB for all such requests together

export class Unanswered extends Error {}

/** The JSON answer to a question; Unanswered where there is none. */
export async function ask(path, parameters = {}) {
  const { answer, data, reason } = await request(`${path}?${new URLSearchParams(parameters)}`, {});
  if (!answer) throw new Unanswered(reason);
  if (answer.status !== 200) throw new Error(data.error ?? `the server answered ${answer.status}`);
  return data;
}

async function request(path, options) {
  try {
    const answer = await fetch(path, { ...options, signal: AbortSignal.timeout(PATIENCE) });
    if (answer.status === 403) return { reason: "It asks for its token: open the address that the command printed." };
    const told = answer.headers.get("content-type")?.startsWith("application/json");
    const data = told ? await answer.json() : {};
    if (answer.status >= 500) return { reason: data.error ?? `It answered ${answer.status}.` };
    return { answer, data };
  } catch {
    return { reason: "" };
  }
}

export const newId = () => crypto.randomUUID();

/**
 * Changes on their way, one at a time and in order. Each is sent until it is answered, with the same id, so that it
 * counts once. They are kept in the tab's own storage too, so that a reload loses none.
 */
export class Queue {
  #items;
  #running = false;
  #place;
  #hooks;

  /**
   * `place` names the storage. Of `hooks`, tell() is called whenever something changed, done(body, data) when a change
   * is answered, refused(body, error, data) when it will never be taken.
   */
  constructor(place, hooks) {
    this.#place = place;
    this.#hooks = hooks;
    this.failures = 0;
    this.reason = "";
    this.pushed = 0;
    this.#items = kept(place);
  }

  get count() {
    return this.#items.length;
  }

  /** The changes of an assessor's that wait, oldest first. */
  waiting(assessor) {
    return this.#items.filter((item) => item.body.assessor === assessor).flatMap((item) => item.body.changes ?? []);
  }

  /** Send `body`, which has an id, to `path`. */
  push(path, body) {
    this.pushed += 1;
    this.#items.push({ path, body });
    this.#keep();
    this.#hooks.tell();
    this.run();
  }

  /** Edits that wait and were made on top of one that is saved now, as `version`, are based on that. */
  rebase(qid, base, version) {
    const waiting = this.#items.flatMap((item) => item.body.changes ?? []);
    for (const change of waiting) {
      if (change.kind === "narrative" && change.qid === qid && change.base === base) change.base = version;
    }
    this.#keep();
  }

  /** Send what waits, until nothing does. */
  async run() {
    if (this.#running) return;
    this.#running = true;
    while (this.#items.length) {
      this.#hooks.tell();
      await this.#attempt(this.#items[0]);
    }
    this.#running = false;
    this.#hooks.tell();
  }

  async #attempt(item) {
    const body = JSON.stringify(item.body);
    const keepalive = body.length < MOST_KEPT_ALIVE; // answered even if the tab is closed now
    const options = { method: "POST", headers: { "content-type": "application/json" }, body, keepalive };
    const { answer, data, reason } = await request(item.path, options);
    if (!answer) {
      this.reason = reason;
      const pause = PAUSES[Math.min(this.failures, PAUSES.length - 1)];
      this.failures += 1;
      this.#hooks.tell();
      await new Promise((resolve) => setTimeout(resolve, pause));
      return;
    }
    this.failures = 0;
    this.#items.shift();
    this.#keep();
    if (answer.status === 200) this.#hooks.done(item.body, data);
    else this.#hooks.refused(item.body, data.error ?? `refused with ${answer.status}`, data);
  }

  #keep() {
    if (this.#items.length) sessionStorage.setItem(this.#place, JSON.stringify(this.#items));
    else sessionStorage.removeItem(this.#place);
  }
}

function kept(place) {
  try {
    return JSON.parse(sessionStorage.getItem(place) ?? "[]");
  } catch {
    return [];
  }
}
