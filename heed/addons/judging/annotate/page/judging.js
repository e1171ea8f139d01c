// Judging: grades, undo, and the next document to judge or to read again.

import { change, keyOf } from "./changes.js";
import { byId, toast } from "./dom.js";
import { isEditing, wasEdited } from "./narrative.js";
import { go, nextIndex, saveEdits, scrollToDocument, show, step } from "./navigation.js";
import { drawnDocument, showMarks, showPassage, showReading, versionOf } from "./reading.js";
import { newId } from "./server.js";
import { isDrawn, unseen } from "./shown.js";
import {
  counts,
  current,
  isDue,
  isEdited,
  isSkipped,
  isStale,
  judgementOf,
  labelOf,
  mayGrade,
  needsEdit,
  page,
} from "./state.js";
import { nextOpen } from "./topics.js";

/** Return why the document in view cannot be judged under the tab in view; empty if it can. */
function closed() {
  if (!current()) return "No document is in view.";
  if (!mayGrade()) return "The original grades are given; judge under the changed narrative (c).";
  if (!needsEdit()) return "";
  return "The narrative is not edited yet: edit it first (e), or judge under the original (o).";
}

/** Grade the document in view; null takes the grade away. What has not been seen is not graded. */
export function grade(value) {
  const entry = current();
  if (!entry || byId("workbench").hidden) return;
  if (closed() && !(value === null && mayGrade())) {
    toast(closed());
    return;
  }
  const grades = page.task.scale.map((known) => known.grade);
  if (value !== null && !grades.includes(value)) {
    toast(`${value} is not a grade here; expected ${grades.join(", ")}.`);
    return;
  }
  const reason = unseen(entry.docid);
  if (reason) {
    scrollToDocument();
    toast(`Document ${page.index + 1} is not graded: ${reason}.`, true);
    return;
  }
  saveEdits();
  const wasDue = isDue(entry);
  if (judgementOf(entry).grade === value && !isStale(entry)) return;
  const skip = judgementOf(entry).skipped ? [{ ...keyOf(entry), kind: "skipped", skipped: false }] : [];
  change([{ ...keyOf(entry), kind: "grade", grade: value, read: versionOf(entry.docid) }, ...skip]);
  const next = nextIndex();
  const end = next < 0 ? "; it was the topic's last" : "";
  if (value !== null) toast(`${page.index + 1}. ${entry.docid}: ${value} ${labelOf(value)}${end}`);
  if (page.advance && wasDue && value !== null && next >= 0) step(next - page.index);
  else showReading();
}

/** Return why the document in view is not marked; empty if it can be. */
const unmarkable = () => closed() || (isDrawn(current().docid) ? "" : "Not marked: the document is not on the page.");

/** Mark the document's grade as one that its assessor is not sure of, also before it is given, or take the mark away. */
export function toggleUnsure() {
  if (unmarkable()) return toast(unmarkable());
  saveEdits();
  change([{ ...keyOf(current()), kind: "unsure", unsure: !judgementOf(current()).unsure }]);
  return showMarks();
}

const passageBatch = { place: "", id: "" }; // all choices of one passage are undone together

/** Mark the passage that decided, by one of the `choices`. */
export function markPassage(choose) {
  if (unmarkable()) return toast(unmarkable());
  const passage = choose(drawnDocument(), byId("document"), judgementOf(current()).passage);
  if (passage === undefined) return toast("There is no such sentence; of a table mark a passage in its source (r).");
  saveEdits();
  const place = Object.values(keyOf(current())).join(" ");
  if (passageBatch.place !== place) Object.assign(passageBatch, { place, id: newId() });
  change([{ ...keyOf(current()), kind: "passage", passage }], passageBatch.id);
  showMarks();
  return showPassage(true);
}

/** Put the document off until the others of the topic are judged, and go on. */
export function skip() {
  const reason = closed() || (isDue(current()) ? "" : "This document has its grade; it cannot be skipped.");
  if (reason) return toast(reason);
  saveEdits();
  const { docid } = current();
  if (!isSkipped(current())) change([{ ...keyOf(current()), kind: "skipped", skipped: true }]);
  const next = nextIndex();
  toast(`${page.index + 1}. ${docid} is skipped; it comes back when the others are judged.`);
  if (next !== page.index) return step(next - page.index);
  showMarks(); // the only one that is left here
  const topic = nextOpen();
  return topic && go({ qid: topic.qid });
}

/** Undo the last change that is not undone; the server knows which. */
export function undo() {
  saveEdits();
  page.queue.push("/api/undo", { id: newId(), assessor: page.assessor });
}

/** Go to the next document that is to be judged under a narrative, in this topic or the next one that has any. */
export function nextDue(tab = mayGrade() ? page.tab : "changed") {
  const shown = page.tab;
  page.tab = tab;
  const index = nextIndex();
  if (index >= 0) return go({ docid: page.topic.documents[index].docid });
  const next = nextOpen();
  if (next) {
    page.tab = shown; // until the topic is there, grades are of what is on the page
    return go({ qid: next.qid, tab });
  }
  show();
  return toast(
    page.tab === "changed" && page.again
      ? "Every document that was relevant is read again under the changed narrative."
      : `Every document has a grade under the ${page.tab} narrative.`,
  );
}

/** Go to the next document to read again, under the changed narrative. */
export const nextAgain = () => nextDue("changed");

/** After an edit, lead to what is to be read again; while original grades are missing only the notice tells. */
export async function afterEdit() {
  if (!wasEdited() || !isEdited() || isEditing()) return;
  const { original, again, read } = counts();
  if (page.tab === "original" && mayGrade("original") && original < page.topic.documents.length) return;
  if (again === read) return;
  page.tab = "changed";
  await go({ docid: isDue(current()) ? current().docid : null });
  toast(`${again - read} of ${again} to be read again under the changed narrative.`);
}

/** Show under the changed narrative only the documents that an edit concerns, or all. */
export function toggleScope() {
  page.again = !page.again;
  localStorage.setItem("heed-again", page.again ? "on" : "off");
  show();
  toast(page.again ? "Only what was relevant is read again." : "All documents are judged under the changed narrative.");
}

/** Keep the topic's stale judgements for the new wording, as when an edit or a correction has only fixed a mistake. */
export function keepStale() {
  saveEdits();
  const { qid, documents } = page.topic;
  const keep = (entry) => {
    const { grade: kept } = judgementOf(entry);
    return { kind: "grade", qid, docid: entry.docid, condition: page.tab, grade: kept };
  };
  change(documents.filter((entry) => isStale(entry)).map(keep));
  showReading();
}
