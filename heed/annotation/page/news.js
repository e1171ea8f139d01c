// What the server says: what is saved or refused, what changed elsewhere, and whether it is there at all.

import { byId, toast } from "./dom.js";
import { showConflict, versions } from "./narrative.js";
import { showDocument } from "./reading.js";
import { ask } from "./server.js";
import { apply, current, page } from "./state.js";
import { showTopics } from "./topics.js";
import { go, refresh } from "./walking.js";

let silent = false; // the server did not answer a look
let seen = 0; // the assessor's entries in the log that this tab knows of

/** A change is on disk, or something was undone. */
export function saved(body, { done }) {
  if (!body.changes) undone(done);
  for (const one of done) {
    if (one.kind !== "narrative") continue;
    versions.set(one.qid, one.version);
    const edit = body.changes?.find((sent) => sent.kind === "narrative");
    if (edit) page.queue.rebase(one.qid, edit.base, one.version);
    if (one.qid === page.topic?.qid) refresh();
  }
}

async function undone(changes) {
  if (!changes.length) return toast("Nothing is left to undo.");
  changes.forEach(apply);
  const [first] = changes;
  if (first.kind === "narrative") {
    toast(`Undone: the edit of topic ${first.qid}'s narrative`);
    return go({ qid: first.qid, docid: current()?.docid, tab: "changed" });
  }
  const grade = first.grade === null ? "no grade" : first.grade;
  toast(`Undone: ${first.docid} has ${first.kind === "note" ? "its note" : grade} as before`);
  await go({ qid: first.qid, docid: first.docid, tab: first.condition });
  return refresh(); // whether it is older than the narrative's last edit
}

/** A change that will never be taken; a narrative's waits for the assessor's decision. */
export function refused(body, error, data) {
  const narrative = body.changes?.find((one) => one.kind === "narrative");
  if (narrative && data.version !== undefined) {
    showConflict(narrative, data);
    return;
  }
  toast(`Not taken: ${error}`);
  refresh();
}

/** Look what the server has: other tabs and assessors work too, and it may be gone. */
export async function look(entering = false) {
  if (!page.assessor || (page.queue.count && !entering)) return;
  const { assessor } = page;
  const { pushed } = page.queue;
  try {
    const found = await ask("/api/progress", { assessor });
    const wasSilent = silent;
    silent = false;
    if (assessor !== page.assessor || (!entering && (pushed !== page.queue.pushed || page.queue.count))) return;
    const qid = page.topic?.qid;
    const elsewhere = qid && (found.last !== seen || found.topics[qid].version !== versions.get(qid));
    seen = found.last;
    page.progress = found;
    if (elsewhere) refresh();
    if (qid && !entering) showTopics();
    if (qid && wasSilent && byId("document").dataset.docid !== current()?.docid) showDocument(true);
  } catch {
    silent = true;
  }
  showSaving();
}

/** Whether all is saved; loudly where it is not and the server is gone. */
export function showSaving() {
  const { count, failures, reason } = page.queue;
  const failing = failures > 0 || (silent && !count);
  const [state, told] = failing
    ? ["failing", count ? `Not saved: ${count}` : "No answer"]
    : count
      ? ["saving", "Saving…"]
      : ["saved", "Saved"];
  byId("saved").textContent = told;
  byId("saved").dataset.state = state;
  if (!failing) {
    alarm("");
    return;
  }
  const kept = count === 1 ? "1 change is" : `${count} changes are`;
  const waiting = count
    ? `${kept} not saved yet: kept in this tab, sent as soon as it answers. Leave the tab open.`
    : "All you did is saved.";
  alarm(`The server does not answer. ${reason} ${waiting} Trying again …`);
}

/** A line across the page that cannot be overlooked. */
export function alarm(text) {
  byId("alarm").textContent = text;
  byId("alarm").hidden = !text;
}
