// What is in view (topic, document, narrative or the agreement page), and how to move.

import { showAgreement } from "./agreement.js";
import { flushNote } from "./changes.js";
import { byId, clearToast, debounced, setAddress, toast } from "./dom.js";
import { flushNarrative, isEditing, showGauge, showNarrative, versions } from "./narrative.js";
import { showNotice } from "./notice.js";
import { showGrades, showReading, showStrip } from "./reading.js";
import { get } from "./server.js";
import { apply, current, isDue, isSkipped, mayGrade, page, setTopic } from "./state.js";
import { showTopics, storeCounts } from "./topics.js";

let heading = null; // qid of the topic that is on its way, so that fast steps add up

/** Show a topic, a document of it (else the first that is to be judged), under a narrative. */
export async function go({ qid = page.topic?.qid, docid = null, tab = page.tab }) {
  saveEdits();
  if (byId("workbench").hidden) setView(false);
  const isNew = qid !== page.topic?.qid;
  heading = qid;
  if (isNew && !(await load(qid, true))) return;
  page.tab = tab === "original" ? "original" : "changed";
  const { documents } = page.topic;
  const index = documents.findIndex((entry) => entry.docid === docid);
  page.index = index >= 0 ? index : Math.max(mayGrade() ? dueOf(documents) : 0, 0);
  show();
  if (isNew) scrollToTop();
  else scrollToDocument();
}

/** Show the beginning of a topic, after one has been scrolled down. */
function scrollToTop() {
  byId("narratives").scrollTop = 0;
  scrollTo(0, 0);
}

const oneColumn = matchMedia("(max-width: 759px), (max-height: 449px)"); // as narrow.css has it

/** Where the columns are one below the other, scroll to the document. */
export function scrollToDocument() {
  if (oneColumn.matches) byId("reading").scrollIntoView({ block: "start" });
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
      setTopic(topic);
      const waiting = page.queue.waiting(assessor);
      const isEdit = (change) => change.kind === "narrative" && change.qid === qid;
      if (!waiting.some(isEdit)) versions.set(qid, topic.version);
      waiting.forEach(apply);
      return true;
    } catch {
      if (moving && move === moves) heading = page.topic?.qid;
      toast("The server does not answer; this topic cannot be shown now.");
      return false;
    }
  }
}

/** Draw topic, document and narrative in view. */
export function show() {
  showNarrative();
  showTopics();
  setAddress(addressOf());
  showNotice();
  byId("document").focus({ preventScroll: true });
  return showReading();
}

function addressOf(agreement = false) {
  const place = new URLSearchParams({ topic: page.topic.qid, doc: current()?.docid ?? "", tab: page.tab });
  if (agreement) place.set("view", "agreement");
  return `#${place}`;
}

/** Let the browser's Back lead from judging to the agreement page and back again. */
export function followHistory() {
  addEventListener("popstate", () => {
    if (!page.topic) return;
    const place = new URLSearchParams(location.hash.slice(1));
    const agreement = page.task.adjudicates && place.get("view") === "agreement";
    if (agreement === byId("agreement").hidden) showView(agreement);
    const known = page.topics.some((topic) => topic.qid === place.get("topic"));
    if (known && !agreement) go({ qid: place.get("topic"), docid: place.get("doc"), tab: place.get("tab") });
  });
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
  setAddress(addressOf());
  byId("document").focus({ preventScroll: true });
  showReading();
  scrollToDocument();
}

/** Move by `distance` topics, from the one that is on its way. */
export function stepTopic(distance) {
  const position = page.topics.findIndex((topic) => topic.qid === heading);
  const next = page.topics[position + distance];
  if (next) go({ qid: next.qid });
}

/** Return the index of the first of `entries` that is to be judged, of skipped ones only if no other is; -1 for none. */
function dueOf(entries) {
  const first = entries.findIndex((entry) => isDue(entry) && !isSkipped(entry));
  return first < 0 ? entries.findIndex(isDue) : first;
}

/** Return the index of the next document that is to be judged, cyclically, skipped ones last; -1 if there is none. */
export function nextIndex() {
  const { documents } = page.topic;
  const next = page.index + 1;
  const due = dueOf([...documents.slice(next), ...documents.slice(0, next)]);
  return due < 0 ? due : (next + due) % documents.length;
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
  showNotice();
});

/** Show the agreement page, or the workbench; the browser's Back leads to the other one. */
export function setView(agreement) {
  if (page.topic && agreement === byId("agreement").hidden) setAddress(addressOf(agreement), true);
  showView(agreement);
}

function showView(agreement) {
  if (agreement) saveEdits();
  byId("agreement").hidden = !agreement;
  byId("workbench").hidden = agreement;
  byId("agreement-button").setAttribute("aria-pressed", String(agreement));
  clearToast();
  if (!agreement) return byId("document").focus({ preventScroll: true });
  showAgreement();
  byId("agreement").focus();
}
