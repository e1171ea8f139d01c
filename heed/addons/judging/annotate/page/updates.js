// What the server reports: changes saved or refused, changes made elsewhere, and whether it answers at all.

import { byId, debounced, toast } from "./dom.js";
import { isEditing, showConflict, undecided, versions } from "./narrative.js";
import { go, refresh } from "./navigation.js";
import { showNotice } from "./notice.js";
import { showDocument } from "./reading.js";
import { get } from "./server.js";
import { isDrawn } from "./shown.js";
import { apply, current, page } from "./state.js";
import { nextOpen, showTopics } from "./topics.js";

let unreachable = false; // the server did not answer the last poll
let lastEntry = 0; // the assessor's latest entry in the log that this tab knows

const tabs = new BroadcastChannel("heed-saved"); // tells other tabs at once; other browsers ask every few seconds
tabs.addEventListener("message", debounced(100, poll));

/** Called when a change or an undo is on disk. */
export function saved(body, { done }) {
  tabs.postMessage(null);
  if (!body.changes) showUndone(done);
  if (page.topic && !page.queue.count && !nextOpen()) poll(); // what the export lacks is said at the end
  for (const change of done) {
    if (change.kind !== "narrative") continue;
    versions.set(change.qid, change.version);
    const edit = body.changes?.find((sent) => sent.kind === "narrative");
    if (edit) page.queue.rebase(change.qid, edit.base, change.version);
    if (change.qid === page.topic?.qid) refresh();
  }
}

async function showUndone(changes) {
  if (!changes.length) return toast("Nothing is left to undo.");
  changes.forEach(apply);
  const [first] = changes;
  if (first.kind === "narrative") {
    toast(`Undone: the edit of topic ${first.qid}'s narrative`);
    return go({ qid: first.qid, docid: current()?.docid, tab: "changed" });
  }
  const states = { grade: first.grade ?? "no grade", note: "its note" };
  toast(`Undone: ${first.docid} has ${states[first.kind] ?? "its marks"} as before`);
  await go({ qid: first.qid, docid: first.docid, tab: first.condition });
  return refresh(); // whether it is older than the narrative's last edit
}

/** Called when the server rejects a change; of a narrative's conflict the assessor decides. */
export function refused(body, error, data) {
  const narrative = body.changes?.find((change) => change.kind === "narrative");
  if (narrative && data.version !== undefined) {
    showConflict(narrative, data);
    return;
  }
  const before = byId("toast").textContent; // of several that waited, each is told
  toast(`${before.startsWith("Not saved: ") ? `${before}; ` : "Not saved: "}${error}`, true);
  refresh();
}

/** Read the progress from the server: other tabs and assessors work too, and the server may be down. */
export async function poll(entering = false) {
  if (!page.assessor || (page.queue.count && !entering)) return;
  const { assessor } = page;
  const { pushed } = page.queue;
  try {
    const progress = await get("/api/progress", { assessor });
    const wasUnreachable = unreachable;
    unreachable = false;
    if (progress.state !== page.task.state && !isEditing() && !page.queue.count) return location.reload();
    if (assessor !== page.assessor || (!entering && (pushed !== page.queue.pushed || page.queue.count))) return;
    const qid = page.topic?.qid;
    const elsewhere = qid && (progress.last !== lastEntry || progress.topics[qid].version !== versions.get(qid));
    page.progress = progress;
    if (!elsewhere || !isEditing()) lastEntry = progress.last; // else what is new is read after the edit
    if (elsewhere) refresh();
    if (qid && !entering) {
      showTopics();
      showNotice();
    }
    if (qid && wasUnreachable && !isDrawn(current()?.docid)) showDocument(true);
  } catch {
    unreachable = true;
  }
  showSaving();
}

/** Show whether all is saved, with an alarm if the server does not answer. */
export function showSaving() {
  const { count, failures, reason } = page.queue;
  const failing = failures > 0 || (unreachable && !count);
  const [edit] = undecided();
  const [state, text] = failing
    ? ["failing", count ? `Not saved: ${count}` : "No answer"]
    : edit !== undefined
      ? ["failing", `Not saved: edit of ${edit}`]
      : count
        ? ["saving", "Saving…"]
        : ["saved", "Saved"];
  byId("saved").textContent = text;
  byId("saved").dataset.state = state;
  if (!failing) {
    showAlarm("");
    return;
  }
  const changes = count === 1 ? "1 change is" : `${count} changes are`;
  const kept = page.queue.isKept
    ? "kept in this browser, sent as soon as it answers or, if you close the page, when you open it again"
    : "kept in this tab alone, sent as soon as it answers. Leave the tab open";
  const waiting = count ? `${changes} not saved yet: ${kept}.` : "All changes are saved.";
  showAlarm(`${reason || "The server does not answer."} ${waiting} Retrying …`);
}

/** Show a line across the page that cannot be overlooked; an empty one hides it. */
export function showAlarm(text) {
  byId("alarm").textContent = text;
  byId("alarm").hidden = !text;
}
