// What the page knows: the task, the topic in view, and what this assessor said of its documents.

export const page = {
  task: null,
  assessor: "",
  topic: null, // as the server tells it, with changes that are still on their way
  at: 0, // which of its documents is in view
  tab: "original",
  progress: null,
  queue: null,
  marks: localStorage.getItem("heed-marks") !== "off",
  advance: localStorage.getItem("heed-advance") !== "off",
  raw: false, // a table as the text that came
};

export const NOTHING = Object.freeze({ grade: null, note: "", stale: false });

/** What was said of a document of the topic in view. */
export const said = (entry, tab = page.tab) => entry[tab] ?? NOTHING;

/** The document in view; undefined in a topic without any. */
export const current = () => page.topic?.documents[page.at];

/** What the task says of a topic. */
export const about = (qid) => page.task.topics.find((one) => one.qid === qid);

export const mayGrade = (tab = page.tab) => page.task.judged.includes(tab);

export const label = (grade) => page.task.scale.find((one) => one.grade === grade)?.label ?? `grade ${grade}`;

/** The step of the scale (0 for not relevant, up to 3) that a grade is drawn as. */
export function shade(grade) {
  if (grade === null || grade <= 0) return "0";
  const positive = page.task.scale.filter((one) => one.grade > 0);
  const at = positive.findIndex((one) => one.grade === grade);
  return String(positive.length < 2 ? 2 : 1 + Math.round((2 * Math.max(at, 0)) / (positive.length - 1)));
}

/** The original grade that counts as relevant or not: this assessor's own, else the given one. */
export const originally = (entry) => said(entry, "original").grade ?? entry.given;

/** Apply a change to the topic in view, before or after the server has it. */
export function apply(change) {
  if (change.qid !== page.topic?.qid) return;
  if (change.kind === "narrative") {
    page.topic.changed = change.text;
    return;
  }
  const entry = page.topic.documents.find((one) => one.docid === change.docid);
  if (!entry) return;
  const before = entry[change.condition] ?? { ...NOTHING };
  entry[change.condition] =
    change.kind === "note" ? { ...before, note: change.note } : { ...before, grade: change.grade, stale: false };
}

/** Documents graded in the topic in view, under each condition. */
export function counts() {
  const graded = (tab) => page.topic.documents.filter((one) => said(one, tab).grade !== null).length;
  const stale = page.topic.documents.filter((one) => said(one, "changed").stale).length;
  return { original: graded("original"), changed: graded("changed"), stale };
}
