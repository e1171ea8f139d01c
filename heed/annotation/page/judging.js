// What is said of documents: grades, notes, undo, and judgements that an edit has overtaken.

import { byId, make, settled, toast } from "./dom.js";
import { showGauge } from "./narrative.js";
import { showReading, showStrip } from "./reading.js";
import { newId } from "./server.js";
import { apply, counts, current, label, mayGrade, page, said } from "./state.js";
import { done, showTopics } from "./topics.js";
import { go, leave, nextWhere, show, step } from "./walking.js";

const NOTE_REST = 400; // ms without a key before a note is saved

/** Grade the document in view; null takes the grade away. */
export function grade(value) {
  const entry = current();
  if (!entry || byId("workbench").hidden) return;
  if (!mayGrade()) {
    toast("The original grades are given; judge under the changed narrative (c).");
    return;
  }
  if (value !== null && !page.task.scale.some((one) => one.grade === value)) {
    toast(`${value} is no grade here; ${page.task.scale.map((one) => one.grade).join(", ")} are.`);
    return;
  }
  leave();
  const before = said(entry);
  if (before.grade === value && !before.stale) return;
  change([{ ...placeOf(entry), kind: "grade", grade: value }]);
  if (value !== null) toast(`${page.at + 1}. ${entry.docid}: ${value} ${label(value)}`);
  const open = nextWhere((one) => said(one).grade === null);
  if (page.advance && before.grade === null && value !== null && open >= 0) step(open - page.at);
  else showReading();
}

const placeOf = (entry) => ({ qid: page.topic.qid, docid: entry.docid, condition: page.tab });

/** Apply changes to what is in view and send them, with the wording that they were made under. */
function change(changes, batch) {
  changes.forEach(apply);
  const id = newId();
  const body = { id, assessor: page.assessor, batch: batch ?? id, changes, wording: page.topic.changed };
  page.queue.push("/api/changes", body);
  showTopics();
  showGauge();
  showStale();
}

/** Take back the last change that still stands; the server knows which. */
export function undo() {
  leave();
  page.queue.push("/api/undo", { id: newId(), assessor: page.assessor });
}

// Notes

let visit = ""; // one visit to the note is undone in one piece
let noted = null;

const saveNote = settled(NOTE_REST, () => {
  change([noted], visit);
  showStrip();
});

/** Save a note that has not been saved yet. */
export const flushNote = () => saveNote.flush();

/** Save the note as it is typed. */
export function wireNote() {
  const note = byId("note");
  note.addEventListener("focus", () => {
    visit = newId();
  });
  note.addEventListener("blur", flushNote);
  note.addEventListener("input", () => {
    noted = { ...placeOf(current()), kind: "note", note: note.value };
    saveNote();
  });
}

// Ways to what is still to be judged

/** The next document without a grade, in this topic or the next one that has any. */
export function nextUnjudged() {
  if (!mayGrade()) page.tab = "changed";
  const at = nextWhere((one) => said(one).grade === null);
  if (at >= 0) return go({ docid: page.topic.documents[at].docid });
  const here = page.task.topics.findIndex((one) => one.qid === page.topic.qid);
  const order = [...page.task.topics.slice(here + 1), ...page.task.topics.slice(0, here)];
  const next = order.find((one) => done(one.qid)[page.tab] < one.documents);
  if (next) return go({ qid: next.qid });
  show();
  return toast(`Every document has a grade under the ${page.tab} narrative.`);
}

/** The next document judged under an earlier wording, in this topic or another. */
export function nextStale() {
  page.tab = "changed";
  const at = nextWhere((one) => said(one, "changed").stale);
  if (at >= 0) return go({ docid: page.topic.documents[at].docid });
  const next = page.task.topics.find((one) => done(one.qid).stale > 0 && one.qid !== page.topic.qid);
  if (next) return go({ qid: next.qid });
  show();
  return toast("No judgement is older than its narrative's last edit.");
}

/** How many judgements are older than the narrative's last edit, and what can be done about them. */
export function showStale() {
  const { stale } = counts();
  byId("stale").replaceChildren(
    ...(stale
      ? [
          make("span", {}, `${stale} judged before the last edit`),
          make("button", { title: "Go to the next of them (N)", onclick: nextStale }, "Look again"),
          make("button", { title: "They hold for the new wording too", onclick: keepStale }, "Keep"),
        ]
      : []),
  );
}

/** All of them stand although the narrative was edited, as when only its wording was mended. */
function keepStale() {
  leave();
  const stale = page.topic.documents.filter((one) => said(one, "changed").stale);
  const { qid } = page.topic;
  change(
    stale.map((one) => ({
      kind: "grade",
      qid,
      docid: one.docid,
      condition: "changed",
      grade: said(one, "changed").grade,
    })),
  );
  showReading();
}
