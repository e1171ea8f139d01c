// The state of the page: the task, the topic in view, and this assessor's judgements of its documents.

export const page = {
  task: null,
  assessor: "",
  topic: null, // as the server sent it, with changes that are not saved yet
  index: 0, // of the document in view
  tab: "original",
  progress: null,
  queue: null,
  marks: localStorage.getItem("heed-marks") !== "off",
  advance: localStorage.getItem("heed-advance") !== "off",
  raw: false, // show a table's source instead of the table
};

const UNJUDGED = Object.freeze({ grade: null, note: "", stale: false });

/** Return the judgement of a document of the topic in view. */
export const judgementOf = (entry, tab = page.tab) => entry[tab] ?? UNJUDGED;

/** Return the document in view; undefined in a topic without any. */
export const current = () => page.topic?.documents[page.index];

/** Return a topic of the task. */
export const topicOf = (qid) => page.task.topics.find((topic) => topic.qid === qid);

export const mayGrade = (tab = page.tab) => page.task.judged.includes(tab);

export const labelOf = (grade) => page.task.scale.find((known) => known.grade === grade)?.label ?? `grade ${grade}`;

/** Return the step of the scale (0 for not relevant, up to 3) that a grade is coloured as. */
export function shade(grade) {
  if (grade === null || grade <= 0) return "0";
  const positive = page.task.scale.filter((known) => known.grade > 0);
  const step = positive.findIndex((known) => known.grade === grade);
  return String(positive.length < 2 ? 2 : 1 + Math.round((2 * Math.max(step, 0)) / (positive.length - 1)));
}

/** Return this assessor's original grade of a document, else the given one. */
export const originalGrade = (entry) => judgementOf(entry, "original").grade ?? entry.given;

/** Apply a change to the topic in view, whether it is saved yet or not. */
export function apply(change) {
  if (change.qid !== page.topic?.qid) return;
  if (change.kind === "narrative") {
    page.topic.changed = change.text;
    return;
  }
  const entry = page.topic.documents.find((document) => document.docid === change.docid);
  if (!entry) return;
  const before = judgementOf(entry, change.condition);
  entry[change.condition] =
    change.kind === "note" ? { ...before, note: change.note } : { ...before, grade: change.grade, stale: false };
}

/** Return the number of graded documents of the topic in view, by condition, and of stale judgements. */
export function counts() {
  const graded = (tab) => page.topic.documents.filter((entry) => judgementOf(entry, tab).grade !== null).length;
  const stale = page.topic.documents.filter((entry) => judgementOf(entry, "changed").stale).length;
  return { original: graded("original"), changed: graded("changed"), stale };
}
