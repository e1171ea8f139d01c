// What is in view (topic, document, narrative or the agreement page), and how to move.

import { showAgreement } from "./agreement.js";
import { flushNote, showStale } from "./changes.js";
import { byId, debounced, toast } from "./dom.js";
import { flushNarrative, isEditing, showGauge, showNarrative, versions } from "./narrative.js";
import { showGrades, showReading, showStrip } from "./reading.js";
import { get } from "./server.js";
import { apply, current, judgementOf, mayGrade, page } from "./state.js";
import { showTopics, storeCounts } from "./topics.js";

/** Show a topic, a document of it (else the first without a grade), under a narrative. */
export async function go({ qid = page.topic?.qid, docid = null, tab = page.tab }) {
  saveEdits();
  if (byId("workbench").hidden) setView(false);
  if (qid !== page.topic?.qid && !(await load(qid, true))) return;
  page.tab = tab === "original" ? "original" : "changed";
  const { documents } = page.topic;
  const index = documents.findIndex((entry) => entry.docid === docid);
  const ungraded = mayGrade() ? documents.findIndex((entry) => judgementOf(entry).grade === null) : 0;
  page.index = index >= 0 ? index : Math.max(ungraded, 0);
  show();
}

let moves = 0; // of several topics that are requested, the last one is shown

/** Read a topic from the server and apply unsaved changes; `moving` to it, else the one in view is read again. */
async function load(qid, moving) {
  const { assessor } = page;
  if (moving) moves += 1;
  const move = moves;
  // what is typed meanwhile belongs to the topic still in view: saved before another is shown, never overwritten
  const mayReplace = () => qid === page.topic?.qid && !isEditing();
  const isOutdated = () => assessor !== page.assessor || !(moving ? move === moves : mayReplace());
  for (;;) {
    const { pushed, count } = page.queue;
    try {
      const topic = await get("/api/topic", { assessor, qid });
      if (isOutdated()) return false;
      if (moving) saveEdits();
      if (pushed !== page.queue.pushed || count !== page.queue.count) continue; // older than the page's state
      storeCounts();
      page.topic = topic;
      const waiting = page.queue.waiting(assessor);
      const isEdit = (change) => change.kind === "narrative" && change.qid === qid;
      if (!waiting.some(isEdit)) versions.set(qid, topic.version);
      waiting.forEach(apply);
      return true;
    } catch {
      toast("The server does not answer; this topic cannot be shown now.");
      return false;
    }
  }
}

/** Draw topic, document and narrative in view. */
export function show() {
  showNarrative();
  showTopics();
  setAddress();
  showStale();
  byId("document").focus({ preventScroll: true });
  return showReading();
}

function setAddress(agreement = false) {
  const place = new URLSearchParams({ topic: page.topic.qid, doc: current()?.docid ?? "", tab: page.tab });
  if (agreement) place.set("view", "agreement");
  history.replaceState(null, "", `#${place}`);
}

/** Save what is being typed, before something else is shown. */
export function saveEdits() {
  flushNote();
  flushNarrative();
}

/** Move by `distance` documents. */
export function step(distance) {
  const index = page.index + distance;
  if (index < 0 || index >= page.topic.documents.length) return;
  saveEdits();
  page.index = index;
  setAddress();
  byId("document").focus({ preventScroll: true });
  showReading();
}

/** Move by `distance` topics. */
export function stepTopic(distance) {
  const position = page.task.topics.findIndex((topic) => topic.qid === page.topic.qid);
  const next = page.task.topics[position + distance];
  if (next) go({ qid: next.qid });
}

/** Return the index of the next document, cyclically, for which `condition` holds; -1 if there is none. */
export function nextIndex(condition) {
  const { documents } = page.topic;
  const order = documents.map((_, i) => (page.index + 1 + i) % documents.length);
  return order.find((index) => condition(documents[index])) ?? -1;
}

/** Read the topic in view again once nothing is unsaved. */
export const refresh = debounced(50, async () => {
  if (!page.topic || page.queue.count || isEditing()) return;
  if (!(await load(page.topic.qid, false))) return;
  if (page.topic.changed === byId("editor").value)
    showGauge(); // the cursor keeps its position
  else showNarrative();
  showTopics();
  showStrip();
  showGrades();
  showStale();
});

/** Show the agreement page, or the workbench. */
export function setView(agreement) {
  if (agreement) saveEdits();
  byId("agreement").hidden = !agreement;
  byId("workbench").hidden = agreement;
  byId("agreement-button").setAttribute("aria-pressed", String(agreement));
  if (page.topic) setAddress(agreement);
  byId("toast").hidden = true;
  if (!agreement) return;
  showAgreement();
  byId("agreement").focus();
}
