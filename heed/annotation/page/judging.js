// Judging: grades, undo, judgements older than an edit, and the next document to judge.

import { change, keyOf } from "./changes.js";
import { byId, toast } from "./dom.js";
import { go, nextIndex, saveEdits, show, step } from "./navigation.js";
import { showReading } from "./reading.js";
import { newId } from "./server.js";
import { current, judgementOf, labelOf, mayGrade, page } from "./state.js";
import { countsOf } from "./topics.js";

const isUngraded = (entry) => judgementOf(entry).grade === null;
const isStale = (entry) => judgementOf(entry, "changed").stale;

/** Grade the document in view; null takes the grade away. */
export function grade(value) {
  const entry = current();
  if (!entry || byId("workbench").hidden) return;
  if (!mayGrade()) {
    toast("The original grades are given; judge under the changed narrative (c).");
    return;
  }
  const grades = page.task.scale.map((known) => known.grade);
  if (value !== null && !grades.includes(value)) {
    toast(`${value} is not a grade here; expected ${grades.join(", ")}.`);
    return;
  }
  saveEdits();
  const before = judgementOf(entry);
  if (before.grade === value && !before.stale) return;
  change([{ ...keyOf(entry), kind: "grade", grade: value }]);
  if (value !== null) toast(`${page.index + 1}. ${entry.docid}: ${value} ${labelOf(value)}`);
  const next = nextIndex(isUngraded);
  if (page.advance && before.grade === null && value !== null && next >= 0) step(next - page.index);
  else showReading();
}

/** Undo the last change that is not undone; the server knows which. */
export function undo() {
  saveEdits();
  page.queue.push("/api/undo", { id: newId(), assessor: page.assessor });
}

/** Go to the next document without a grade, in this topic or the next one that has any. */
export function nextUnjudged() {
  if (!mayGrade()) page.tab = "changed";
  const index = nextIndex(isUngraded);
  if (index >= 0) return go({ docid: page.topic.documents[index].docid });
  const position = page.task.topics.findIndex((topic) => topic.qid === page.topic.qid);
  const others = [...page.task.topics.slice(position + 1), ...page.task.topics.slice(0, position)];
  const next = others.find((topic) => countsOf(topic.qid)[page.tab] < topic.documents);
  if (next) return go({ qid: next.qid });
  show();
  return toast(`Every document has a grade under the ${page.tab} narrative.`);
}

/** Go to the next document judged under an earlier wording, in this topic or another. */
export function nextStale() {
  page.tab = "changed";
  const index = nextIndex(isStale);
  if (index >= 0) return go({ docid: page.topic.documents[index].docid });
  const next = page.task.topics.find((topic) => countsOf(topic.qid).stale > 0 && topic.qid !== page.topic.qid);
  if (next) return go({ qid: next.qid });
  show();
  return toast("No judgement is older than its narrative's last edit.");
}

/** Keep the topic's stale judgements for the new wording, as when an edit has only fixed a mistake. */
export function keepStale() {
  saveEdits();
  const { qid, documents } = page.topic;
  const keep = (entry) => {
    const { grade: kept } = judgementOf(entry, "changed");
    return { kind: "grade", qid, docid: entry.docid, condition: "changed", grade: kept };
  };
  change(documents.filter(isStale).map(keep));
  showReading();
}
