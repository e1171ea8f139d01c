// Where we are: topic, document, narrative; and the ways to others.

import { showAgreement } from "./agreement.js";
import { byId, settled, toast } from "./dom.js";
import { flushNote, showStale } from "./judging.js";
import { flushNarrative, isEditing, showGauge, showNarrative, versions } from "./narrative.js";
import { showGrades, showReading, showStrip } from "./reading.js";
import { ask } from "./server.js";
import { apply, current, mayGrade, page, said } from "./state.js";
import { keepCounts, showTopics } from "./topics.js";

/** Show a topic, a document of it (else the first without a grade), under a narrative. */
export async function go({ qid = page.topic?.qid, docid = null, tab = page.tab }) {
  leave();
  if (byId("workbench").hidden) view(false);
  if (qid !== page.topic?.qid && !(await load(qid, true))) return;
  page.tab = tab === "original" ? "original" : "changed";
  const { documents } = page.topic;
  const asked = documents.findIndex((one) => one.docid === docid);
  const open = mayGrade() ? documents.findIndex((one) => said(one).grade === null) : 0;
  page.at = asked >= 0 ? asked : Math.max(open, 0);
  show();
}

let moves = 0; // of several topics that are asked for, the last one comes into view

/** Read a topic from the server, with the changes that are still on their way; to go there, or the one in view anew. */
async function load(qid, moving) {
  const { assessor } = page;
  if (moving) moves += 1;
  const move = moves;
  // what is typed meanwhile belongs to the topic still in view: saved before another comes, never overwritten
  const here = () => qid === page.topic?.qid && !isEditing();
  const overtaken = () => assessor !== page.assessor || !(moving ? move === moves : here());
  for (;;) {
    const before = [page.queue.pushed, page.queue.count];
    try {
      const found = await ask("/api/topic", { assessor, qid });
      if (overtaken()) return false;
      if (moving) leave();
      if (before[0] !== page.queue.pushed || before[1] !== page.queue.count) continue; // older than what we know
      keepCounts();
      page.topic = found;
      const waiting = page.queue.waiting(assessor);
      if (!waiting.some((one) => one.kind === "narrative" && one.qid === qid)) versions.set(qid, found.version);
      waiting.forEach(apply);
      return true;
    } catch {
      toast("The server does not answer; this topic cannot be shown now.");
      return false;
    }
  }
}

/** Draw all of the place we are at. */
export function show() {
  showNarrative();
  showTopics();
  remember();
  showStale();
  byId("document").focus({ preventScroll: true });
  return showReading();
}

function remember(agreement = false) {
  const place = new URLSearchParams({ topic: page.topic.qid, doc: current()?.docid ?? "", tab: page.tab });
  if (agreement) place.set("view", "agreement");
  history.replaceState(null, "", `#${place}`);
}

/** Save what is being typed before something else comes into view. */
export function leave() {
  flushNote();
  flushNarrative();
}

/** So many documents on, or back. */
export function step(by) {
  const to = page.at + by;
  if (to < 0 || to >= page.topic.documents.length) return;
  leave();
  page.at = to;
  remember();
  byId("document").focus({ preventScroll: true });
  showReading();
}

/** So many topics on, or back. */
export function stepTopic(by) {
  const at = page.task.topics.findIndex((one) => one.qid === page.topic.qid);
  const next = page.task.topics[at + by];
  if (next) go({ qid: next.qid });
}

/** The place of the topic's next document for which `open` holds, from here on and round; -1 without one. */
export function nextWhere(open) {
  const { documents } = page.topic;
  const order = documents.map((_, at) => (page.at + 1 + at) % documents.length);
  return order.find((at) => open(documents[at])) ?? -1;
}

/** Read the topic anew once nothing is on its way, without moving. */
export const refresh = settled(50, async () => {
  if (!page.topic || page.queue.count || isEditing()) return;
  if (!(await load(page.topic.qid, false))) return;
  if (page.topic.changed === byId("editor").value)
    showGauge(); // the cursor stays where it is
  else showNarrative();
  showTopics();
  showStrip();
  showGrades();
  showStale();
});

/** Show agreement, or the work. */
export function view(agreement) {
  if (agreement) leave();
  byId("agreement").hidden = !agreement;
  byId("workbench").hidden = agreement;
  byId("agreement-button").setAttribute("aria-pressed", String(agreement));
  if (page.topic) remember(agreement);
  byId("toast").hidden = true;
  if (!agreement) return;
  showAgreement();
  byId("agreement").focus();
}
